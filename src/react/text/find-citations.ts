/**
 * Finds citations in text: numbers of sources in square brackets, as in `[1]` or `[1, 2]`. Whether there are such sources
 * is not known here.
 */
import type { Token, Tokens } from "marked";
import { lexMarkdown, type LinkDefinitions } from "./lex-markdown.ts";
import { sanitizeLink } from "./sanitize-link.ts";

/** A citation in a text. */
export interface CitationMark {
  /** As written, with its brackets. */
  readonly raw: string;
  readonly refs: readonly number[];
}

const CITATION = /\[\d{1,4}(?:[,，、] ?\d{1,4}){0,9}\]/g;
/** A citation at the end of a text that may still grow. */
export const OPEN_CITATION = /\[(?:\d[\d,，、 ]{0,58})?$/;
/** Inline HTML in which brackets have another meaning, or which is already a control. */
const LITERAL_TAGS: ReadonlySet<string> = new Set(["a", "code", "kbd", "samp", "pre", "var"]);

export function isLiteralTag(name: string): boolean {
  return LITERAL_TAGS.has(name);
}

/** Splits a text into plain pieces and citations. */
export function splitCitations(text: string): readonly (string | CitationMark)[] {
  const pieces: (string | CitationMark)[] = [];
  let end = 0;
  for (const { 0: raw, index } of text.matchAll(CITATION)) {
    if (index > end) pieces.push(text.slice(end, index));
    pieces.push({ raw, refs: readRefs(raw) });
    end = index + raw.length;
  }
  if (end < text.length) pieces.push(text.slice(end));
  return pieces;
}

function readRefs(raw: string): readonly number[] {
  return (raw.match(/\d+/g) ?? []).map(Number);
}

/**
 * Some models list their sources as link definitions, `[1]: notes.md`, which makes each `[1]` a link. Without a safe
 * address it is a citation.
 */
export function readCitationLink({ raw, href }: Tokens.Link): CitationMark | undefined {
  return /^\[\d{1,4}\]$/.test(raw) && sanitizeLink(href) === undefined ? { raw, refs: readRefs(raw) } : undefined;
}

/** Returns the numbers that a Markdown text cites, in the order of their first citation. */
export function findCitations(text: string): readonly number[] {
  const found = new Set<number>();
  if (text.search(CITATION) !== -1)
    collect(lexMarkdown(text.replaceAll(/\r\n?/g, "\n"), Object.create(null) as LinkDefinitions), found);
  return [...found];
}

function collect(tokens: readonly Token[], into: Set<number>): void {
  /** Literal tags that are open. */
  let open = 0;
  for (const token of tokens) {
    if (token.type === "html") open = Math.max(0, open + countOpened(token.raw));
    else if (open === 0) collectFrom(token, into);
  }
}

function countOpened(raw: string): number {
  const [, slash, name = ""] = /^<(\/?)([a-z]+)/i.exec(raw) ?? [];
  return isLiteralTag(name.toLowerCase()) ? (slash === "/" ? -1 : 1) : 0;
}

function collectFrom(token: Token, into: Set<number>): void {
  switch (token.type) {
    case "code":
    case "codespan":
    case "image":
    case "math":
      return;
    case "link":
      for (const ref of readCitationLink(token as Tokens.Link)?.refs ?? []) into.add(ref);
      return;
    case "list":
      for (const item of (token as Tokens.List).items) collect(item.tokens, into);
      return;
    case "table": {
      const { header, rows } = token as Tokens.Table;
      for (const cell of [header, ...rows].flat()) collect(cell.tokens, into);
      return;
    }
    default:
      if ("tokens" in token && token.tokens !== undefined) collect(token.tokens, into);
      else if (token.type === "text")
        for (const piece of splitCitations(token.raw))
          if (typeof piece !== "string") for (const ref of piece.refs) into.add(ref);
  }
}
