/** The loaded part of a document, and where a cited passage is in it. */
import type { DocumentText } from "../../../src/server/api/shapes.generated.ts";
import type { DocumentRange } from "../api/create-api.ts";

/** Consecutive parts of one version of a document. */
export interface LoadedText {
  readonly about: Omit<DocumentText, "parts" | "from">;
  /** Position of the first part in the document. */
  readonly from: number;
  readonly parts: DocumentText["parts"];
}

/** What is known about a cited passage. */
export interface CitedPassage {
  readonly firstLine?: number;
  readonly lastLine?: number;
  readonly snippet?: string;
}

/** Parts shown at the same time. A document can have 10,000. */
const MAX_PARTS = 400;

/** Adds parts before or after the loaded ones. If these are too many, only the new ones are kept. */
export function addParts(loaded: LoadedText | undefined, page: DocumentText): LoadedText {
  const { parts, from, ...about } = page;
  // Parts of another version do not fit together.
  if (loaded === undefined || loaded.about.indexed_at !== about.indexed_at) return { about, from, parts };
  const isFull = loaded.parts.length + parts.length > MAX_PARTS;
  if (from + parts.length === loaded.from && !isFull) return { about, from, parts: [...parts, ...loaded.parts] };
  if (from === loaded.from + loaded.parts.length && !isFull)
    return { about, from: loaded.from, parts: [...loaded.parts, ...parts] };
  return { about, from, parts };
}

/** Line breaks before the first part belong to the part before it. */
export function joinParts(parts: LoadedText["parts"]): string {
  return parts.map(({ text }) => text).join("");
}

/** Returns the position of the passage in the joined parts; undefined if the document has no such passage any more. */
export function findPassage(
  parts: LoadedText["parts"],
  cited: CitedPassage,
): { readonly start: number; readonly end: number } | undefined {
  const index = findPart(parts, cited);
  if (index === -1) return undefined;
  const start = joinParts(parts.slice(0, index)).length;
  return { start, end: start + (parts[index]?.text.length ?? 0) };
}

function findPart(parts: LoadedText["parts"], { firstLine, lastLine = firstLine, snippet = "" }: CitedPassage): number {
  const text = joinParts(parts);
  const words = readWords(snippet);
  let end = 0;
  return parts.findIndex((part) => {
    const start = end;
    end += part.text.length;
    if (part.first_line !== firstLine || part.last_line !== lastLine) return false;
    return readWords(text.slice(Math.max(0, start - part.overlap), end)).includes(words);
  });
}

/** Parts of a request. */
export const PAGE = 50;
/** Parts of a request that looks for a passage: the most that the server returns. */
const SEARCHED_PAGE = 200;
/** Requests that look for a passage. */
const MAX_REQUESTS = 20;
/** Parts before a passage. */
const LEAD = 4;

/** Part of a document that was opened at a cited passage. */
export interface OpenedDocument {
  readonly page: DocumentText;
  /** The search ended before all parts with the line of the passage were read. */
  readonly isIncomplete: boolean;
}

/**
 * Reads a document at the cited passage. A long line consists of many parts, so they are read until the passage is found.
 * Returns the first part with the line, if it is not found.
 */
export async function openAtPassage(
  read: (range: DocumentRange) => Promise<DocumentText>,
  cited: CitedPassage,
): Promise<OpenedDocument> {
  const { firstLine } = cited;
  const first = await read({ line: firstLine, limit: PAGE });
  let page = first;
  for (let requests = 1; ; requests++) {
    const index = findPart(page.parts, cited);
    const last = page.parts.at(-1);
    const end = page.from + page.parts.length;
    if (index !== -1) return { page: page === first ? first : cutBefore(page, index - LEAD), isIncomplete: false };
    if (firstLine === undefined || last === undefined || last.first_line > firstLine || end >= page.passages)
      return { page: first, isIncomplete: false };
    if (requests === MAX_REQUESTS) return { page: first, isIncomplete: true };
    // The last part is read again, because the next one may repeat its end.
    page = await read({ from: Math.max(page.from + 1, end - 1), limit: SEARCHED_PAGE });
  }
}

function cutBefore(page: DocumentText, index: number): DocumentText {
  const start = Math.max(0, index);
  return { ...page, from: page.from + start, parts: page.parts.slice(start) };
}

/** Snippets are cut, and their white space and invisible characters are not those of the document. */
function readWords(text: string): string {
  return text.replaceAll(/[^\p{L}\p{N}]+/gu, "");
}
