/**
 * Recognizes the reply that ends a failed or cancelled run in strict form (`closing-reply-writer.ts`): it has no event ID
 * and follows a `run_end` that is wrapped in a `custom` event. It is not a record, so decoders drop it.
 */
import { BoundedMap } from "../protocol/bounded-map.ts";
import type { JsonObject } from "../protocol/json.ts";
import { isTerminal } from "../protocol/record.ts";
import type { Decoded } from "./dialect.ts";

const MAX_SESSIONS = 1000;

/** Tracks the sessions of one stream whose last frame was the wrapped `run_end` of a run that did not complete. */
export class ClosingReplyFilter {
  readonly #ended = new BoundedMap<true>(MAX_SESSIONS);

  /** True if the frame is such a reply. A repeated one is too, until another frame of its session follows. */
  matches(frame: JsonObject): boolean {
    if (this.#ended.size === 0 || !this.#ended.has(keyOf(frame))) return false;
    return typeof frame["reply"] === "string" && frame["type"] == null && frame["event_id"] == null;
  }

  /** Adds the next frame with its records. */
  add(frame: JsonObject, { records }: Decoded, isWrapped: boolean): void {
    const event = isWrapped ? records[0]?.event : undefined;
    if (event?.type === "run_end" && isTerminal(event)) this.#ended.set(keyOf(frame), true);
    else if (this.#ended.size > 0) this.#ended.delete(keyOf(frame));
  }
}

function keyOf({ session_id }: JsonObject): string {
  return typeof session_id === "string" ? session_id : "";
}
