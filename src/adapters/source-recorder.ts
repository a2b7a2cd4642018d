/**
 * Writes a source into a run: opens and closes its node runs, completes its tool calls, asks for its approvals, and reads
 * no further while the log is behind.
 *
 * Invariants:
 * - When `read` settles, the source has ended or was asked to stop: a run that has ended aborts its source.
 * - A source that yields nothing for `maxIdleMs` fails, unless it waits for the user.
 */
import type { AgentRun } from "../agents/agent-run.ts";
import type { FinishOptions, NodeRun } from "../engine/index.ts";
import { type AnyEvent, isJsonObject, isLoomError, type JsonObject, LoomError } from "../protocol/index.ts";
import { keepFields } from "../protocol/json.ts";
import type { NodeExitEvent, ToolApprovalEvent } from "../protocol/events.generated.ts";
import { limitTimer } from "../protocol/limit-timer.ts";
import {
  createSourceContext,
  type RunSource,
  type SourceAnswer,
  type SourceContext,
  type SourceItem,
} from "./source.ts";

/** Options for reading a source. */
export interface RunSourceOptions {
  /** Milliseconds that a source may yield nothing, except while it waits for approvals; code `source_timeout`. Default: 600,000. */
  readonly maxIdleMs?: number;
  /** Milliseconds until an approval of the source expires. Default: one hour. */
  readonly approvalMs?: number;
}

const MAX_IDLE_MS = 10 * 60 * 1000;
/** Name of the node run for events without a `node`. */
const OWN_NODE = "answer";
/** Events that can be the first of a call. */
const BEGINS_CALL: ReadonlySet<string> = new Set(["tool_call_chunk", "tool_call", "tool_start"]);
/** Events that need no node run. Without a `node`, they belong to none. */
const OUTSIDE: ReadonlySet<string> = new Set(["custom", "foreign", "values"]);
/** Events that only a call that has started can have. */
const NEEDS_START: ReadonlySet<string> = new Set(["tool_output", "tool_progress", "tool_end"]);
const NO_ANSWERS = "The framework cannot receive the answer to an approval here; the call was not run";

/** Reads a source until it ends, and returns how to finish the run. Rejects with the error of the source. */
export async function recordSource(
  run: AgentRun,
  source: RunSource,
  options: RunSourceOptions = {},
): Promise<FinishOptions> {
  const recorder = new SourceRecorder(run, source, options);
  await recorder.read();
  return {};
}

interface OpenCall {
  /** Its ID in the run. */
  readonly id: string;
  name: string | undefined;
  isStarted: boolean;
}

interface Reading {
  readonly iterator: AsyncIterator<SourceItem>;
  /** Fires when the source has been silent for too long. */
  readonly timer: NodeJS.Timeout;
  isActive: boolean;
}

class SourceRecorder {
  readonly #run: AgentRun;
  readonly #source: RunSource;
  readonly #options: RunSourceOptions;
  readonly #context: SourceContext;
  readonly #nodes = new Map<string | undefined, NodeRun>();
  /** Open calls, by the ID that the source gave them. */
  readonly #calls = new Map<string, OpenCall>();
  #approvals: Promise<SourceAnswer>[] = [];

  constructor(run: AgentRun, source: RunSource, options: RunSourceOptions) {
    this.#run = run;
    this.#source = source;
    this.#options = options;
    this.#context = createSourceContext(run);
  }

