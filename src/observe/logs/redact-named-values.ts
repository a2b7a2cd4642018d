/**
 * Redacts values that follow the name of a secret in a text: `password=…`, `"token": "…"`, `Cookie: …`, and in lists
 * and forms `["token", "…"]`, `"name": "token", "value": "…"`. The cost is linear: each `:`, `=` and `,` is examined
 * once, with a limited number of characters before it.
 */
import type { SecretNames } from "./secret-names.ts";

const MAX_NAME = 64;
/** Words before a name that may be part of it, as in `API key`. */
const MAX_WORDS = 2;
const MAX_MARKS = 8;

const SEPARATOR = /[:：=,]/g;
const NAME_CHARACTER = /[\p{L}\p{N}_.-]/u;
const QUOTATION = /["'\\]/;
const SPACE = /\s/;
/** Headers whose value is the rest of the line. */
const HEADER = /^(?:proxy-)?authorization$|^(?:set-)?cookie2?$/i;

const LINE = /[^\r\n]+/y;
/** A value in quotation marks (also escaped ones of nested JSON), in brackets, or up to the end of the word. */
const VALUE =
  /(\\{1,3})(["'])[^]*?(?:(?<!\\)\1\2|$)|"(?:[^"\\]|\\[^])*"?|'(?:[^'\\]|\\[^])*'?|\[[^\]]*\]?|\{[^}]*\}?|[^\s"',;&{}[\]，。；][^\s"',;&}\]，。；]*/y;
const KEY_LIKE = /\\{0,3}["']?[A-Za-z0-9+/_=.-]{16,}/y;
/** Text between a name and its value if both are JSON values. */
const FORM = /(?:["'\\]{1,4}(?:value|val|content|data|text)s?["'\\]{1,4}\s{0,8}:\s{0,8})?/iy;
const NUMBER = /\d{1,15}(?![\p{L}\p{N}_-])/uy;

interface FoundName {
  readonly name: string;
  /** The name with the words before it, and without the part before a dot. */
  readonly longer: readonly string[];
  readonly isQuoted: boolean;
  /** In quotation marks on both sides. */
  readonly isText: boolean;
}

/** Returns the text with each named secret replaced by `redacted`. */
export function redactNamedValues(text: string, names: SecretNames, redacted: string): string {
  let safe = "";
  let done = 0;
  for (let at = findNext(text, 0); at !== -1; at = findNext(text, at)) {
    const found = readNameBefore(text, at, done);
    at++;
    if (found === undefined) continue;
    let start = skip(text, text.charAt(at) === ">" ? at + 1 : at, SPACE);
    if (text.charAt(at - 1) === ",") {
      start = matchAt(FORM, text, start);
      if (!found.isText || !/["'\\[]/.test(text.charAt(start))) continue;
    }
    const end = findSecretEnd(text, start, found, names);
    if (end <= start) continue;
    safe += text.slice(done, start) + redacted;
    done = at = end;
  }
  return safe + text.slice(done);
}

function findNext(text: string, from: number): number {
  SEPARATOR.lastIndex = from;
  return SEPARATOR.exec(text)?.index ?? -1;
}

/** Returns the end of the secret that starts here, or `start` if there is none. */
function findSecretEnd(text: string, start: number, found: FoundName, names: SecretNames): number {
  const { name, longer, isQuoted } = found;
  const isNamed = isQuoted
    ? names.isSecret(name)
    : names.isSecretInText(name) || longer.some((all) => names.endsWithSecretName(all));
  if (!isNamed) return names.isAmbiguous(name) ? matchAt(KEY_LIKE, text, start) : start;
  if (!isQuoted && HEADER.test(name)) return matchAt(LINE, text, start);
  // `"token": 5` and `tokens: 5` are counts.
  const isCount = (isQuoted || /tokens$/i.test(name)) && !names.isSecret(name, 0);
  return isCount && matchAt(NUMBER, text, start) > start ? start : matchAt(VALUE, text, start);
}

function readNameBefore(text: string, separator: number, from: number): FoundName | undefined {
  let end = skipBack(text, separator, from, SPACE, MAX_MARKS);
  const unquoted = skipBack(text, end, from, QUOTATION, MAX_MARKS);
  const isQuoted = unquoted < end;
  end = unquoted;
  let start = skipBack(text, end, from, NAME_CHARACTER, MAX_NAME);
  if (start === end) return undefined;
  const name = text.slice(start, end);
  const isText = isQuoted && QUOTATION.test(text.charAt(start - 1));
  const longer: string[] = name.includes(".") ? [name.slice(name.lastIndexOf(".") + 1)] : [];
  const max = isQuoted ? 0 : MAX_WORDS;
  for (let words = 0; words < max && text.charAt(start - 1) === " "; words++) {
    const before = skipBack(text, start - 1, from, NAME_CHARACTER, MAX_NAME);
    if (before === start - 1) break;
    start = before;
    longer.push(text.slice(start, end));
  }
  return { name, longer, isQuoted, isText };
}

function skipBack(text: string, end: number, from: number, pattern: RegExp, max: number): number {
  let start = end;
  while (start > from && end - start < max && pattern.test(text.charAt(start - 1))) start--;
  return start;
}

function skip(text: string, from: number, pattern: RegExp): number {
  let at = from;
  while (at - from < MAX_MARKS && at < text.length && pattern.test(text.charAt(at))) at++;
  return at;
}

function matchAt(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}
