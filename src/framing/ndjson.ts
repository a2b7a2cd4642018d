/**
 * NDJSON: one frame per line. Whether a line is JSON is for the reader of the frame to say.
 *
 * Lines of nothing but blanks are skipped, yet counted. A last line without a newline is a frame: files end so,
 * and one that was cut short is not JSON any more, which its reader will notice.
 */
import type { FrameDecoder, FrameOutcome, FramingOptions } from "./frame.ts";
import { LineSplitter } from "./lines.ts";

export function createNdjsonDecoder(options: FramingOptions = {}): FrameDecoder {
  let batch: FrameOutcome[] = [];
  const lines = new LineSplitter(
    {
      line(text, line) {
        if (!isBlank(text)) batch.push({ ok: true, text, line });
      },
      fault(reason, line, detail) {
        batch.push({ ok: false, reason, line, detail });
      },
    },
    options,
  );
  const takeBatch = (): FrameOutcome[] => {
    const full = batch;
    batch = [];
    return full;
  };
  return {
    push(chunk) {
      lines.push(chunk);
      return takeBatch();
    },
    end() {
      lines.end();
      return takeBatch();
    },
  };
}

/**
 * One line of NDJSON. `json` must be JSON on a single line, as JSON.stringify writes it without an indent: inside
 * JSON a raw line break can only be layout, and here it would cut the frame in two, so it throws a TypeError.
 */
export function encodeNdjson(json: string): string {
  if (json.includes("\n") || json.includes("\r")) {
    throw new TypeError("NDJSON needs its JSON on a single line");
  }
  return `${json}\n`;
}

/** The blanks JSON allows around a value. Most lines start with a brace and are told by their first character. */
function isBlank(text: string): boolean {
  return !(text.charCodeAt(0) > 0x20) && /^[ \t]*$/.test(text);
}

const encoder = new TextEncoder();

/** Many frames as bytes in one go: one conversion for the batch costs far less than one per frame. */
export function encodeNdjsonBatch(texts: readonly string[]): Uint8Array {
  let batch = "";
  for (const text of texts) batch += `${text}\n`;
  return encoder.encode(batch);
}