  async read(): Promise<void> {
    await this.#readItems(this.#source.start(this.#context));
    while (this.#approvals.length > 0) {
      const answers = await Promise.all(this.#approvals);
      this.#approvals = [];
      if (this.#source.resume !== undefined) await this.#readItems(this.#source.resume(answers, this.#context));
    }
    for (const node of this.#nodes.values()) void node.done();
  }

  /** Reads until the items end, the run ends, or the source has been silent for too long. */
  async #readItems(items: AsyncIterable<SourceItem>): Promise<void> {
    const { signal } = this.#run;
    const { maxIdleMs = MAX_IDLE_MS } = this.#options;
    const iterator = items[Symbol.asyncIterator]();
    const stopped = Promise.withResolvers<never>();
    const onAbort = (): void => stopped.reject(signal.reason);
    const onIdle = (): void =>
      stopped.reject(
        new LoomError("source_timeout", `The agent sent nothing for ${maxIdleMs} ms`, { limit: maxIdleMs }),
      );
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    const timer = setTimeout(onIdle, limitTimer(maxIdleMs));
    const reading: Reading = { iterator, timer, isActive: true };
    try {
      await Promise.race([this.#writeAll(reading), stopped.promise]);
    } catch (error) {
      // Not awaited: a generator that hangs would never return.
      void stop(iterator);
      throw error;
    } finally {
      reading.isActive = false;
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    }
  }

  async #writeAll(reading: Reading): Promise<void> {
    const { iterator, timer } = reading;
    for (;;) {
      const next = await iterator.next();
      // What arrives after the run has stopped is not written.
      if (next.done === true || !reading.isActive) return;
      timer.refresh();
      this.#write(next.value);
      if (this.#run.isBehind) await this.#run.ready();
    }
  }

  #write(item: SourceItem): void {
    if (typeof item === "string") {
      if (item !== "") this.#post({ type: "message_chunk", content: item, id: OWN_NODE }, undefined);
      return;
    }
    const { node, ...event } = item;
    switch (event.type) {
      case "node_enter":
        this.#enter(node, event);
        return;
      case "node_exit":
        this.#exit(node, event);
        return;
      case "tool_approval":
        this.#ask(event as ToolApprovalEvent, node);
        return;
      default:
        this.#post(event, node);
    }
  }

  #post(event: AnyEvent, key: string | undefined): void {
    if (key === undefined && OUTSIDE.has(event.type)) {
      this.#store(event, undefined);
      return;
    }
    const { nodeId, name } = this.#nodes.get(key) ?? this.#open(key, key ?? OWN_NODE);
    const id = { message_chunk: name, reasoning_chunk: name, reasoning_end: name }[event.type];
    this.#store(this.#trackCall(id === undefined ? event : { ...event, id }, nodeId), nodeId);
  }

  #store(event: AnyEvent, nodeId: string | undefined): void {
    try {
      this.#run.postUnit([event], { nodeId, isHandled: true });
    } catch (error) {
      if (!isLoomError(error, "event_too_large")) throw error;
      for (const rest of leaveOut(event, this.#source.framework, error)) this.#run.post(rest, { nodeId });
    }
  }

  /** Adds the `tool_start` of a call that has its first output or result. Returns the event with the run's call ID. */
  #trackCall(event: AnyEvent, nodeId: string): AnyEvent {
    const { call_id: callId, name } = event as { readonly call_id?: unknown; readonly name?: unknown };
    if (typeof callId !== "string") return event;
    const call = BEGINS_CALL.has(event.type)
      ? this.#openCall(callId, event.type !== "tool_start")
      : this.#calls.get(callId);
    if (call === undefined) return event;
    if (typeof name === "string") call.name ??= name;
    if (event.type === "tool_start") call.isStarted = true;
    else if (NEEDS_START.has(event.type) && !call.isStarted) {
      call.isStarted = true;
      // A call that was refused, or has invalid arguments, has a result, but never started.
      if (call.name !== undefined && !isUnstarted(event))
        this.#run.post({ type: "tool_start", call_id: call.id, name: call.name }, { nodeId });
    }
    if (event.type === "tool_end") this.#calls.delete(callId);
    return call.id === callId ? event : { ...event, call_id: call.id };
  }

  /**
   * Some frameworks repeat their call IDs in each answer, or when they answer again; a run has each ID once. An event
   * that does not make a call can belong to one that an earlier process of the run left open.
   */
  #openCall(callId: string, isMade: boolean): OpenCall {
    let call = this.#calls.get(callId);
    if (call !== undefined) return call;
    const { work } = this.#run;
    const left = isMade ? undefined : work.findCall(callId);
    const id = left === undefined && work.hasUsedCallId(callId) ? `call_${crypto.randomUUID()}` : callId;
    this.#calls.set(callId, (call = { id, name: left?.name, isStarted: left?.state === "started" }));
    return call;
  }

  #open(key: string | undefined, name: string, parent?: string): NodeRun {
    const node = this.#run.enter(name, parent);
    this.#nodes.set(key, node);
    return node;
  }

