/**
 * Finds math in Markdown: `$…$`, `$$…$$`, `\(…\)`, `\[…\]`.
 *
 * Amounts of money are not math: an opening `$` must not be followed by a space, and a closing `$` must not follow a
 * space or precede a letter or digit. Math never spans an empty line, so later text cannot change a finished paragraph.
 */
export interface FoundMath {
  /** Including the delimiters. */
  readonly raw: string;
  readonly source: string;
  readonly isBlock: boolean;
}

/** Longer text is not treated as a formula; this also limits the search after an unclosed delimiter. */
const MAX_LENGTH = 2000;

const EMPTY_LINE = /\n[ \t]*\n/;

/** Finds math at the start of `text`; `before` is the text in front of it. */
export function findMath(text: string, before = ""): FoundMath | undefined {
  if (text.startsWith("$$")) return findClosed(text, "$$", "$$", true);
  if (text.startsWith("\\[")) return findClosed(text, "\\[", "\\]", true);
  if (text.startsWith("\\(")) return findClosed(text, "\\(", "\\)", false);
  return text.startsWith("$") && !/[\w$\\]/.test(before.at(-1) ?? "") ? findDollars(text) : undefined;
}

/** Finds math that fills whole lines at the start of `text`. */
export function findMathBlock(text: string): FoundMath | undefined {
  const indent = /^ {0,3}(?=\$\$|\\\[)/.exec(text)?.[0];
  if (indent === undefined) return undefined;
  const found = findMath(text.slice(indent.length, indent.length + MAX_LENGTH));
  if (found === undefined) return undefined;
  const length = indent.length + found.raw.length;
  const after = /^[ \t]*(?:\n|$)/.exec(text.slice(length, length + 100))?.[0];
  return after === undefined ? undefined : { ...found, raw: text.slice(0, length + after.length) };
}

/** Returns the offset of a possible math block within a paragraph, after its first character. */
export function findMathStart(text: string): number | undefined {
  const empty = text.search(EMPTY_LINE);
  const paragraph = empty === -1 ? text : text.slice(0, empty);
  const at = paragraph.search(/\n {0,3}(?:\$\$|\\\[)/);
  return at === -1 ? undefined : at + 1;
}

/** Masks every formula, so that its content is not read as Markdown. */
export function maskMath(text: string): string {
  if (!/\$|\\[([]/.test(text)) return text;
  let masked = "";
  let done = 0;
  for (const { index } of text.matchAll(/\$+|\\[([]/g)) {
    if (index < done) continue;
    const found = findMath(text.slice(index, index + MAX_LENGTH), text.slice(Math.max(0, index - 1), index));
    if (found === undefined) continue;
    masked += text.slice(done, index) + "a".repeat(found.raw.length);
    done = index + found.raw.length;
  }
  return masked + text.slice(done);
}

/** After this many characters, text after a single `$` is no longer taken for the start of a formula. */
const MAX_OPEN = 120;

/**
 * Returns the offset of a formula at the end of incomplete text that has begun but not ended, so that its source is not
 * shown while it arrives. Returns undefined if there is none, and for amounts of money.
 */
export function findOpenMath(text: string): number | undefined {
  let done = text.lastIndexOf("\n\n") + 1;
  for (const { 0: marks, index } of text.matchAll(/`+|\\[\s\S]|\$+/g)) {
    if (index < done) continue;
    done = index + marks.length;
    if (marks.startsWith("`")) {
      const end = text.indexOf(marks, done);
      if (end === -1) return undefined;
      done = end + marks.length;
    } else if (/^(?:\$|\\[([])/.test(marks)) {
      const found = findMath(text.slice(index, index + MAX_LENGTH), text.slice(Math.max(0, index - 1), index));
      if (found !== undefined) done = index + found.raw.length;
      else if (isOpenMath(text, index)) return index;
    }
  }
  return undefined;
}

function isOpenMath(text: string, at: number): boolean {
  const rest = text.slice(at);
  if (rest.length > MAX_LENGTH) return false;
  if (!rest.startsWith("$") || rest.startsWith("$$")) return true;
  // A name, as in `US$`, or an amount.
  if (/[\w$\\]/.test(text[at - 1] ?? "") || /^\$[\d\s]/.test(rest)) return false;
  // A closing mark that belongs to no formula.
  return rest.length <= MAX_OPEN && !/[\n$]/.test(rest.slice(1));
}

function findClosed(text: string, open: string, close: string, isBlock: boolean): FoundMath | undefined {
  const end = text.slice(0, MAX_LENGTH).indexOf(close, open.length);
  if (end === -1) return undefined;
  const source = text.slice(open.length, end);
  if (source.trim() === "" || EMPTY_LINE.test(source)) return undefined;
  return { raw: text.slice(0, end + close.length), source: source.trim(), isBlock };
}

function findDollars(text: string): FoundMath | undefined {
  const [raw, source] = /^\$((?:\\[^\n]|[^\\$\n]|\n(?![ \t]*\n))+)\$(?![\w$])/.exec(text.slice(0, MAX_LENGTH)) ?? [];
  if (raw === undefined || source === undefined || /^\s|\s$/.test(source)) return undefined;
  // "$5 off (US$)" is an amount followed by words, without formula characters.
  if (/^\d[\d.,]*\s/.test(source) && !/[\\^_=<>+{}]/.test(source)) return undefined;
  return { raw, source, isBlock: false };
}
