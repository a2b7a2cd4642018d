/**
 * Terms of a full-text index of sessions.
 *
 * The index is divided into parts: one per owner and range of session keys, and one per range for searches in all
 * sessions. A term is the name of its part followed by a word, so a query reads only terms of its part: its cost does
 * not depend on the texts of other owners, and each query of a part is short.
 */
import { hash } from "node:crypto";

/** Session keys per part. */
const PART_KEYS = 1024;
/** Length of the name of a part: 64 bits, so that no owner can be named to share the part of another. */
const PART_LENGTH = 16;

/** The session of a text. */
export interface IndexedSession {
  readonly key: number;
  readonly owner: string;
}

/** Returns the first key in the part of the session with this key. */
export function findPartStart(key: number): number {
  return key - (key % PART_KEYS);
}

/** Returns the terms of a text with these words: each word in the part of the owner, then each in the part of all. */
export function listTerms({ key, owner }: IndexedSession, words: string): string {
  const list = words.split(" ");
  return [namePart(key, owner), namePart(key, undefined)]
    .flatMap((part) => list.map((word) => `${part}${word}`))
    .join(" ");
}

export function namePart(key: number, owner: string | undefined): string {
  return hash("sha256", `${Math.floor(key / PART_KEYS)} ${owner ?? ""}`).slice(0, PART_LENGTH);
}
