/**
 * The model calls and tool calls of one run: which are open, and what earlier records said about them. Metrics, traces
 * and logs follow a run with it. Times are whatever clock the caller passes; undefined if unknown.
 *
 * Invariants:
 * - Memory is limited whatever the records contain. The call that was opened longest ago is forgotten first.
 * - Ended calls are kept as long as there is room, so that a repeated end is recognized.
 */
import type { EventOf } from "../protocol/index.ts";
import { BoundedMap } from "../protocol/bounded-map.ts";
import { CallKeys } from "../protocol/call-keys.ts";

/** Calls remembered per run, separately for models and tools. */
export const MAX_OPEN_CALLS = 1000;

/** One attempt to call a model. */
export interface ObservedModelCall {
  /** Shared by all attempts of a call: its ID without the attempt number. */
  readonly key: string;
  /** Undefined if the start was not seen. */
  readonly start?: EventOf<"llm_start">;
  readonly model: string | undefined;
  /** The output of a summary is not recorded. */
  readonly isSummary: boolean;
  readonly node: string;
  readonly startedAt?: number | undefined;
  usage?: EventOf<"usage"> | undefined;
  isOpen: boolean;
}

export class ModelCalls {
  readonly #calls: BoundedMap<ObservedModelCall>;
  /** Usage of calls whose start was not seen, by ID of the call. */
  readonly #earlyUsage: BoundedMap<EventOf<"usage">>;
  /** Open calls with recorded output, by node run. */
  readonly #speaking = new Map<string, ObservedModelCall[]>();
  /** Those without output so far. None if two calls are open in a node run, because output does not name its call. */
  readonly #awaiting = new Map<string, ObservedModelCall>();

  /** `onForget` is called for each open call that is forgotten. */
  constructor(limit: number = MAX_OPEN_CALLS, onForget?: () => void) {
    this.#calls = new BoundedMap<ObservedModelCall>(limit, (call) => {
      if (call.isOpen) onForget?.();
      this.#silence(call);
    });
    this.#earlyUsage = new BoundedMap(limit);
  }

  /** Whether a call that is not known may have been forgotten. */
  get hasForgotten(): boolean {
    return this.#calls.evicted;
  }

  /** Returns undefined if the call is already open. */
  start(event: EventOf<"llm_start">, node: string, at: number | undefined): ObservedModelCall | undefined {
    if (this.#calls.get(event.llm_call_id)?.isOpen === true) return undefined;
    const { llm_call_id: id, model, purpose } = event;
    const key = keyOfModelCall(event);
    const isSummary = purpose === "summary";
    return this.#add(id, { key, start: event, model, isSummary, node, startedAt: at, isOpen: true });
  }

  /** Ends a call. Returns undefined if it has already ended. */
  end({ llm_call_id: id, model, purpose }: EventOf<"llm_end">): ObservedModelCall | undefined {
    const known = this.#calls.get(id);
    if (known?.isOpen === false) return undefined;
    const isSummary = purpose === "summary";
    const usage = this.#earlyUsage.get(id);
    this.#earlyUsage.delete(id);
    if (known === undefined) return this.#add(id, { key: id, model, isSummary, node: "", usage, isOpen: false });
    known.usage ??= usage;
    known.isOpen = false;
    this.#silence(known);
    return known;
  }

  /** Returns the call that the event names, if it is known. */
  takeUsage(event: EventOf<"usage">): ObservedModelCall | undefined {
    const { llm_call_id: id } = event;
    if (id === undefined) return undefined;
    const call = this.#calls.get(id);
    if (call === undefined) this.#earlyUsage.set(id, event);
    else call.usage = event;
    return call;
  }

  /** Returns the call whose output a node run records now; undefined if there are several. Called for every token. */
  findSpeaking(node: string): ObservedModelCall | undefined {
    const calls = this.#speaking.get(node);
    return calls?.length === 1 ? calls[0] : undefined;
  }

  /** Returns the call whose first output a node run records now, if there is only one. Called for every token. */
  takeFirstOutput(node: string): ObservedModelCall | undefined {
    if (this.#awaiting.size === 0) return undefined;
    const call = this.#awaiting.get(node);
    this.#awaiting.delete(node);
    return call;
  }

  #add(id: string, call: ObservedModelCall): ObservedModelCall {
    this.#calls.set(id, call);
    if (call.isSummary || !call.isOpen) return call;
    const others = this.#speaking.get(call.node) ?? [];
    this.#speaking.set(call.node, [...others, call]);
    if (others.length === 0) this.#awaiting.set(call.node, call);
    else this.#awaiting.delete(call.node);
    return call;
  }

  #silence(call: ObservedModelCall): void {
    const { node } = call;
    const left = this.#speaking.get(node)?.filter((each) => each !== call) ?? [];
    if (left.length === 0) this.#speaking.delete(node);
    else this.#speaking.set(node, left);
    if (this.#awaiting.get(node) === call) this.#awaiting.delete(node);
  }
}

