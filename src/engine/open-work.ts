/**
 * What of a run is open: node runs, tool calls, questions to the user, model calls; and its totals. A fold over the
 * run's records that holds none of their text. The live run and the recovery of a dead one use the same, so both close
 * what is open in the same way. It does no input or output and knows no clock.
 *
 * Invariant: the events of `listClosings`, in their order, leave nothing open, and break no rule of a run's life.
 */
import { isForeign } from "../log/foreign-mark.ts";
import {
  type AnyEvent,
  BoundedMap,
  CallKeys,
  type EventRecord,
  isKnownEvent,
  type JsonObject,
  LoomError,
  type LoomEvent,
} from "../protocol/index.ts";

/** chunk* → call → (approval → answer) → start → (output | progress)* → end */
export type CallState = "streaming" | "called" | "waiting" | "approved" | "rejected" | "started";

export interface ApprovalAnswer {
  readonly decision: "approved" | "rejected" | "expired";
  /** Those to use: as the user edited them, or as they were asked about. */
  readonly arguments: JsonObject;
  readonly reason?: string;
  readonly actor?: string;
}

export interface OpenCall {
  readonly callId: string | undefined;
  readonly name: string | undefined;
  readonly state: CallState;
  /** The node run of its latest record. */
  readonly nodeId: string | undefined;
  /** Those that were asked about; undefined when nobody was asked. */
  readonly asked: JsonObject | undefined;
  readonly expiresAt: number | undefined;
  readonly answer: ApprovalAnswer | undefined;
  readonly called: boolean;
}

export interface OpenSpan {
  /** Undefined where somebody else wrote the record, who gives none. */
  readonly nodeId: string | undefined;
  readonly name: string;
  /** It has sent answer text, which cannot be taken back. */
  readonly answered: boolean;
}

export interface Checkpoint {
  readonly checkpointId: string;
  readonly eventId: number | undefined;
  readonly step: number;
}

export interface Closing {
  readonly nodeId: string | undefined;
  readonly event: LoomEvent;
}

export interface CloseOptions {
  /** For `node_exit`: why the node run ended. */
  readonly reason: string;
  /** For calls that end with it. */
  readonly code: "cancelled" | "interrupted";
  /** Approvals that ran out by then are `expired`; all others `rejected`. */
  readonly now: number;
  /** Calls for which this is true stay open. */
  readonly keep?: (call: OpenCall) => boolean;
  /** Leave model calls and node runs open. */
  readonly only?: "calls";
}

