/** The loaded part of a document, and where a cited passage is in it. */
import type { DocumentText } from "loom-agent/server";

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
  { firstLine, lastLine = firstLine, snippet = "" }: CitedPassage,
): { readonly start: number; readonly end: number } | undefined {
  const text = joinParts(parts);
  const words = readWords(snippet);
  let end = 0;
  for (const part of parts) {
    const start = end;
    end += part.text.length;
    if (part.first_line !== firstLine || part.last_line !== lastLine) continue;
    if (readWords(text.slice(Math.max(0, start - part.overlap), end)).includes(words)) return { start, end };
  }
  return undefined;
}

/** Snippets are cut, and their white space and invisible characters are not those of the document. */
function readWords(text: string): string {
  return text.replaceAll(/[^\p{L}\p{N}]+/gu, "");
}