function keyOfModelCall({ llm_call_id, attempt }: EventOf<"llm_start">): string {
  const end = `.${attempt ?? ""}`;
  return attempt !== undefined && llm_call_id.endsWith(end) ? llm_call_id.slice(0, -end.length) : llm_call_id;
}

export type ToolEvent = EventOf<
  "tool_call_chunk" | "tool_call" | "tool_approval" | "tool_approval_result" | "tool_start" | "tool_end"
>;

export interface ObservedToolCall {
  readonly key: string;
  name: string | undefined;
  /** False while only chunks of its arguments have arrived. If the model stops there, the call is never made. */
  isMade: boolean;
  startedAt?: number | undefined;
  /** Asked for approval and not answered yet. */
  isWaiting: boolean;
  askedAt?: number | undefined;
  /** The last decision, and the time it took. */
  decision?: string | undefined;
  waitMs?: number | undefined;
  isOpen: boolean;
}

/** What an event changed. */
export interface ToolChange {
  readonly call: ObservedToolCall;
  /** The call is made now. False for a call that may have been made before it was forgotten. */
  readonly isNew: boolean;
  /** True for an end after the first one, as of a tool that started again. */
  readonly isRepeated?: boolean;
}

export class ToolCalls {
  readonly #calls: BoundedMap<ObservedToolCall>;
  readonly #keys = new CallKeys();

  /** `onForget` is called for each open call that is forgotten. */
  constructor(limit: number = MAX_OPEN_CALLS, onForget?: () => void) {
    this.#calls = new BoundedMap<ObservedToolCall>(limit, ({ isOpen, isMade }) => {
      if (isOpen && isMade) onForget?.();
    });
  }

  /** Number of approvals without a decision. */
  get waiting(): number {
    let waiting = 0;
    for (const { isWaiting } of this.#calls.values()) if (isWaiting) waiting++;
    return waiting;
  }

  /** Returns undefined if the event changes nothing, as a decision about an unknown call. */
  take(event: ToolEvent, at: number | undefined): ToolChange | undefined {
    switch (event.type) {
      case "tool_call_chunk":
        // The call is known by its ID only; without one, `tool_call` opens it.
        if (event.call_id !== undefined && !this.#calls.has(event.call_id)) this.#open(event.call_id, event.name);
        return undefined;
      case "tool_call":
        return this.#make(this.#keys.keyOf(event, "call"), event);
      case "tool_approval": {
        const change = this.#make(this.#keys.keyOf(event, "before"), event);
        const { call } = change;
        if (call.isWaiting) return undefined;
        call.isWaiting = true;
        call.askedAt = at;
        call.decision = undefined;
        call.waitMs = undefined;
        return change;
      }
      case "tool_approval_result": {
        const call = this.#calls.get(this.#keys.keyOf(event, "before"));
        if (call === undefined) return undefined;
        const { askedAt } = call;
        call.waitMs = askedAt === undefined || at === undefined ? undefined : Math.max(0, at - askedAt);
        call.decision = event.decision;
        call.askedAt = undefined;
        call.isWaiting = false;
        return { call, isNew: false };
      }
      case "tool_start": {
        const change = this.#make(this.#keys.keyOf(event, "start"), event);
        change.call.startedAt ??= at;
        return change;
      }
      case "tool_end":
        return this.#end(this.#keys.keyOf(event, "end"), event);
    }
  }

  #make(key: string, { type, name }: ToolEvent): ToolChange {
    const known = this.#calls.get(key);
    // Only `tool_call` makes an ended call again: a tool that just starts again is still the same call.
    const isSame = known !== undefined && (known.isOpen || (known.isMade && type !== "tool_call"));
    const mayBeForgotten = this.#calls.evicted;
    const call = isSame ? known : this.#open(key, name);
    if (call.isMade) return { call, isNew: false };
    call.isMade = true;
    call.name = name ?? call.name;
    return { call, isNew: type === "tool_call" || known !== undefined || !mayBeForgotten };
  }

  #end(key: string, event: ToolEvent): ToolChange {
    const known = this.#calls.get(key);
    if (known?.isOpen === false) return { call: known, isNew: false, isRepeated: true };
    const change = known === undefined ? this.#make(key, event) : { call: known, isNew: false };
    change.call.isOpen = false;
    change.call.isWaiting = false;
    return change;
  }

  #open(key: string, name: string | undefined): ObservedToolCall {
    const call: ObservedToolCall = { key, name, isMade: false, isWaiting: false, isOpen: true };
    this.#calls.set(key, call);
    return call;
  }
}