/** Open at once, or call ids over the whole run; code `too_many_open`. */
const MAX_OPEN_SPANS = 10_000;
export const MAX_CALLS = 10_000;

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export class OpenWork {
  readonly #spans = new Map<string, Mutable<OpenSpan>>();
  readonly #calls = new Map<string, Mutable<OpenCall>>();
  /** Calls that are over, and whether the user was asked. */
  readonly #over = new Map<string, boolean>();
  readonly #models = new Map<string, string | undefined>();
  /** The call the next piece of arguments belongs to, by node run and index. */
  readonly #streaming = new BoundedMap<string>(MAX_CALLS);
  readonly #keys = new CallKeys();
  /** Since the last checkpoint, answer text was sent outside of node runs. */
  #answeredOutside = false;
  /** Since then, a node run has sent answer text and failed. */
  #answeredInVain = false;
  readonly totals = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, tool_calls: 0 };
  frames = 0;
  /** Node runs that were begun. */
  nodeRuns = 0;
  firstId: number | undefined;
  startedAt: number | undefined;
  checkpoint: Checkpoint | undefined;
  /** Somebody else carries it out, and tells of it here. */
  isForeign = false;

  get spans(): IterableIterator<OpenSpan> {
    return this.#spans.values();
  }

  get calls(): IterableIterator<OpenCall> {
    return this.#calls.values();
  }

  /** Calls that wait for the user. */
  get waiting(): readonly OpenCall[] {
    return [...this.#calls.values()].filter(({ state }) => state === "waiting");
  }

  /** What is being done now has sent answer text: it can be neither repeated nor taken back. */
  get hasAnswered(): boolean {
    return this.#answeredOutside || this.#answeredInVain || [...this.#spans.values()].some(({ answered }) => answered);
  }

  isOpen(nodeId: string): boolean {
    return this.#spans.has(nodeId);
  }

  findCall(callId: string): OpenCall | undefined {
    return this.#calls.get(callId);
  }

  /** The run has or had a call of this id, and may not have another. */
  knows(callId: string): boolean {
    return this.#calls.has(callId) || this.#over.has(callId);
  }

  /** The user was asked about this call, which is over. */
  wasAsked(callId: string): boolean {
    return this.#over.get(callId) === true;
  }

  /** Throws unless the event may come next. The sender names every call by its id, so that no two are mixed up. */
  assertNext(event: AnyEvent, nodeId: string | undefined): void {
    if (nodeId !== undefined && !this.#spans.has(nodeId) && event.type !== "node_enter")
      throw invalid(event, `node run ${nodeId} is not open`);
    if (!isKnownEvent(event)) return;
    switch (event.type) {
      case "node_enter":
        if (this.#spans.size >= MAX_OPEN_SPANS) throw tooMany(`${MAX_OPEN_SPANS} node runs are open`);
        return;
      case "tool_call_chunk": {
        const key = event.call_id ?? this.#streaming.get(slotOf(nodeId, event.index));
        if (key === undefined) throw invalid(event, "the first piece of a call must have its call_id");
        this.#assertCall(event, key, ["streaming"], true);
        return;
      }
      case "tool_call":
        if (this.#calls.get(event.call_id ?? "")?.called === true) throw invalid(event, "the call was made before");
        this.#assertCall(event, event.call_id, ["streaming", "waiting", "approved", "rejected", "started"], true);
        return;
      case "tool_approval":
        this.#assertCall(event, event.call_id, ["streaming", "called"], true);
        return;
      case "tool_approval_result":
        this.#assertCall(event, event.call_id, ["waiting"]);
        return;
      case "tool_start":
        this.#assertCall(event, event.call_id, ["streaming", "called", "approved"], true);
        return;
      case "tool_output":
      case "tool_progress":
        this.#assertCall(event, event.call_id, ["started"]);
        return;
      case "tool_end":
        this.#assertCall(event, event.call_id, ["streaming", "called", "approved", "rejected", "started"]);
        return;
      case "llm_start":
        if (this.#models.has(event.llm_call_id)) throw invalid(event, `model call ${event.llm_call_id} is going`);
        if (this.#models.size >= MAX_CALLS) throw tooMany(`${MAX_CALLS} model calls are going`);
        return;
      case "llm_end":
        if (!this.#models.has(event.llm_call_id)) throw invalid(event, `model call ${event.llm_call_id} is not going`);
        return;
      default:
    }
  }

  #assertCall(
    event: LoomEvent & { readonly name?: string },
    callId: string | undefined,
    states: readonly CallState[],
    mayBegin = false,
  ): void {
    if (callId === undefined) throw invalid(event, "a call must be named by its call_id");
    if (this.#over.has(callId)) throw invalid(event, `call ${callId} is over`);
    const call = this.#calls.get(callId);
    if (call === undefined) {
      if (!mayBegin) throw invalid(event, `there is no call ${callId}`);
      if (this.#calls.size + this.#over.size >= MAX_CALLS) throw tooMany(`a run may have ${MAX_CALLS} tool calls`);
      return;
    }
    if (!states.includes(call.state)) throw invalid(event, `call ${callId} is ${call.state}`);
    if (event.name !== undefined && call.name !== undefined && event.name !== call.name)
      throw invalid(event, `call ${callId} is of ${call.name}, not of ${event.name}`);
  }

  /** Takes any record of the run, whoever wrote it. */
  add({ envelope, event }: EventRecord): void {
    const { node_id: nodeId, event_id: eventId, ts } = envelope;
    this.frames++;
    this.firstId ??= eventId;
    this.startedAt ??= ts;
    if (envelope.ext !== undefined && isForeign(envelope)) this.isForeign = true;
    if (!isKnownEvent(event)) return;
    switch (event.type) {
      case "node_enter":
        this.nodeRuns++;
        this.#spans.set(nodeId ?? event.id, { nodeId, name: event.id, answered: false });
        return;
      case "node_exit":
        // Whoever did it again would say it again.
        if (event.result !== "Ok" && this.#spans.get(nodeId ?? event.id)?.answered === true)
          this.#answeredInVain = true;
        this.#spans.delete(nodeId ?? event.id);
        return;
      case "message_chunk": {
        if (event.channel === "thought" || event.content === "") return;
        const span = this.#spans.get(nodeId ?? event.id);
        if (span === undefined) this.#answeredOutside = true;
        else span.answered = true;
        return;
      }
      case "usage":
        this.totals.prompt_tokens += event.prompt_tokens;
        this.totals.completion_tokens += event.completion_tokens;
        this.totals.total_tokens += event.total_tokens;
        return;
      case "checkpoint":
        // That of a subgraph is part of what its parent is doing.
        if ((event.checkpoint_ns ?? "") !== "") return;
        this.#answeredOutside = false;
        this.#answeredInVain = false;
        this.checkpoint = { checkpointId: event.checkpoint_id, eventId, step: event.step };
        return;
      case "llm_start":
        this.#models.set(event.llm_call_id, nodeId);
        return;
      case "llm_end":
        this.#models.delete(event.llm_call_id);
        return;
      default:
        this.#addToCall(event, nodeId);
    }
  }

  #addToCall(event: LoomEvent, nodeId: string | undefined): void {
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
        call.asked = event.arguments;
        call.expiresAt = event.expires_at;
        return;
      }
      case "tool_approval_result": {
        const call = this.#calls.get(this.#keys.keyOf(event, "before"));
        if (call === undefined) return;
        call.state = event.decision === "approved" ? "approved" : "rejected";
        call.answer = {
          decision: event.decision,
          arguments: event.arguments ?? call.asked ?? {},
          ...(event.reason === undefined ? {} : { reason: event.reason }),
          ...(event.actor === undefined ? {} : { actor: event.actor }),
        };
        return;
      }
      case "tool_start":
        this.#open(this.#keys.keyOf(event, "start"), event.call_id, event.name, nodeId).state = "started";
        return;
      case "tool_end": {
        const key = this.#keys.keyOf(event, "end");
        const asked = this.#calls.get(key)?.asked !== undefined;
        this.#calls.delete(key);
        if (event.call_id !== undefined && this.#over.size < MAX_CALLS) this.#over.set(key, asked);
        return;
      }
      default:
    }
  }

  #open(key: string, callId: string | undefined, name: string | undefined, nodeId: string | undefined) {
    let call = this.#calls.get(key);
    if (call === undefined) {
      call = {
        callId,
        name,
        state: "streaming",
        nodeId,
        asked: undefined,
        expiresAt: undefined,
        answer: undefined,
        called: false,
      };
      this.#calls.set(key, call);
    }
    call.name ??= name;
    call.nodeId = nodeId;
    return call;
  }

  /** The events that end all that is open: questions, model calls, tools, then node runs from the inside out. */
  listClosings({ reason, code, now, keep = () => false, only }: CloseOptions): readonly Closing[] {
    const closings: Closing[] = [];
    const inside = (nodeId: string | undefined) =>
      nodeId !== undefined && this.#spans.has(nodeId) ? nodeId : undefined;
    const calls = [...this.#calls.values()].filter((call) => !keep(call));
    for (const call of calls) {
      if (call.state !== "waiting") continue;
      const isExpired = call.expiresAt !== undefined && call.expiresAt <= now;
      closings.push({
        nodeId: inside(call.nodeId),
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
      // Pieces of arguments that name no tool are no call yet.
      if (call.name === undefined) continue;
      closings.push({
        nodeId: inside(call.nodeId),
        event: {
          type: "tool_end",
          ...(call.callId === undefined ? {} : { call_id: call.callId }),
          name: call.name,
          result:
            call.state === "started"
              ? `${reason} while it was running: its outcome is unknown`
              : `${reason} before it started`,
          is_error: true,
          error_code: code,
        },
      });
    }
    if (only === "calls") return closings;
    for (const { nodeId, name } of [...this.#spans.values()].toReversed())
      closings.push({ nodeId, event: { type: "node_exit", id: name, result: { Err: reason } } });
    return closings;
  }
}

function named({ callId, name }: OpenCall): { readonly call_id?: string; readonly name?: string } {
  return { ...(callId === undefined ? {} : { call_id: callId }), ...(name === undefined ? {} : { name }) };
}

function slotOf(nodeId: string | undefined, index: number | undefined): string {
  return `${nodeId ?? ""}\n${index ?? ""}`;
}

function invalid(event: AnyEvent, message: string): LoomError {
  return new LoomError("invalid_event", `\`${event.type}\` cannot come now: ${message}`, { type: event.type });
}

function tooMany(message: string): LoomError {
  return new LoomError("too_many_open", message);
}

/** Those whose values are kept here: they must not change with the caller's objects. */
export function isKept({ type }: AnyEvent): boolean {
  return type === "tool_approval" || type === "tool_approval_result";
}

const CUT_LENGTH = 100;

const TEXTS: ReadonlySet<string> = new Set(["result", "reason", "message"]);

/** A closing event with short texts; names and ids stay, or it would be about something else. */
export function cutTexts(event: AnyEvent): AnyEvent {
  const entries = Object.entries(event).map(([name, value]: [string, unknown]) => {
    if (name === "result" && typeof value === "object") return [name, { Err: "interrupted" }];
    return [name, typeof value === "string" && TEXTS.has(name) ? value.slice(0, CUT_LENGTH).toWellFormed() : value];
  });
  return Object.fromEntries(entries) as AnyEvent;
}
