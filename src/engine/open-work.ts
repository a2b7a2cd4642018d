/**
 * Tracks what is open in a run (node runs, tool calls, approvals, model calls, graph nodes) and its totals. It is a fold over the
 * run's records and keeps none of their text. Live runs and the recovery of dead runs both use it, so both close open
 * work in the same way. It does no I/O and has no clock.
 *
 * Invariant: the events of `listClosings`, written in order, close everything that is open and break no life-cycle
 * rule.
 */
import { isForeign } from "../log/foreign-mark.ts";
import { dropUndefined } from "../protocol/drop-undefined.ts";
import {
  type AnyEvent,
  type EventOf,
  type EventRecord,
  isKnownEvent,
  type JsonObject,
  LoomError,
  type LoomEvent,
} from "../protocol/index.ts";
import { BoundedMap } from "../protocol/bounded-map.ts";
import { isAnswerChannel, isForkNotice, isNextAttempt } from "../protocol/record.ts";
import { CallKeys, slotOf } from "../protocol/call-keys.ts";
import type { NodeEnterEvent } from "../protocol/events.generated.ts";
import { InterruptedNodes } from "./interrupted-nodes.ts";

/**
 * chunk* → call → (approval → answer) → start → (output | progress)* → end. `waiting` is a call that waits for an
 * approval, `delegated` one that was started and waits for the result of the client.
 */
export type ToolCallState = "streaming" | "called" | "waiting" | "approved" | "rejected" | "started" | "delegated";

/** The answer to a tool approval. */
export interface ApprovalAnswer {
  readonly decision: "approved" | "rejected" | "expired";
  /** The arguments to use: those the user edited, or those of the approval request. */
  readonly arguments: JsonObject;
  readonly reason?: string;
  readonly actor?: string;
  /** Why the call was rejected although no user decided. */
  readonly code?: string;
}

/** A tool call that has not ended. */
export interface OpenToolCall {
  readonly callId: string | undefined;
  readonly name: string | undefined;
  readonly state: ToolCallState;
  /** The node run of its latest record. */
  readonly nodeId: string | undefined;
  /** The arguments of the approval request; undefined if no approval was requested. */
  readonly approvalArguments: JsonObject | undefined;
  /** When the approval or the wait for the client ends, in milliseconds since 1970. */
  readonly expiresAt: number | undefined;
  readonly answer: ApprovalAnswer | undefined;
  /** True if its `tool_call` was written. */
  readonly called: boolean;
  /** True for a call of an agent that works as a tool. It belongs to the call of that tool. */
  readonly isNested?: boolean;
}

/** A node run that has not ended. */
export interface OpenNodeRun {
  /** Undefined for records of other writers, which may have no `node_id`. */
  readonly nodeId: string | undefined;
  readonly name: string;
  /** True if it, or a node run around it, carries out a tool call. */
  readonly isNested?: boolean;
}

/** The last checkpoint of a run. */
export interface RunCheckpoint {
  readonly checkpointId: string;
  readonly eventId: number | undefined;
  readonly step: EventOf<"checkpoint">["step"];
}

/** A run that waits to be continued at the checkpoint where its session was forked. */
export interface RunFork {
  /** The fork replaced values of the checkpoint. */
  readonly isEdited: boolean;
}

/** An event that closes open work, and the node run it belongs to. */
export interface Closing {
  readonly nodeId: string | undefined;
  readonly event: LoomEvent;
}

export interface ClosingOptions {
  /** Why the node runs end, for `node_exit`. */
  readonly reason: string;
  /** Error code for the calls that end. */
  readonly code: "cancelled" | "interrupted";
  /** Approvals that expired by this time end as `expired`, all others as `rejected`. */
  readonly now: number;
  /** Calls for which this returns true stay open. */
  readonly keep?: (call: OpenToolCall) => boolean;
  readonly only?: "calls"; // Model calls and node runs stay open.
  /** Node run of the events of calls whose own node run has ended. */
  readonly nodeId?: string;
}

