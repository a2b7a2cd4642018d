/** Reads the passages of a document, in their order and in parts. */
import { type DocumentPassage, joinPassages } from "./join-passages.ts";
import type { KnowledgeStore, StoredDocument } from "./knowledge-store.ts";

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
