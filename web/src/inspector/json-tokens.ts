/** Formats JSON and splits it into tokens for highlighting. */

export type JsonTokenKind = "key" | "string" | "number" | "word" | "plain";

export interface JsonToken {
  readonly kind: JsonTokenKind;
  readonly text: string;
}

/** Browsers lay out every character, visible or not. */
const MAX_SHOWN = 100_000;

export interface ShownJson {
  readonly tokens: readonly JsonToken[];
  /** Number of characters that are not shown. */
  readonly hidden: number;
}

/** Returns indented JSON, or the text itself if it is not JSON. */
export function layOutJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*)|(true|false|null)/g;

/** Splits the text into tokens. Joined, they are the first `limit` characters. */
export function readJsonTokens(text: string, limit: number = MAX_SHOWN): ShownJson {
  const shown = text.slice(0, limit);
  const tokens: JsonToken[] = [];
  let at = 0;
  const put = (kind: JsonTokenKind, part: string): void => {
    if (part !== "") tokens.push({ kind, text: part });
    at += part.length;
  };
  for (const { index, 0: whole, 1: quoted, 2: colon, 3: number } of shown.matchAll(TOKEN)) {
    put("plain", shown.slice(at, index));
    if (quoted === undefined) put(number === undefined ? "word" : "number", whole);
    else {
      put(colon === undefined ? "string" : "key", quoted);
      put("plain", colon ?? "");
    }
  }
  put("plain", shown.slice(at));
  return { tokens, hidden: text.length - shown.length };
}
