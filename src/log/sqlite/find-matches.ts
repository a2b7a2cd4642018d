/** Searches the sessions of a store, newest first. */
import { matchRecord } from "../conversation-text.ts";
import { findPartStart } from "../search-terms.ts";
import { matchTitle, type SearchMatch, type SearchPhrase } from "../search-text.ts";
import type { StoredSession } from "./session-rows.ts";
import type { StoreRows } from "./store-rows.ts";

/** Larger than any session key, and small enough to be shifted to a row ID of the search index. */
export const MAX_KEY = 2 ** 31;
/** Search hits to skip before the index is queried again; doubled each time. */
const MAX_SKIPPED_HITS = 500;

interface SessionMatch {
  readonly row: StoredSession;
  readonly match: SearchMatch;
}

/**
 * Finds sessions created before `beforeKey` that match the query, newest first, each once. It reads one part of the
 * index after the other, so that a page of results costs little even if many sessions match.
 */
export function* findMatches(
  rows: StoreRows,
  phrases: readonly SearchPhrase[],
  beforeKey: number,
  owner: string | undefined,
): Generator<SessionMatch> {
  if (phrases.length === 0) return;
  let before = beforeKey;
  for (;;) {
    const latest = rows.sessions.findLatest(before, owner);
    if (latest === undefined) return;
    // Checks the seal of the row: a session whose owner was changed on disk is not in the part of that owner.
    rows.sessions.findByKey(latest);
    yield* findPartMatches(rows, phrases, latest, owner);
    before = findPartStart(latest);
  }
}

/** Finds matching sessions up to the one with the key `latest`, in its part of the index. */
function* findPartMatches(
  { sessions, records, searchIndex }: StoreRows,
  phrases: readonly SearchPhrase[],
  latest: number,
  owner: string | undefined,
): Generator<SessionMatch> {
  let before = latest + 1;
  // Querying the index again for every session would repeat its work; reading all further hits of a long session would
  // waste it. So hits are skipped first, and the query is repeated after too many.
  for (let maxSkipped = MAX_SKIPPED_HITS; ; maxSkipped *= 2) {
    let skipped = 0;
    for (const { session, eventId } of searchIndex.find(phrases, latest, owner, before)) {
      if (session >= before && ++skipped > maxSkipped) break;
      if (session >= before) continue;
      const row = sessions.findByKey(session);
      // The session was deleted or pruned, and is not swept yet.
      if (row?.sessionId == null || (eventId !== 0 && eventId < row.firstId)) continue;
      // The index has no seal; the row has one.
      if (owner !== undefined && owner !== row.owner) continue;
      const match =
        matchTitle(row.title, phrases) ??
        (eventId === 0 ? undefined : matchRecord(records.read(row.key, eventId - 1, 1, Infinity).text, phrases));
      if (match === undefined) continue;
      before = session;
      yield { row, match };
    }
    if (skipped <= maxSkipped) return;
  }
}
