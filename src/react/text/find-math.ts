/**
 * Where mathematics begins in a text, and where it ends: `$…$`, `$$…$$`, `\(…\)`, `\[…\]`. It knows no renderer.
 *
 * Money is no mathematics: a `$` opens only before something that is no space, and closes only after something that is
 * no space and before no letter or digit. Nothing crosses an empty line, so what comes later never changes a paragraph.
 */
export interface FoundMath {
  /** With its marks. */
  readonly raw: string;
  readonly source: string;
  readonly isBlock: boolean;
}

/** What is longer than this is no formula; it also bounds what an unclosed mark makes us look through. */
const LONGEST = 2000;

const EMPTY_LINE = /\n[ \t]*\n/;

/** Mathematics at the very beginning of `text`, which stands right behind `before`. */
export function findMath(text: string, before = ""): FoundMath | undefined {
  if (text.startsWith("$$")) return findClosed(text, "$$", "$$", true);
  if (text.startsWith("\\[")) return findClosed(text, "\\[", "\\]", true);
  if (text.startsWith("\\(")) return findClosed(text, "\\(", "\\)", false);
  return text.startsWith("$") && !/[\w$\\]/.test(before.at(-1) ?? "") ? findDollars(text) : undefined;
}

/** Mathematics that fills its lines, at the beginning of `text`. */
export function findMathBlock(text: string): FoundMath | undefined {
  const indent = /^ {0,3}(?=\$\$|\\\[)/.exec(text)?.[0];
  if (indent === undefined) return undefined;
  const found = findMath(text.slice(indent.length, indent.length + LONGEST));
  if (found === undefined) return undefined;
  const length = indent.length + found.raw.length;
  const after = /^[ \t]*(?:\n|$)/.exec(text.slice(length, length + 100))?.[0];
  return after === undefined ? undefined : { ...found, raw: text.slice(0, length + after.length) };
}

/** Where such a block may begin within a paragraph, behind its first character. */
export function findMathStart(text: string): number | undefined {
  const empty = text.search(EMPTY_LINE);
  const paragraph = empty === -1 ? text : text.slice(0, empty);
  const at = paragraph.search(/\n {0,3}(?:\$\$|\\\[)/);
  return at === -1 ? undefined : at + 1;
}

/** The same text with every formula blanked out: what stands in it is no Markdown. */
export function maskMath(text: string): string {
  if (!/\$|\\[([]/.test(text)) return text;
  let masked = "";
  let done = 0;
  for (const { index } of text.matchAll(/\$+|\\[([]/g)) {
    if (index < done) continue;
    const found = findMath(text.slice(index, index + LONGEST), text.slice(Math.max(0, index - 1), index));
    if (found === undefined) continue;
    masked += text.slice(done, index) + "a".repeat(found.raw.length);
    done = index + found.raw.length;
  }
  return masked + text.slice(done);
}

function findClosed(text: string, open: string, close: string, isBlock: boolean): FoundMath | undefined {
  const end = text.slice(0, LONGEST).indexOf(close, open.length);
  if (end === -1) return undefined;
  const source = text.slice(open.length, end);
  if (source.trim() === "" || EMPTY_LINE.test(source)) return undefined;
  return { raw: text.slice(0, end + close.length), source: source.trim(), isBlock };
}

function findDollars(text: string): FoundMath | undefined {
  const [raw, source] = /^\$((?:\\[^\n]|[^\\$\n]|\n(?![ \t]*\n))+)\$(?![\w$])/.exec(text.slice(0, LONGEST)) ?? [];
  if (raw === undefined || source === undefined || /^\s|\s$/.test(source)) return undefined;
  // "$5 off (US$)": an amount and words behind it, and nothing that is written in formulas alone.
  if (/^\d[\d.,]*\s/.test(source) && !/[\\^_=<>+{}]/.test(source)) return undefined;
  return { raw, source, isBlock: false };
}
