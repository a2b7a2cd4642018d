/**
 * Cuts an expression into numbers, names and symbols. People type in many ways: the signs of a Chinese keyboard and of
 * a schoolbook mean what they look like. Positions are those of the text as it was given.
 */
import { ExpressionFault } from "./expression-fault.ts";

export interface Token {
  readonly kind: "number" | "name" | "symbol" | "end";
  /** A number without its underscores; a name in small letters. */
  readonly text: string;
  readonly at: number;
}

/** Signs with another spelling; those of full width (U+FF01 to U+FF5E) are brought down by their distance. */
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

export function tokenize(text: string): readonly Token[] {
  const source = respell(text);
  const tokens: Token[] = [];
  for (let at = 0; at < source.length;) {
    if (/\s/.test(source.charAt(at))) {
      at++;
      continue;
    }
    const token = readToken(source, at);
    if (token === undefined) {
      const sign = String.fromCodePoint(text.codePointAt(at) as number);
      throw new ExpressionFault(`\`${sign}\` has no meaning here`, at);
    }
    tokens.push(token.token);
    at = token.end;
  }
  tokens.push({ kind: "end", text: "", at: source.length });
  return tokens;
}

/** One sign for each sign of the text, so that positions stay. */
function respell(text: string): string {
  let source = "";
  for (let at = 0; at < text.length; at++) {
    const sign = text.charAt(at);
    const code = text.charCodeAt(at);
    const isWide = code >= 0xff01 && code <= 0xff5e;
    source += SPELLINGS[sign] ?? (isWide ? String.fromCharCode(code - FULL_WIDTH) : sign);
  }
  return source;
}

function readToken(source: string, at: number): { readonly token: Token; readonly end: number } | undefined {
  const number = matchAt(NUMBER, source, at);
  // The pattern would take an exponent or a point alone.
  if (/^\.?[0-9]/.test(number)) {
    const end = at + number.length;
    if (source.charAt(end) === "_" || /^[0-9]/.test(source.slice(end, end + 1)))
      throw new ExpressionFault("underscores stand between two digits of a number", end);
    if (source.charAt(end) === ".") throw new ExpressionFault("a number has one decimal point", end);
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
