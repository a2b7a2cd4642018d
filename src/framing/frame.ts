/**
 * The contract of a framing: bytes in, frames out.
 *
 * A frame is one text with where it stood in the stream. Nothing here knows what the text means.
 * Invariant: the outcomes of a stream depend on its bytes alone, never on how they were cut into chunks.
 */

/** Why some bytes did not become a frame. */
export type FramingFault = "line_too_long" | "invalid_utf8" | "unfinished_event";

/** A frame, or the named reason why there is none. `line` counts from 1. */
export type FrameOutcome =
  | {
      readonly ok: true;
      readonly text: string;
      readonly line: number;
      readonly id?: string;
      readonly event?: string;
      readonly retry?: number;
    }
  | {
      readonly ok: false;
      readonly reason: FramingFault;
      readonly line: number;
      readonly detail: string;
    };

/** Reads one stream. Keeps no reference to a chunk once `push` has returned. */
export interface FrameDecoder {
  push(chunk: Uint8Array): FrameOutcome[];
  /** Call once, when the source has ended: gives what was still held back. */
  end(): FrameOutcome[];
}

export interface FramingOptions {
  /** The longest line, and the longest data of one SSE event, in bytes of UTF-8 without the line end. */
  readonly maxLineBytes?: number;
}

/** Room for an event of 1 MiB in any dialect, escaped, with a wide margin. */
export const DEFAULT_MAX_LINE_BYTES = 8 * 1024 * 1024;

/** The limit to hold. A limit that cannot work is the programmer's error, so it throws. */
export function resolveMaxLineBytes(options: FramingOptions): number {
  const limit = options.maxLineBytes ?? DEFAULT_MAX_LINE_BYTES;
  if (!Number.isSafeInteger(limit) || limit < 1) {
    throw new TypeError(`maxLineBytes must be a positive integer, not ${limit}`);
  }
  return limit;
}