/** Maximum open node runs, and maximum tool calls of a run. Code `too_many_open`. */
export const MAX_OPEN_SPANS = 10_000;
export const MAX_CALLS = 10_000;

/** The states that a call may be in before an event, and whether the call may begin with it. */
interface CallStep {
  readonly from: readonly ToolCallState[];
  readonly mayBegin: boolean;
}

const CHUNK_STEP: CallStep = { from: ["streaming"], mayBegin: true };
/** By event type. In a run that is written here, each of these events has the ID of its call. */
export const CALL_STEPS: { readonly [type: string]: CallStep | undefined } = {
  tool_call: { from: ["streaming", "waiting", "approved", "rejected", "started", "delegated"], mayBegin: true },
  tool_approval: { from: ["streaming", "called"], mayBegin: true },
  tool_approval_result: { from: ["waiting"], mayBegin: false },
  tool_start: { from: ["streaming", "called", "approved"], mayBegin: true },
  tool_output: { from: ["started"], mayBegin: false },
  tool_progress: { from: ["started"], mayBegin: false },
  tool_end: { from: ["streaming", "called", "approved", "rejected", "started", "delegated"], mayBegin: false },
};

const NESTED = { isNested: true };

type MutableFields<T> = { -readonly [K in keyof T]: T[K] };

