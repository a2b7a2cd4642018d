/**
 * The framing interface: bytes in, frames out. A frame is a text and its position in the stream; framing does not
 * interpret the text.
 *
 * Invariant: the outcomes depend only on the bytes of the stream, not on how they are split into chunks.
 */

/** Why bytes could not be read as a frame. */
export type FramingFault = "line_too_long" | "invalid_utf8" | "unfinished_event";

/** A frame, or the reason why there is none. `line` is counted from 1. */
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

/** Decodes one stream. Does not keep a reference to a chunk after `push` returns. */
export interface FrameDecoder {
  /** Returns the frames that the chunk completes. */
  push(chunk: Uint8Array): FrameOutcome[];
  /** Returns the remaining frames. Call it once, at the end of the stream. */
  end(): FrameOutcome[];
}

/** Limits of a frame decoder. */
export interface FramingOptions {
  /**
   * Maximum length of a line, and of the data of one SSE event, in UTF-8 bytes without the line end. Default: 8 MiB.
   */
  readonly maxLineBytes?: number;
}

/** Enough for an event of 1 MiB in every dialect, including escapes. */
export const DEFAULT_MAX_LINE_BYTES = 8 * 1024 * 1024;

/** Returns the line limit. Throws a TypeError if it is not a positive integer. */
export function resolveMaxLineBytes(options: FramingOptions): number {
  const limit = options.maxLineBytes ?? DEFAULT_MAX_LINE_BYTES;
  if (!Number.isSafeInteger(limit) || limit < 1) {
    throw new TypeError(`maxLineBytes must be a positive integer, not ${limit}`);
  }
  return limit;
}