  #enter(key: string | undefined, event: AnyEvent): void {
    const { id, parent } = event as { readonly id?: unknown; readonly parent?: unknown };
    const outer = typeof parent === "string" ? this.#nodes.get(parent)?.nodeId : undefined;
    void this.#nodes.get(key)?.done();
    this.#open(key, typeof id === "string" ? id : (key ?? OWN_NODE), outer);
  }

  #exit(key: string | undefined, event: AnyEvent): void {
    const node = this.#nodes.get(key);
    this.#nodes.delete(key);
    const { result } = event as Partial<NodeExitEvent>;
    if (isJsonObject(result)) void node?.fail(new LoomError("node_failed", result["Err"]));
    else void node?.done();
  }

  #ask(event: ToolApprovalEvent, key: string | undefined): void {
    const { call_id: callId, name, arguments: asked } = event;
    if (callId === undefined) throw new LoomError("invalid_event", "A `tool_approval` needs a `call_id`");
    const { nodeId } = this.#nodes.get(key) ?? this.#open(key, key ?? OWN_NODE);
    const { approvalMs } = this.#options;
    const refuse = (reason: string): SourceAnswer => {
      const code = "approval_unavailable";
      return { callId, decision: "rejected", arguments: asked, reason, code };
    };
    const { id } = this.#openCall(callId, false);
    if (this.#source.resume === undefined) {
      this.#run.closeCalls([id], { reason: NO_ANSWERS });
      this.#calls.delete(callId);
      return;
    }
    const answer = this.#run
      .requestApproval(
        { callId: id, name, arguments: asked, ...(approvalMs === undefined ? {} : { expiresInMs: approvalMs }) },
        { nodeId },
      )
      .then((given) => ({ ...given, callId }))
      .catch((error: unknown) => {
        if (isLoomError(error, "approval_unavailable")) return refuse(error.message);
        throw error;
      });
    answer.catch(() => undefined);
    this.#approvals.push(answer);
  }
}

const KEPT: ReadonlySet<string> = new Set(["type", "call_id", "name", "is_error"]);

/** Returns what is written instead of an event that is too large for the log: what it was, and how long. */
function leaveOut(event: AnyEvent, dialect: string, { details }: LoomError): readonly AnyEvent[] {
  const { type } = event;
  const bytes = Number(details["bytes"]);
  const kept = keepFields(event as unknown as JsonObject, (name) => KEPT.has(name));
  const note = { type: "foreign", dialect, frame: { ...kept, type: "left_out", event: type, bytes } };
  const text = `${bytes} bytes were left out: an event can have fewer`;
  // The call must still be made, and must end.
  if (type === "tool_call") return [note, { ...kept, type, arguments: {}, raw_arguments: text }];
  return type === "tool_end" ? [note, { ...kept, type, result: text }] : [note];
}

const UNSTARTED: ReadonlySet<unknown> = new Set(["tool_rejected", "invalid_arguments"]);

function isUnstarted(event: AnyEvent): boolean {
  return event.type === "tool_end" && UNSTARTED.has((event as { readonly error_code?: unknown }).error_code);
}

async function stop(iterator: AsyncIterator<SourceItem>): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // The source is not read any more.
  }
}
