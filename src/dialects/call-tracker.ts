/** Tracks the unfinished tool calls of one run, for dialects that show a call only when its tool starts. */
import type { JsonObject } from "../protocol/index.ts";
import { type CallFrame, CallKeys } from "../protocol/call-keys.ts";
import type { StampedEnvelope } from "../protocol/record.ts";

/** An unfinished tool call. */
export interface TrackedCall {
  readonly id: string;
  readonly name: string;
  arguments: JsonObject;
  description: string | undefined;
  /** True once a frame for the call was sent. */
  shown: boolean;
}

const MAX_OPEN_CALLS = 10_000;

export class CallTracker {
  readonly #calls = new Map<string, TrackedCall>();
  readonly #keys = new CallKeys();

  /** Returns the call that a frame belongs to. `phase` is the kind of frame. */
  get(event: CallFrame, { event_id }: StampedEnvelope, phase: Parameters<CallKeys["keyOf"]>[1]): TrackedCall {
    const key = this.#keys.keyOf(event, phase);
    const known = this.#calls.get(key);
    if (phase === "end") this.#calls.delete(key);
    if (known !== undefined) return known;
    const call = {
      id: event.call_id ?? `call-${event_id}`,
      name: event.name ?? "unknown",
      arguments: {},
      description: undefined,
      shown: false,
    };
    if (phase !== "end" && this.#calls.size < MAX_OPEN_CALLS) this.#calls.set(key, call);
    return call;
  }
}
