/**
 * Reads runs and landmarks, and writes runs, landmarks and searchable texts of appends: one statement for each kind, for
 * many appends at once.
 */
import { hash } from "node:crypto";
import type { SqlRunner, SqlValue, Transaction } from "../../postgres/postgres-database.ts";
import type { IndexChanges, IndexedRunEnd, IndexedRunStart } from "../index-changes.ts";
import type { Landmark, RunInfo } from "../log.ts";
import { type IndexedSession, listTerms } from "../search-terms.ts";
import { listWords } from "../search-text.ts";
import { describeRun, type NullFor, type RunRow } from "../stored-rows.ts";
import {
  fromColumn,
  fromNullableColumn,
  fromOptionalColumn,
  toColumn,
  toOptionalColumn,
} from "../../postgres/text-column.ts";

/** Columns of `RunRow`, from `runs r`. */
export const RUN = `r.run_id AS "runId", r.status, r.first_id AS "firstId", r.last_id AS "lastId",
  r.started_at AS "startedAt", r.ended_at AS "endedAt", r.code, r.request_id AS "requestId", r.agent`;

/** Columns of a landmark, from `landmarks l`. */
export const LANDMARK = `l.kind, l.key, l.event_id AS "eventId", l.run_id AS "runId"`;

/** A row of `landmarks`. */
export type StoredLandmark = NullFor<Landmark>;

export function readRun(row: RunRow): RunInfo {
  return describeRun({
    ...row,
    runId: fromColumn(row.runId),
    code: fromNullableColumn(row.code),
    requestId: fromNullableColumn(row.requestId),
    agent: fromNullableColumn(row.agent),
  });
}

export function readLandmark({ kind, key, eventId, runId }: StoredLandmark): Landmark {
  return { kind, key: fromColumn(key), eventId, runId: fromOptionalColumn(runId) };
}

/** The index changes of one append. */
export interface SessionIndexChanges {
  readonly session: IndexedSession;
  readonly changes: IndexChanges;
}

/** Characters of a term in the index. Longer words are cut, so they are found by their start, and then compared. */
const MAX_TERM_LENGTH = 100;
/** Bytes of the terms of one text; the index has a limit of 1 MiB. The rest of a longer text is not searched. */
const MAX_TERMS_LENGTH = 400_000;

const START = `INSERT INTO @.runs (session, run_id, first_id, started_at, request_id, agent, actor, status)
  SELECT i.*, 'live'
  FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::double precision[], $5::text[], $6::text[], $7::text[]) AS i
  ON CONFLICT DO NOTHING RETURNING session, started_at AS at`;

const END = `UPDATE @.runs r SET last_id = i.last_id, ended_at = i.ended_at, status = i.status, code = i.code
  FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::double precision[], $5::text[], $6::text[])
    AS i(session, run_id, last_id, ended_at, status, code)
  WHERE r.session = i.session AND r.run_id = i.run_id AND r.last_id IS NULL RETURNING r.session, r.ended_at AS at`;

const TOUCH = `UPDATE @.sessions s SET updated_at = i.at FROM unnest($1::bigint[], $2::double precision[]) AS i(session, at)
  WHERE s.key = i.session`;

const SET_LANDMARKS = `INSERT INTO @.landmarks (session, kind, hash, key, event_id, run_id)
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[])
  ON CONFLICT (session, kind, hash) DO UPDATE SET event_id = excluded.event_id, run_id = excluded.run_id`;

const DELETE_APPROVALS = `DELETE FROM @.landmarks l USING unnest($1::bigint[], $2::text[]) AS i(session, hash)
  WHERE l.session = i.session AND l.kind = 'tool_approval' AND l.hash = i.hash`;

const SET_TEXTS = `INSERT INTO @.texts (session, event_id, terms)
  SELECT i.session, i.event_id, array_to_tsvector(string_to_array(i.terms, ' '))
  FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS i(session, event_id, terms)
  ON CONFLICT (session, event_id) DO UPDATE SET terms = excluded.terms`;

