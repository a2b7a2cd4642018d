/**
 * The tool calls of one run that are not over yet, for dialects that show a call only when its tool starts: what it was
 * called with is remembered until then.
 */
import { type CallFrame, CallKeys, type JsonObject, type StampedEnvelope } from "../protocol/index.ts";

export interface OpenCall {
  readonly id: string;
  readonly name: string;
  arguments: JsonObject;
  description: string | undefined;
  /** The receiver knows of it. */
  shown: boolean;
}

const MAX_OPEN_CALLS = 10_000;

export class OpenCalls {
  readonly #calls = new Map<string, OpenCall>();
  readonly #keys = new CallKeys();

  /** The call a frame is about; `phase` says what becomes of it. */
  get(event: CallFrame, { event_id }: StampedEnvelope, phase: Parameters<CallKeys["keyOf"]>[1]): OpenCall {
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
