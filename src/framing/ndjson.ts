/**
 * NDJSON: one frame per line. The decoder does not check whether a line is JSON.
 *
 * Senders write no blank lines; received ones are skipped but counted. Spaces and tabs before a frame are dropped: a server
 * sends a space as a heartbeat, and an idle stream may collect many. A last line without a newline is a frame, because files often end that way; if
 * it was cut off, it is not valid JSON and the next layer reports it.
 */
import type { FrameDecoder, FrameOutcome, FramingOptions } from "./frame.ts";
import { LineSplitter } from "./line-splitter.ts";

/**
 * Creates a decoder for NDJSON. Skips blank lines, and reports lines that cannot be read as outcomes. Throws a TypeError
 * if `maxLineBytes` is not a positive integer.
 *
 * ```ts
 * for await (const frames of readFrames(response.body, createNdjsonDecoder())) console.log(frames);
 * ```
 */
export function createNdjsonDecoder(options: FramingOptions = {}): FrameDecoder {
  let batch: FrameOutcome[] = [];
  const lines = new LineSplitter(
    {
      ignoresIndent: true,
      line(given, line) {
        const text = dropIndent(given);
        if (text !== "") batch.push({ ok: true, text, line });
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
 * Encodes one line. `json` must be on a single line, as JSON.stringify returns it without indentation. Throws a
 * TypeError if it contains a line break, which would split the frame.
 *
 * ```ts
 * response.write(encodeNdjson(JSON.stringify(frame)));
 * ```
 */
export function encodeNdjson(json: string): string {
  if (json.includes("\n") || json.includes("\r")) {
    throw new TypeError("NDJSON frames must be on a single line; do not indent the JSON");
  }
  return `${json}\n`;
}

/** Removes spaces and tabs at the start. Most lines start with a brace, so the first character decides. */
function dropIndent(text: string): string {
  return text.charCodeAt(0) > 0x20 ? text : text.replace(/^[ \t]+/, "");
}
