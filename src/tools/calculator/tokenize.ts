/**
 * Splits an expression into numbers, names and symbols. Accepts Chinese punctuation, full-width characters and
 * mathematical signs. Positions refer to the original text.
 */
import { ExpressionError } from "./expression-error.ts";

export interface ExpressionToken {
  readonly kind: "number" | "name" | "symbol" | "end";
  /** Numbers without underscores, names in lower case. */
  readonly text: string;
  readonly at: number;
}

/** Alternative characters. Full-width ones (U+FF01 to U+FF5E) are converted by their offset to ASCII. */
const SPELLINGS: { readonly [sign: string]: string } = {
  "×": "*",
  "∗": "*",
  "⋅": "*",
  "·": "*",
  "÷": "/",
  "∕": "/",
  "−": "-",
  "–": "-",
  "。": ".",
  "，": ",",
  "、": ",",
  "【": "(",
  "】": ")",
  "\u3000": " ",
  "\u00a0": " ",
  π: "π",
  "√": "√",
};
const FULL_WIDTH = 0xff01 - 0x21;
const NUMBER = /(?:[0-9](?:_?[0-9])*)?(?:\.(?:[0-9](?:_?[0-9])*)?)?(?:[eE][+-]?[0-9]+)?/y;
const NAME = /[a-z][a-z0-9_]*/iy;
const SYMBOLS = ["**", "+", "-", "*", "/", "%", "^", "!", "(", ")", ",", "π", "√"];

export function tokenize(text: string): readonly ExpressionToken[] {
  const source = normalizeSymbols(text);
  const tokens: ExpressionToken[] = [];
  for (let at = 0; at < source.length;) {
    if (/\s/.test(source.charAt(at))) {
      at++;
      continue;
    }
    const token = readToken(source, at);
    if (token === undefined) {
      const sign = String.fromCodePoint(text.codePointAt(at) as number);
      throw new ExpressionError(`unexpected character \`${sign}\``, at);
    }
    tokens.push(token.token);
    at = token.end;
  }
  tokens.push({ kind: "end", text: "", at: source.length });
  return tokens;
}

/** Replaces characters one by one, so that positions stay the same. */
function normalizeSymbols(text: string): string {
  let source = "";
  for (let at = 0; at < text.length; at++) {
    const sign = text.charAt(at);
    const code = text.charCodeAt(at);
    const isWide = code >= 0xff01 && code <= 0xff5e;
    source += SPELLINGS[sign] ?? (isWide ? String.fromCharCode(code - FULL_WIDTH) : sign);
  }
  return source;
}

function readToken(source: string, at: number): { readonly token: ExpressionToken; readonly end: number } | undefined {
  const number = matchAt(NUMBER, source, at);
  // The pattern also matches an exponent or a point alone.
  if (/^\.?[0-9]/.test(number)) {
    const end = at + number.length;
    if (source.charAt(end) === "_" || /^[0-9]/.test(source.slice(end, end + 1)))
      throw new ExpressionError("underscores are only allowed between two digits", end);
    if (source.charAt(end) === ".") throw new ExpressionError("a number can have only one decimal point", end);
    return { token: { kind: "number", text: number.replaceAll("_", ""), at }, end };
  }
  const name = matchAt(NAME, source, at);
  if (name !== "") return { token: { kind: "name", text: name.toLowerCase(), at }, end: at + name.length };
  const symbol = SYMBOLS.find((one) => source.startsWith(one, at));
  return symbol === undefined
    ? undefined
    : { token: { kind: "symbol", text: symbol === "**" ? "^" : symbol, at }, end: at + symbol.length };
}

function matchAt(pattern: RegExp, source: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0] ?? "";
}
