/** Sources of frames, and a frame or record on its way in, with its number. */
import { type FrameNumber, readText } from "../../dialects/frame-traits.ts";
import type { EventRecord, JsonObject } from "../../protocol/index.ts";
import type { FeedPhase } from "./derive-state.ts";
import type { Numbered } from "./sequence.ts";

/** An input of the session's frames. */
export interface FrameSource {
  readonly phase: FeedPhase;
  /** The application source it belongs to, or itself. */
  readonly owner: object;
  /** Called when frames are held because earlier ones are missing, and when the session may have earlier frames. */
  onMissing: (() => void) | undefined;
  /** Called when too many frames would have to be held. Everything after `position` must be sent again. */
  onOverflow: (() => void) | undefined;
}

/** A received frame, or a record decoded elsewhere, with its number. */
export interface IncomingFrame extends Numbered {
  readonly text: string;
  readonly frame: JsonObject | undefined;
  readonly record: EventRecord | undefined;
  readonly cursor: string | undefined;
  readonly runId: string | undefined;
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
  const runId = record?.envelope.run_id ?? readText(frame?.["run_id"]);
  return { number, previous, fingerprint, contiguous, size, text, frame, record, cursor, runId };
}
