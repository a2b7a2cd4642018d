/**
 * Full-text search in the database. The index selects texts that have all words of the query; whether they match is
 * decided by `search-text.ts`, as in every log. A search reads one part of the index after the other, newest sessions
 * first, and ends after a limited time.
 */
import type { PostgresDatabase, SqlRunner } from "../../postgres/postgres-database.ts";
import { searchTimedOut } from "../../protocol/search-queue.ts";
import { matchRecord } from "../conversation-text.ts";
import type { FoundSession, SearchSessionsOptions } from "../log.ts";
import { clampListLimit, unknownListCursor } from "../rules.ts";
import { findPartStart, namePart } from "../search-terms.ts";
import { matchTitle, readQuery, type SearchMatch, type SearchPhrase } from "../search-text.ts";
import { cutTerm } from "./index-rows.ts";
import { type RecordRow, takeTexts } from "./record-rows.ts";
import { describeHead, findSession, HEAD, type StoredHead } from "./session-rows.ts";
import { fromColumn, fromNullableColumn, toColumn } from "../../postgres/text-column.ts";

/** Candidates read at once. */
const MAX_CANDIDATES = 50;

const LATEST = `SELECT max(key) AS key FROM @.sessions WHERE session_id IS NOT NULL AND key < $1`;
const LATEST_OWNED = `${LATEST} AND owner = $2`;

const CANDIDATES = `SELECT ${HEAD}, t.event_id AS "eventId", r.first_id AS "rowFirstId", r.last_id AS "rowLastId", r.text
  FROM (SELECT session, event_id FROM @.texts WHERE terms @@ $1::tsquery AND (session, event_id) < ($2, $3)
    ORDER BY session DESC, event_id DESC LIMIT ${MAX_CANDIDATES}) t
  JOIN @.sessions s ON s.key = t.session
  LEFT JOIN LATERAL (SELECT * FROM @.records r WHERE t.event_id > 0 AND r.session = t.session
    AND r.last_id >= t.event_id ORDER BY r.last_id LIMIT 1) r ON true
  ORDER BY t.session DESC, t.event_id DESC`;

interface SearchCandidate extends StoredHead {
  readonly eventId: number;
  readonly rowFirstId: number | null;
  readonly rowLastId: number | null;
  readonly text: string | null;
}

export interface SearchContext {
  readonly db: PostgresDatabase;
  readonly timeoutMs: number;
}

/** Throws `cursor_invalid` and `search_timeout`. */
export async function searchSessions(
  { db, timeoutMs }: SearchContext,
  { query, limit, after, owner, signal }: SearchSessionsOptions,
): Promise<readonly FoundSession[]> {
  const phrases = readQuery(query);
  const deadline = performance.now() + timeoutMs;
  const checkTime = (): void => {
    signal?.throwIfAborted();
    if (performance.now() > deadline) throw searchTimedOut(timeoutMs);
  };
  try {
    return await db.transact(
      async (transaction) => {
        const before = await findListKey(transaction, after, owner);
        const found: FoundSession[] = [];
        if (phrases.length === 0) return found;
        const search = { reads: transaction, phrases, owner, checkTime };
        for await (const { head, match } of findMatches(search, before)) {
          found.push({ ...describeHead(head, db), match });
          if (found.length >= clampListLimit(limit)) break;
        }
        return found;
      },
      { isReadOnly: true, timeoutMs },
    );
  } catch (error) {
    const { cause } = error as { readonly cause?: { readonly code?: unknown } };
    // The database cancelled the statement.
    throw cause?.code === "57014" ? searchTimedOut(timeoutMs) : error;
  }
}

/**
 * Returns the key of the session after which a list continues, which is larger than all keys for a new list. Throws
 * `cursor_invalid` if the session is not in the list.
 */
export async function findListKey(
  reads: SqlRunner,
  after: string | undefined,
  owner: string | undefined,
): Promise<number> {
  if (after === undefined) return Number.MAX_SAFE_INTEGER;
  const row = await findSession(reads, after);
  if (row === undefined || (owner !== undefined && owner !== fromColumn(row.owner))) throw unknownListCursor(after);
  return row.key;
}

interface RunningSearch {
  readonly reads: SqlRunner;
  readonly phrases: readonly SearchPhrase[];
  readonly owner: string | undefined;
  readonly checkTime: () => void;
}

interface SearchedSession {
  readonly head: StoredHead;
  readonly match: SearchMatch;
}

/** Finds sessions created before the one with the key `beforeKey`, newest first, each once. */
async function* findMatches(search: RunningSearch, beforeKey: number): AsyncGenerator<SearchedSession> {
  const { reads, owner } = search;
  for (let before = beforeKey; ;) {
    const [row] =
      owner === undefined
        ? await reads.query<{ key: number | null }>(LATEST, [before])
        : await reads.query<{ key: number | null }>(LATEST_OWNED, [before, toColumn(owner)]);
    const latest = row?.key ?? null;
    if (latest === null) return;
    yield* findPartMatches(search, latest);
    before = findPartStart(latest);
  }
}

/** Finds matching sessions up to the one with the key `latest`, in its part of the index. */
async function* findPartMatches(search: RunningSearch, latest: number): AsyncGenerator<SearchedSession> {
  const { reads, phrases, owner, checkTime } = search;
  const terms = formatQuery(phrases, namePart(latest, owner));
  let [session, eventId] = [latest + 1, 0];
  for (;;) {
    checkTime();
    const rows = await reads.query<SearchCandidate>(CANDIDATES, [terms, session, eventId]);
    for (const candidate of rows) {
      [session, eventId] = [candidate.key, candidate.eventId];
      // A draft is not found yet.
      if (candidate.sessionId === null || (owner !== undefined && owner !== fromColumn(candidate.owner))) continue;
      const match = findMatch(candidate, phrases);
      if (match === undefined) continue;
      yield { head: candidate, match };
      // Not the other texts of this session.
      eventId = -1;
      break;
    }
    if (rows.length === 0 || (eventId !== -1 && rows.length < MAX_CANDIDATES)) return;
  }
}

function findMatch(candidate: SearchCandidate, phrases: readonly SearchPhrase[]): SearchMatch | undefined {
  const { eventId, rowFirstId, rowLastId, text } = candidate;
  const found = matchTitle(fromNullableColumn(candidate.title), phrases);
  if (found !== undefined) return found;
  if (eventId < candidate.firstId || rowFirstId === null || rowLastId === null || text === null) return undefined;
  const row: RecordRow = { firstId: rowFirstId, lastId: rowLastId, text };
  const [record = ""] = takeTexts([row], eventId - 1, 1, Number.POSITIVE_INFINITY);
  return matchRecord(record, phrases);
}

/** Words contain neither quotation marks nor backslashes, so they cannot contain query syntax. */
function formatQuery(phrases: readonly SearchPhrase[], part: string): string {
  return phrases
    .flatMap(({ words, isPrefix }) =>
      words.map((word, index) => {
        const term = cutTerm(word);
        const isStart = term !== word || (isPrefix && index === words.length - 1);
        return `'${part}${term}'${isStart ? ":*" : ""}`;
      }),
    )
    .join(" & ");
}
