/** A frame as people read it: laid out in lines, and cut into tokens that can be coloured. */

export type JsonTokenKind = "key" | "string" | "number" | "word" | "plain";

export interface JsonToken {
  readonly kind: JsonTokenKind;
  readonly text: string;
}

/** Longer ones are shown in part: a browser lays out every character, seen or not. */
const MAX_SHOWN = 100_000;

export interface ShownJson {
  readonly tokens: readonly JsonToken[];
  /** Characters that are not shown. */
  readonly hidden: number;
}

/** In lines where it is JSON, else as it is. */
export function layOutJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*)|(true|false|null)/g;

/** Joined again the tokens are the text, as far as it is shown. */
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