/** Stores the changes of appends whose records are stored in the same transaction. */
export async function writeIndexes(transaction: SqlRunner, list: readonly SessionIndexChanges[]): Promise<void> {
  const starts = new Map<string, readonly [session: number, start: IndexedRunStart]>();
  const ends = new Map<string, readonly [session: number, end: IndexedRunEnd]>();
  const landmarks = new Map<string, readonly [session: number, landmark: Landmark]>();
  const answered = new Map<string, readonly [session: number, hash: string]>();
  const texts: TextOfSession[] = [];
  for (const { session, changes } of list) {
    const { key } = session;
    // The first start and the first end of a run count, and the last landmark of a key or its removal.
    for (const start of changes.starts) getOrSet(starts, `${key} ${start.runId}`, [key, start] as const);
    for (const end of changes.ends) getOrSet(ends, `${key} ${end.runId}`, [key, end] as const);
    for (const one of changes.landmarks) {
      landmarks.set(`${key} ${one.kind} ${one.key}`, [key, one]);
      answered.delete(`${key} ${one.kind} ${one.key}`);
    }
    for (const name of changes.answered) {
      landmarks.delete(`${key} tool_approval ${name}`);
      answered.set(`${key} tool_approval ${name}`, [key, hashOf(name)]);
    }
    for (const { eventId, text } of changes.texts) texts.push({ session, eventId, text });
  }
  const { query } = transaction;
  const begun = [...starts.values()].map(([key, { runId, firstId, startedAt, requestId, agent, actor }]) => [
    key,
    toColumn(runId),
    firstId,
    startedAt,
    toOptionalColumn(requestId),
    toOptionalColumn(agent),
    toOptionalColumn(actor),
  ]);
  const ended = [...ends.values()].map(([key, { runId, lastId, endedAt, status, code }]) => [
    key,
    toColumn(runId),
    lastId,
    endedAt,
    status,
    toOptionalColumn(code),
  ]);
  const touched = [
    ...(await insert<TouchedSession>(query, START, begun)),
    ...(await insert<TouchedSession>(query, END, ended)),
  ];
  const updates = new Map<number, number>();
  for (const { session, at } of touched) updates.set(session, Math.max(updates.get(session) ?? at, at));
  await insert(query, TOUCH, [...updates]);
  const marks = [...landmarks.values()].map(([key, { kind, key: name, eventId, runId }]) => [
    key,
    kind,
    hashOf(name),
    toColumn(name),
    eventId,
    toOptionalColumn(runId),
  ]);
  await insert(query, SET_LANDMARKS, marks);
  await insert(query, DELETE_APPROVALS, [...answered.values()]);
  await writeTexts(transaction, texts);
}

interface TouchedSession {
  readonly session: number;
  readonly at: number;
}

/** A text to be found by a search. */
export interface TextOfSession {
  readonly session: IndexedSession;
  /** 0 for the title. */
  readonly eventId: number;
  readonly text: string;
}

/** Stores the terms of texts that have words. */
export async function writeTexts({ query }: SqlRunner, texts: readonly TextOfSession[]): Promise<void> {
  const rows = texts.flatMap(({ session, eventId, text }) => {
    const words = listWords(text).slice(0, MAX_TERMS_LENGTH);
    if (words === "") return [];
    const distinct = new Set(words.split(" ").map((word) => cutTerm(word)));
    return [[session.key, eventId, listTerms(session, [...distinct].join(" "))]];
  });
  await insert(query, SET_TEXTS, rows);
}

/** Cuts a word as in the index. Surrogate pairs are not split. */
export function cutTerm(word: string): string {
  return word.length <= MAX_TERM_LENGTH
    ? word
    : word
        .slice(0, MAX_TERM_LENGTH)
        .toWellFormed()
        .replace(/\ufffd$/, "");
}

/** Identifies a key of any length in an index. */
export function hashOf(key: string): string {
  return hash("sha256", key, "base64");
}

function getOrSet<V>(map: Map<string, V>, key: string, value: V): void {
  if (!map.has(key)) map.set(key, value);
}

/** Runs a statement that takes one array per column; does nothing without rows. */
async function insert<T>(
  query: Transaction["query"],
  sql: string,
  rows: readonly (readonly (string | number | null)[])[],
): Promise<readonly T[]> {
  const [first] = rows;
  if (first === undefined) return [];
  return query<T>(
    sql,
    first.map((_, column): SqlValue => rows.map((row) => row[column] ?? null)),
  );
}
