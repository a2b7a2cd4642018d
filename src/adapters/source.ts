/**
 * The contract of adapters. A source is the run of another framework, told in events of this protocol; an adapter
 * creates one. `record` and `foreignAgent` write sources into a log.
 */
import type { AgentRun } from "../agents/agent-run.ts";
import type { ApprovalAnswer } from "../engine/open-work.ts";
import type { ToolEndEvent } from "../protocol/events.generated.ts";
import { type AnyEvent, type JsonObject, LoomError } from "../protocol/index.ts";
import { describeValue } from "../protocol/fault.ts";

/** What a source can use while it runs. */
export interface SourceContext {
  readonly sessionId: string;
  readonly runId: string;
  /** Aborted when the run is cancelled or can no longer be written. Pass it to the framework. */
  readonly signal: AbortSignal;
  /**
   * Tool calls that an earlier process of this run left open. A source that continues where that process stopped may
   * ask for their approval again, which keeps the answer that the user has given meanwhile, and end them. A source that
   * starts again has the answer too if it asks about the same tool and arguments, under any ID.
   */
  readonly openCalls: readonly SourceCall[];
}

/** A tool call without a result. */
export interface SourceCall {
  readonly callId: string;
  readonly name: string;
  /** Arguments of its approval request; undefined if there was none. */
  readonly arguments: JsonObject | undefined;
}

/** Returns what a source can use while it runs. @internal */
export function createSourceContext({ sessionId, runId, signal, work }: AgentRun): SourceContext {
  const openCalls = [...work.calls].flatMap(({ callId, name, approvalArguments }) =>
    callId === undefined || name === undefined ? [] : [{ callId, name, arguments: approvalArguments }],
  );
  return { sessionId, runId, signal, openCalls };
}

/**
 * An event of a source. `node` is the source's own key of the node run it belongs to; without it, the event belongs to
 * the node run that the recorder opens by itself. Custom data, states and `foreign` frames without it belong to none.
 *
 * `node_enter` and `node_exit` open and close the node run with the key `node`; the `parent` of a `node_enter` is a key
 * too. `tool_start` may be left out: it is added before the first output or result of a call.
 */
export type SourceEvent = AnyEvent & { readonly node?: string };

/** A piece of the answer, or an event. */
export type SourceItem = string | SourceEvent;

/** The answer to a `tool_approval` of the source. */
export interface SourceAnswer extends ApprovalAnswer {
  readonly callId: string;
  readonly name: string;
}

/** The end of a call that the client carried out, for the source. */
export interface SourceResult {
  readonly callId: string;
  readonly name: string;
  readonly end: ToolEndEvent;
}

/** A run of another framework. It can be read once. */
export interface ForeignSource {
  /** Name of the framework, such as `ai-sdk`. The agent of the run has this name unless the caller chooses another. */
  readonly framework: string;
  /**
   * Starts the run. The items end when the run ends, or when it can only go on after its approvals are answered and the
   * client has carried out the calls that it started with `executor: "client"`.
   */
  start(context: SourceContext): AsyncIterable<SourceItem>;
  /**
   * Continues after all approvals that the source asked for were answered, with the results of calls that the client
   * carried out. A source without it cannot pass answers on, so its approvals are rejected as `approval_unavailable`, and
   * no call is handed to the client. It is read when the source asks for an approval or starts such a call.
   */
  readonly resume?:
    | ((
        answers: readonly SourceAnswer[],
        context: SourceContext,
        results: readonly SourceResult[],
      ) => AsyncIterable<SourceItem>)
    | undefined;
}

/** Throws `invalid_arguments` unless the value is a source. */
export function assertSource(value: unknown): asserts value is ForeignSource {
  const { framework, start } = Object(value) as { readonly framework?: unknown; readonly start?: unknown };
  if (typeof framework === "string" && typeof start === "function") return;
  if (isOwnLoop(value))
    throw new LoomError(
      "invalid_arguments",
      "A source is what an adapter creates; for a generator, or a list of events, that is `fromAsyncIterable`",
    );
  const what = "A source is what an adapter such as `fromAISDK` creates";
  throw new LoomError("invalid_arguments", `${what}, not ${describeFound(value)}`);
}

/** True for what `fromAsyncIterable` takes: an iterable, or a function that returns one. */
function isOwnLoop(value: unknown): boolean {
  if (typeof value === "function") return true;
  return typeof value === "object" && value !== null && (Symbol.asyncIterator in value || Symbol.iterator in value);
}

/** Describes a value in an error message. */
export function describeFound(value: unknown): string {
  if (value === undefined) return "undefined";
  const { then } = Object(value) as { readonly then?: unknown };
  return typeof then === "function" ? "a promise; await it" : describeValue(value);
}

/** Throws `invalid_arguments` unless the value can be iterated. */
export function assertIterable(value: unknown): asserts value is AsyncIterable<SourceItem> {
  const { [Symbol.asyncIterator]: isAsync, [Symbol.iterator]: isSync } = Object(value) as {
    [Symbol.asyncIterator]?: unknown;
    [Symbol.iterator]?: unknown;
  };
  if (typeof value !== "string" && (typeof isAsync === "function" || typeof isSync === "function")) return;
  throw new LoomError("invalid_arguments", `A source must be iterable, not ${describeFound(value)}`);
}
