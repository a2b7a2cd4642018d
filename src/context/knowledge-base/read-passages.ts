/**
 * Reads the text of a document in parts. It is put together from its passages, which is all that a store keeps of it.
 *
 * Invariant: the texts of all passages, one after the other, contain every character of the document that is not white
 * space exactly once. Several empty lines become one, and a very long line may contain line breaks.
 */
import type { KnowledgeStore, PassageText, StoredDocument } from "./knowledge-store.ts";

/** Part of a document, for `KnowledgeBase.read`. */
export interface DocumentPassage {
  /** First and last line in the document, starting at 1. */
  readonly firstLine: number;
  readonly lastLine: number;
  /** Text that follows the text of the previous passage, including the line breaks between them. */
  readonly text: string;
  /** Characters before `text` that also belong to the passage, because it repeats the end of the previous one. */
  readonly overlap: number;
}

export interface PassageRange {
  /** Position of the first passage, from 0. */
  readonly from: number;
  /** Starts a few passages before the one with this line, instead of at `from`. */
  readonly line: number | undefined;
  /** At least 1. */
  readonly limit: number;
}

export interface PassagePage {
  readonly document: StoredDocument;
  readonly from: number;
  readonly passages: readonly DocumentPassage[];
}

/** Characters after which a page ends, whatever the limit. */
const MAX_CHARACTERS = 400_000;
/** Passages before the one with the requested line. */
const LEAD = 4;
/** Reads of a document that is being replaced. */
const MAX_ATTEMPTS = 5;

/** What a repeated text follows; see `splitDocument`. */
const SENTENCE_END = /(?:[\n。！？；]|[.!?;]\s)\s*$/;

/** Undefined if there is no document with this uri. */
export async function readPassages(
  store: KnowledgeStore,
  uri: string,
  range: PassageRange,
): Promise<PassagePage | undefined> {
  for (let attempt = 1; ; attempt++) {
    const document = await store.find(uri);
    if (document === undefined) return undefined;
    const { key, chunks } = document;
    const from =
      range.line === undefined
        ? Math.min(range.from, chunks)
        : Math.max(0, (await store.countPassagesBefore(key, range.line)) - LEAD);
    // The passage before is read too, because the first one may repeat its end.
    const lead = Math.min(from, 1);
    const rows = await store.readPassages(key, from - lead, range.limit + lead);
    // Fewer rows: another process has replaced the document.
    if (rows.length < lead + Math.min(chunks - from, range.limit) && attempt < MAX_ATTEMPTS) continue;
    const passages = joinPassages(rows.slice(lead), lead === 0 ? undefined : rows[0]);
    return { document, from, passages: cutCharacters(passages) };
  }
}

/** Returns at least one passage, if there is one. */
function cutCharacters(passages: readonly DocumentPassage[]): readonly DocumentPassage[] {
  let length = 0;
  const end = passages.findIndex(({ text }, index) => (length += text.length) > MAX_CHARACTERS && index > 0);
  return end === -1 ? passages : passages.slice(0, end);
}

/** `previous` is the passage before the first one; undefined at the start of a document. */
export function joinPassages(
  passages: readonly PassageText[],
  previous: PassageText | undefined,
): readonly DocumentPassage[] {
  return passages.map((passage, index) => joinPassage(passage, passages[index - 1] ?? previous));
}

function joinPassage(passage: PassageText, previous: PassageText | undefined): DocumentPassage {
  const { content, firstLine, lastLine } = passage;
  const lines = { firstLine, lastLine };
  if (previous === undefined) return { ...lines, text: content, overlap: 0 };
  const repeated = findRepeated(passage, previous);
  if (repeated === undefined) {
    const gap = firstLine - previous.lastLine;
    // A line that does not fit into a passage goes on in the next one.
    return { ...lines, text: (gap > 1 ? "\n\n" : gap === 0 ? "" : "\n") + content, overlap: 0 };
  }
  const text = content.slice(repeated.length + 1);
  const isContinued = text.split("\n").length > lastLine - previous.lastLine;
  const overlap = previous.content.length - previous.content.lastIndexOf(repeated);
  return { ...lines, text: (isContinued ? "" : "\n") + text, overlap };
}

/** Finds the beginning of a passage that repeats whole sentences from the end of the previous one. */
function findRepeated({ content, firstLine }: PassageText, previous: PassageText): string | undefined {
  const count = previous.lastLine - firstLine + 1;
  if (count < 1) return undefined;
  const lines = content.split("\n", count + 1);
  // A passage never consists of repeated text alone.
  if (lines.length <= count) return undefined;
  const repeated = lines.slice(0, count).join("\n");
  const before = previous.content.trimEnd();
  if (repeated === "" || !before.endsWith(repeated)) return undefined;
  return SENTENCE_END.test(before.slice(0, -repeated.length)) ? repeated : undefined;
}
