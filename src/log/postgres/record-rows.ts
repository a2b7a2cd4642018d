/** Reads and writes the rows of records, and carried records. A row has one or more records, one per line. */
import { Buffer } from "node:buffer";
import { LoomError } from "../../protocol/loom-error.ts";
import type { SqlRunner } from "../../postgres/postgres-database.ts";
import { readCarriedTexts } from "../carried-content.ts";
import type { LogEntry } from "../log.ts";

/** Maximum number of records and characters of a row, unless a record is longer: a read may need one record of it. */
export const MAX_ROW_RECORDS = 256;
export const MAX_ROW_LENGTH = 64 * 1024;

/** A row of records. */
export interface RecordRow {
  readonly firstId: number;
  readonly lastId: number;
  readonly text: string;
}

/** A row to be written; positions are relative to the end of the session. */
export interface NewRecordRow {
  readonly records: number;
  /** Bytes of the records, without the line feeds between them. */
  readonly bytes: number;
  readonly text: string;
}

/** Splits the texts of an append into rows. */
export function splitRows(texts: readonly string[]): readonly NewRecordRow[] {
  const rows: NewRecordRow[] = [];
  let from = 0;
  let length = 0;
  const flush = (to: number): void => {
    if (to === from) return;
    const part = texts.slice(from, to);
    const text = part.length === 1 ? (part[0] ?? "") : part.join("\n");
    rows.push({ records: part.length, bytes: Buffer.byteLength(text) - (part.length - 1), text });
    from = to;
    length = 0;
  };
  for (const [index, text] of texts.entries()) {
    if (index - from >= MAX_ROW_RECORDS || (index > from && length + text.length > MAX_ROW_LENGTH)) flush(index);
    length += text.length;
  }
  flush(texts.length);
  return rows;
}

const INSERT = `INSERT INTO @.records (session, first_id, last_id, pos, text)
  SELECT $1, r.first_id, r.last_id, r.pos, r.text
  FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::text[]) AS r(first_id, last_id, pos, text)`;

/** Adds rows after record `lastId`; returns the new end of the session. */
export async function insertRecords(
  { query }: SqlRunner,
  { key, lastId, pos }: { readonly key: number; readonly lastId: number; readonly pos: number },
  rows: readonly NewRecordRow[],
): Promise<{ readonly lastId: number; readonly pos: number }> {
  let end = { lastId, pos };
  const placed = rows.map(({ records, bytes, text }) => {
    const firstId = end.lastId + 1;
    end = { lastId: end.lastId + records, pos: end.pos + bytes };
    return { firstId, ...end, text };
  });
  if (placed.length === 0) return end;
  await query(INSERT, [
    key,
    placed.map((row) => row.firstId),
    placed.map((row) => row.lastId),
    placed.map((row) => row.pos),
    placed.map((row) => row.text),
  ]);
  return end;
}

/**
 * Rows of the session `s` after record `$2`, which contain at most `$3` rows and about `$4` bytes after the first row.
 */
export const ROWS_AFTER = `SELECT * FROM (
    SELECT r.first_id AS "firstId", r.last_id AS "lastId", r.text,
      sum(octet_length(r.text)) OVER w - octet_length(r.text) - first_value(octet_length(r.text)) OVER w AS before
    FROM (SELECT * FROM @.records r WHERE r.session = s.key AND r.last_id > $2 ORDER BY r.last_id LIMIT $3) r
    WINDOW w AS (ORDER BY r.last_id)
  ) r WHERE r.before < $4 ORDER BY "lastId"`;

/**
 * Takes up to `limit` texts after record `after` with at most `room` bytes, unless the first one is larger. Throws
 * `store_corrupt` if one is missing.
 */
export function takeTexts(rows: readonly RecordRow[], after: number, limit: number, room: number): readonly string[] {
  const taken: string[] = [];
  let left = room;
  for (const { firstId, lastId, text } of rows) {
    const lines = text.split("\n");
    const from = after + taken.length + 1 - firstId;
    if (from < 0 || lines.length !== lastId - firstId + 1) throw damaged(after + taken.length + 1);
    for (const line of lines.slice(from)) {
      const bytes = Buffer.byteLength(line);
      if (taken.length >= limit || (bytes > left && taken.length > 0)) return taken;
      taken.push(line);
      left -= bytes;
    }
  }
  if (taken.length === 0) throw damaged(after + 1);
  return taken;
}

const ROW = `SELECT r.first_id AS "firstId", r.last_id AS "lastId", r.pos, r.text FROM @.records r
  WHERE r.session = $1 AND r.last_id >= $2`;
const FIND_ROW = `${ROW} ORDER BY r.last_id LIMIT 1`;
const LIST_ROWS = `${ROW} AND r.first_id <= $3 ORDER BY r.last_id`;

/** Reads the records `after + 1` to `after + count`, which must exist. */
export async function readTexts(
  { query }: SqlRunner,
  session: number,
  after: number,
  count: number,
): Promise<readonly string[]> {
  const rows = await query<RecordRow>(LIST_ROWS, [session, after + 1, after + count]);
  return takeTexts(rows, after, count, Number.POSITIVE_INFINITY);
}

/** Returns the size of the session in bytes, up to and including record `id`. */
export async function findPosition({ query }: SqlRunner, session: number, id: number): Promise<number> {
  const [row] = await query<RecordRow & { readonly pos: number }>(FIND_ROW, [session, id]);
  if (row === undefined || row.firstId > id) throw damaged(id);
  const rest = row.text.split("\n").slice(id - row.firstId + 1);
  return row.pos - rest.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

const LIST_CARRIED = "SELECT text FROM @.carried WHERE session = $1 ORDER BY event_id";
const INSERT_CARRIED = `INSERT INTO @.carried (session, event_id, text)
  SELECT $1, c.event_id, c.text FROM unnest($2::bigint[], $3::text[]) AS c(event_id, text)`;

/** See `Log.readCarried`. */
export async function listCarried({ query }: SqlRunner, key: number): Promise<readonly LogEntry[]> {
  return readCarriedTexts((await query<{ readonly text: string }>(LIST_CARRIED, [key])).map(({ text }) => text));
}

/** Adds the carried records of a session that has none. */
export async function insertCarried({ query }: SqlRunner, key: number, entries: readonly LogEntry[]): Promise<void> {
  if (entries.length === 0) return;
  await query(INSERT_CARRIED, [
    key,
    entries.map(({ record }) => record.envelope.event_id),
    entries.map(({ text }) => text),
  ]);
}

function damaged(id: number): LoomError {
  return new LoomError("store_corrupt", `The records of a session are damaged at record ${id}`, { event_id: id });
}
