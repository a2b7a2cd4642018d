/**
 * Tells the framing of a stream from its first bytes, for sources that carry no content type: files, pipes.
 *
 * Only the first line that is not blank is looked at, and a guess is never made: undefined means "not yet, or neither".
 */

export type Framing = "ndjson" | "sse";

// Latin-1 keeps one character per byte, so a character cut at the end of the bytes cannot disturb the rest.
const decoder = new TextDecoder("latin1");

// The BOM as Latin-1, then blank lines. JSON may be indented; an SSE field may not.
const FIRST_LINE =
  /^(?:\u00EF\u00BB\u00BF)?(?:[ \t]*[\r\n])*(?:(?<ndjson>[ \t]*[{["])|(?<sse>(?:data|event|id|retry)?:))/;

export function detectFraming(firstBytes: Uint8Array): Framing | undefined {
  const groups = FIRST_LINE.exec(decoder.decode(firstBytes))?.groups;
  if (groups?.["ndjson"] !== undefined) return "ndjson";
  return groups?.["sse"] === undefined ? undefined : "sse";
}