/** The open work and the totals of one run. */
export class OpenWork {
  readonly #spans = new Map<string, MutableFields<OpenNodeRun>>();
  readonly #calls = new Map<string, MutableFields<OpenToolCall>>();
  /** Ended calls. The value is true if an approval was requested. */
  readonly #over = new Map<string, boolean>();
  /** Ended calls that the client was to carry out. */
  readonly #overAtClient = new Set<string>();
  readonly #models = new Map<string, string | undefined>();
  /** Started nodes of a graph of thoughts, with their node run. Other writers may start any number. */
  readonly #graphNodes = new BoundedMap<{ readonly id: string; readonly nodeId: string | undefined }>(MAX_OPEN_SPANS);
  /** The call that the next argument chunk belongs to, by node run and index. */
  readonly #streaming = new BoundedMap<string>(MAX_CALLS);
  readonly #keys = new CallKeys();
  readonly #interrupted = new InterruptedNodes();
  readonly totals = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, tool_calls: 0 };
  frames = 0;
  /** Number of node runs started so far. */
  nodeRuns = 0;
  firstId: number | undefined;
  lastId: number | undefined;
  /** When the run started or, in a fork, continued. */
  startedAt: number | undefined;
  checkpoint: RunCheckpoint | undefined;
  /** Number of the attempt, from 1. Processes that only waited for the user do not count. */
  attempt = 1;
  /** How many attempts were made before the session was forked. They do not count. */
  attemptsBefore = 0;
  /** How many attempts ended because their process stopped and handed the run over. */
  handOvers = 0;
  /** Set if the run is where its session was forked, and has not continued since. */
  fork: RunFork | undefined;
  /** Set if the last record of a dead run is the decision of the user. */
  isDecided = false;
  /** True if nothing was sent, called or stored that a run from the beginning would repeat. */
  isFresh = true;
  /** True if the run is executed elsewhere and only stored here. */
  isForeign = false;

  get spans(): IterableIterator<OpenNodeRun> {
    return this.#spans.values();
  }

  get calls(): IterableIterator<OpenToolCall> {
    return this.#calls.values();
  }

  /** Calls that wait for an approval. */
  get waiting(): readonly OpenToolCall[] {
    return [...this.#calls.values()].filter(({ state }) => state === "waiting");
  }

  /** Calls that wait for a result of the client. */
  get delegated(): readonly OpenToolCall[] {
    return [...this.#calls.values()].filter(({ state }) => state === "delegated");
  }

  /** True if a call waits for an approval or for a result of the client. */
  get needsAnswer(): boolean {
    return this.waiting.length + this.delegated.length > 0;
  }

  /** True if no call of a model or a tool is running here. */
  get isIdle(): boolean {
    const isIdle = ({ state }: OpenToolCall) => state !== "started" && state !== "streaming";
    return this.#models.size === 0 && [...this.#calls.values()].every(isIdle);
  }

  /** Adds which interrupted node run a new one repeats, if it repeats one. */
  linkRepeat(event: NodeEnterEvent): NodeEnterEvent {
    const supersedes = this.#interrupted.find(event.id, event.parent);
    if (supersedes === undefined) return event;
    return { ...event, supersedes, ...(this.attempt > 1 ? { attempt: this.attempt } : {}) };
  }

  isOpen(nodeId: string): boolean {
    return this.#spans.has(nodeId);
  }

  /** Number of node runs and calls that are open. Each needs an event to close it. */
  get openCount(): number {
    return this.#spans.size + this.#calls.size + this.#models.size;
  }

  findCall(callId: string): OpenToolCall | undefined {
    return this.#calls.get(callId);
  }

  /** True if the run has, or had, a call with this ID. Call IDs are unique within a run. */
  hasUsedCallId(callId: string): boolean {
    return this.#calls.has(callId) || this.#over.has(callId);
  }

  /** True if the call has ended and an approval was requested for it. */
  hadApproval(callId: string): boolean {
    return this.#over.get(callId) === true;
  }

  /** True if the call has ended and the client was to carry it out. */
  wasDelegated(callId: string): boolean {
    return this.#overAtClient.has(callId);
  }

  /** Throws `invalid_event` unless the event may come next. The sender must give every call an ID. */
  assertNext(event: AnyEvent, nodeId: string | undefined): void {
    if (nodeId !== undefined && !this.#spans.has(nodeId) && event.type !== "node_enter")
      throw invalid(event, `node run ${nodeId} is not open`);
    if (!isKnownEvent(event)) return;
    switch (event.type) {
      case "node_enter":
        if (this.#spans.size >= MAX_OPEN_SPANS) throw tooMany(`${MAX_OPEN_SPANS} node runs are already open`);
        return;
      case "tool_call_chunk": {
        const key = event.call_id ?? this.#streaming.get(slotOf(nodeId, event.index));
        if (key === undefined) throw invalid(event, "the first chunk of a call must have a call_id");
        this.#assertCall(event, key, CHUNK_STEP);
        return;
      }
      case "tool_call":
        if (this.#calls.get(event.call_id ?? "")?.called === true) throw invalid(event, "the call was already made");
        break;
      case "llm_start":
        if (this.#models.has(event.llm_call_id))
          throw invalid(event, `model call ${event.llm_call_id} is already running`);
        if (this.#models.size >= MAX_CALLS) throw tooMany(`${MAX_CALLS} model calls are already running`);
        return;
      case "llm_end":
        if (!this.#models.has(event.llm_call_id))
          throw invalid(event, `model call ${event.llm_call_id} is not running`);
        return;
      default:
    }
    const step = CALL_STEPS[event.type];
    if (step !== undefined) this.#assertCall(event, (event as { readonly call_id?: string }).call_id, step);
  }

  #assertCall(
    event: LoomEvent & { readonly name?: string },
    callId: string | undefined,
    { from, mayBegin }: CallStep,
  ): void {
    if (callId === undefined) throw invalid(event, "it must have a call_id");
    if (this.#over.has(callId)) throw invalid(event, `call ${callId} has ended`);
    const call = this.#calls.get(callId);
    if (call === undefined) {
      if (!mayBegin) throw invalid(event, `there is no call ${callId}`);
      if (this.#calls.size + this.#over.size >= MAX_CALLS) throw tooMany(`A run has at most ${MAX_CALLS} tool calls`);
      return;
    }
    if (!from.includes(call.state)) throw invalid(event, `call ${callId} is in state "${call.state}"`);
    if (event.name !== undefined && call.name !== undefined && event.name !== call.name)
      throw invalid(event, `call ${callId} is a call of ${call.name}, not of ${event.name}`);
  }

  /** Adds any record of the run, including records of other writers. */
  add({ envelope, event }: EventRecord): void {
    const { node_id: nodeId, event_id: eventId, ts } = envelope;
    this.frames++;
    this.firstId ??= eventId;
    this.lastId = eventId ?? this.lastId;
    this.startedAt ??= ts;
    if (envelope.ext !== undefined && isForeign(envelope)) this.isForeign = true;
    if (!isKnownEvent(event)) return;
    switch (event.type) {
      case "node_enter":
        this.nodeRuns++;
        this.#spans.set(nodeId ?? event.id, { nodeId, name: event.id, ...(this.#isNested(event) && NESTED) });
        if (nodeId !== undefined) this.#interrupted.enter(nodeId, event);
        return;
      case "node_exit":
        this.#spans.delete(nodeId ?? event.id);
        if (nodeId !== undefined) this.#interrupted.exit(nodeId, event.result);
        return;
      case "message_chunk":
        if (!isAnswerChannel(event.channel) || event.content === "") return;
        this.isFresh = false;
        if (nodeId !== undefined) this.#interrupted.answer(nodeId);
        return;
      case "error":
        if (!isNextAttempt(event)) return;
        this.attempt = Math.max(this.attempt, event.attempt);
        if (event.details?.["handed_over"] === true) this.handOvers++;
        if (isForkNotice(event)) this.#beginFork(ts);
        this.#interrupted.restart();
        return;
      case "usage":
        this.totals.prompt_tokens += event.prompt_tokens;
        this.totals.completion_tokens += event.completion_tokens;
        this.totals.total_tokens += event.total_tokens;
        return;
      case "checkpoint":
        // A checkpoint of a subgraph is part of the parent's step.
        if ((event.checkpoint_ns ?? "") !== "") return;
        this.isFresh = false;
        this.#interrupted.clear();
        this.checkpoint = { checkpointId: event.checkpoint_id, eventId, step: event.step };
        return;
      case "llm_start":
        this.#models.set(event.llm_call_id, nodeId);
        return;
      case "llm_end":
        this.#models.delete(event.llm_call_id);
        return;
      case "got_node_start":
        this.#graphNodes.set(event.id, { id: event.id, nodeId });
        return;
      case "got_node_complete":
      case "got_node_failed":
        this.#graphNodes.delete(event.id);
        return;
      default:
        this.#addToCall(event, nodeId);
    }
  }

  /** What happened in the original counts neither as attempts nor as time of the run. */
  #beginFork(ts: number | undefined): void {
    this.attemptsBefore = this.attempt - 1;
    this.handOvers = 0;
    this.startedAt = ts;
  }

  #addToCall(event: LoomEvent, nodeId: string | undefined): void {
    if (event.type.startsWith("tool_")) this.isFresh = false;
    switch (event.type) {
      case "tool_call_chunk": {
        const slot = slotOf(nodeId, event.index);
        const key = event.call_id ?? this.#streaming.get(slot) ?? `name:${event.name ?? ""}`;
        this.#streaming.set(slot, key);
        this.#open(key, event.call_id ?? (key.startsWith("name:") ? undefined : key), event.name, nodeId);
        return;
      }
      case "tool_call": {
        this.totals.tool_calls++;
        const call = this.#open(this.#keys.keyOf(event, "call"), event.call_id, event.name, nodeId);
        call.called = true;
        if (call.state === "streaming") call.state = "called";
        return;
      }
      case "tool_approval": {
        const call = this.#open(this.#keys.keyOf(event, "before"), event.call_id, event.name, nodeId);
        call.state = "waiting";
        call.approvalArguments = event.arguments;
        call.expiresAt = event.expires_at;
        return;
      }
      case "tool_approval_result": {
        const call = this.#calls.get(this.#keys.keyOf(event, "before"));
        if (call === undefined) return;
        const { decision, reason, actor, code } = event;
        const args = event.arguments ?? call.approvalArguments ?? {};
        call.state = decision === "approved" ? "approved" : "rejected";
        call.answer = dropUndefined({ decision, arguments: args, reason, actor, code });
        return;
      }
      case "tool_start": {
        const call = this.#open(this.#keys.keyOf(event, "start"), event.call_id, event.name, nodeId);
        const isDelegated = event.executor === "client";
        call.state = isDelegated ? "delegated" : "started";
        if (isDelegated) call.expiresAt = event.expires_at;
        return;
      }
      case "tool_end": {
        const key = this.#keys.keyOf(event, "end");
        const call = this.#calls.get(key);
        this.#calls.delete(key);
        if (event.call_id === undefined || this.#over.size >= MAX_CALLS) return;
        this.#over.set(key, call?.approvalArguments !== undefined);
        if (call?.state === "delegated") this.#overAtClient.add(key);
        return;
      }
      default:
    }
  }

  #isNested({ call_id, parent }: NodeEnterEvent): boolean {
    return call_id !== undefined || (parent !== undefined && this.#spans.get(parent)?.isNested === true);
  }

  #open(key: string, callId: string | undefined, name: string | undefined, nodeId: string | undefined) {
    let call = this.#calls.get(key);
    if (call === undefined) {
      call = {
        callId,
        name,
        state: "streaming",
        nodeId,
        approvalArguments: undefined,
        expiresAt: undefined,
        answer: undefined,
        called: false,
        ...(nodeId !== undefined && this.#spans.get(nodeId)?.isNested === true && NESTED),
      };
      this.#calls.set(key, call);
    }
    call.name ??= name;
    call.nodeId = nodeId;
    return call;
  }

  /**
   * Returns the events that close everything open: approvals, model calls, tool calls, graph nodes, then node runs from
   * the inside out.
   */
  listClosings({ reason, code, now, keep = () => false, only, nodeId: closer }: ClosingOptions): readonly Closing[] {
    const closings: Closing[] = [];
    const inside = (...nodeIds: readonly (string | undefined)[]) => nodeIds.find((id = "") => this.#spans.has(id));
    const calls = [...this.#calls.values()].filter((call) => !keep(call));
    for (const call of calls.filter(({ state }) => state === "waiting")) {
      const isExpired = call.expiresAt !== undefined && call.expiresAt <= now;
      closings.push({
        nodeId: inside(call.nodeId, closer),
        event: {
          type: "tool_approval_result",
          ...named(call),
          decision: isExpired ? "expired" : "rejected",
          ...(isExpired ? {} : { reason }),
        },
      });
    }
    for (const [llm_call_id, nodeId] of only === "calls" ? [] : this.#models) {
      const finish_reason = code === "cancelled" ? "cancelled" : "error";
      closings.push({ nodeId: inside(nodeId), event: { type: "llm_end", llm_call_id, finish_reason } });
    }
    for (const call of calls) {
      // Argument chunks without a tool name are not a call yet.
      if (call.name === undefined) continue;
      closings.push({
        nodeId: inside(call.nodeId, closer),
        event: {
          type: "tool_end",
          ...named(call),
          name: call.name,
          result:
            call.state === "started" || call.state === "delegated"
              ? `${reason} while it was running: its outcome is unknown`
              : `${reason} before it started`,
          is_error: true,
          error_code: code,
        },
      });
    }
    if (only === "calls") return closings;
    for (const { id, nodeId } of [...this.#graphNodes.values()].toReversed())
      closings.push({ nodeId: inside(nodeId), event: { type: "got_node_failed", id, error: reason } });
    for (const { nodeId, name } of [...this.#spans.values()].toReversed())
      closings.push({ nodeId, event: { type: "node_exit", id: name, result: { Err: reason } } });
    return closings;
  }
}

function named({ callId, name }: OpenToolCall): { readonly call_id?: string; readonly name?: string } {
  return dropUndefined({ call_id: callId, name });
}

function invalid(event: AnyEvent, message: string): LoomError {
  return new LoomError("invalid_event", `\`${event.type}\` is not possible now: ${message}`, { type: event.type });
}

function tooMany(message: string): LoomError {
  return new LoomError("too_many_open", message);
}
