/**
 * The tool calls of one run that are not over yet, for dialects that show a call only when its tool starts: what it was
 * called with is remembered until then. Frames without a call id are matched by tool name.
 */
import type { JsonObject, StampedEnvelope } from "../protocol/index.ts";

export interface OpenCall {
  readonly id: string;
  readonly name: string;
  arguments: JsonObject;
  description: string | undefined;
  /** The receiver knows of it. */
  shown: boolean;
}

interface CallEvent {
  readonly call_id?: string;
  readonly name?: string;
}

const MAX_OPEN_CALLS = 10_000;

export class OpenCalls {
  readonly #calls = new Map<string, OpenCall>();

  get(event: CallEvent, { event_id }: StampedEnvelope): OpenCall {
    const key = keyOf(event);
    const known = this.#calls.get(key);
    if (known !== undefined) return known;
    const call = {
      id: event.call_id ?? `call-${event_id}`,
      name: event.name ?? "unknown",
      arguments: {},
      description: undefined,
      shown: false,
    };
    if (this.#calls.size < MAX_OPEN_CALLS) this.#calls.set(key, call);
    return call;
  }

  end(event: CallEvent): void {
    this.#calls.delete(keyOf(event));
  }
}

function keyOf({ call_id, name }: CallEvent): string {
  return call_id ?? `name:${name ?? ""}`;
}
