/** A frame or record on its way in, with its number. */
import type { FrameNumber } from "../../dialects/frame-traits.ts";
import type { EventRecord, JsonObject } from "../../protocol/index.ts";
import type { Numbered } from "./sequence.ts";

/** A received frame, or a record decoded elsewhere, with its number. */
export interface IncomingFrame extends Numbered {
  readonly text: string;
  readonly frame: JsonObject | undefined;
  readonly record: EventRecord | undefined;
  readonly cursor: string | undefined;
}

/** Size of a record, an estimate; the number of held records is limited too. */
const RECORD_SIZE = 256;

export function createIncomingFrame(
  { number, previous, fingerprint, contiguous }: FrameNumber,
  text: string,
  frame?: JsonObject,
  cursor?: string,
  record?: EventRecord,
): IncomingFrame {
  const size = record === undefined ? text.length : RECORD_SIZE;
  return { number, previous, fingerprint, contiguous, size, text, frame, record, cursor };
}
