/** Splits a document around a passage, where each part can be rendered separately. */
import type { Tokens } from "marked";
import { lexMarkdown, type LinkDefinitions } from "./lex-markdown.ts";

/** Positions of the first character and of the one after the last. */
export interface HighlightRange {
  readonly start: number;
  readonly end: number;
}

export interface SplitText {
  readonly before: string;
  readonly within: string;
  readonly after: string;
}

interface TextUnit {
  readonly raw: string;
  /** Consists of sentences and may be split between them. */
  readonly isProse: boolean;
}

/** Longer lines and paragraphs are split at the range, for example a transcript of one line. */
const MAX_WHOLE = 2000;

/**
 * Markdown is split between blocks and between items of a list, other text between lines. The blocks or lines that
 * contain the range are `within`; only the range of those that are very long. It is empty if the range is.
 */
export function splitAtRange(text: string, range: HighlightRange, isMarkdown: boolean): SplitText {
  const given = text.slice(range.start, range.end);
  const length = given.trim().length;
  if (length === 0) return { before: text, within: "", after: "" };
  const start = range.start + given.length - given.trimStart().length;
  const end = start + length;
  let from = text.length;
  let to = 0;
  let offset = 0;
  for (const { raw, isProse } of isMarkdown ? listBlocks(text) : listLines(text)) {
    const next = offset + raw.length;
    if (next > start && offset < end) {
      const isSplit = isProse && raw.length > MAX_WHOLE;
      from = Math.min(from, isSplit ? Math.max(offset, start) : offset);
      to = isSplit ? Math.min(next, end) : next;
    }
    offset = next;
  }
  return { before: text.slice(0, from), within: text.slice(from, to), after: text.slice(to) };
}

function listLines(text: string): readonly TextUnit[] {
  return text.split(/(?<=\n)/).map((raw) => ({ raw, isProse: true }));
}

function listBlocks(text: string): readonly TextUnit[] {
  return lexMarkdown(text, Object.create(null) as LinkDefinitions).flatMap((token) =>
    token.type === "list"
      ? splitItems(token as Tokens.List).map((raw) => ({ raw, isProse: false }))
      : [{ raw: token.raw, isProse: token.type === "paragraph" }],
  );
}

/** The items have the whole text of the list, except for the white space after it. */
function splitItems({ raw, items }: Tokens.List): readonly string[] {
  const parts = items.map((item) => item.raw);
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return [...parts, raw.slice(length)];
}
