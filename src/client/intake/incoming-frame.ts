/** A frame or record on its way in, with its number. */
import { type FrameNumber, numberRecord } from "../../dialects/frame-traits.ts";
import type { EventRecord, JsonObject } from "../../protocol/index.ts";
import type { Numbered } from "./sequence.ts";

/** A received frame, or a record decoded elsewhere, with its number. */
export interface IncomingFrame extends Numbered {
  readonly text: string;
  readonly frame: JsonObject | undefined;
  readonly record: EventRecord | undefined;
  readonly cursor: string | undefined;
}

export function createIncomingFrame(
  { number, previous, fingerprint, contiguous }: FrameNumber,
  frame: JsonObject,
  text: string,
  cursor: string | undefined,
): IncomingFrame {
  const size = text.length;
  return { number, previous, fingerprint, contiguous, size, text, frame, record: undefined, cursor };
}

/** Returns undefined if the record has no number. */
export function createIncomingRecord(record: EventRecord): IncomingFrame | undefined {
  const found = numberRecord(record);
  if (found === undefined) return undefined;
  const { number, previous, fingerprint, contiguous } = found;
  // An estimate; the number of held records is limited too.
  const size = 256;
  return { number, previous, fingerprint, contiguous, size, text: "", frame: undefined, record, cursor: undefined };
}
