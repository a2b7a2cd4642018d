/**
 * Detects the framing of a stream from its first bytes, for sources without a content type such as files and pipes.
 * Only the first line that is not blank is checked.
 */

/** How frames are separated: one JSON text per line, or server-sent events. */
export type Framing = "ndjson" | "sse";

// Latin-1 has one character per byte, so an incomplete UTF-8 character at the end is harmless.
const decoder = new TextDecoder("latin1");

// A BOM read as Latin-1, then blank lines. JSON may be indented; an SSE field may not.
const FIRST_LINE =
  /^(?:\u00EF\u00BB\u00BF)?(?:[ \t]*[\r\n])*(?:(?<ndjson>[ \t]*[{["])|(?<sse>(?:data|event|id|retry)?:))/;

/** Returns the framing, or undefined if the bytes so far match neither. */
export function detectFraming(firstBytes: Uint8Array): Framing | undefined {
  const groups = FIRST_LINE.exec(decoder.decode(firstBytes))?.groups;
  if (groups?.["ndjson"] !== undefined) return "ndjson";
  return groups?.["sse"] === undefined ? undefined : "sse";
}
