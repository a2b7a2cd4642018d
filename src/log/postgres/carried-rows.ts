/** Reads and writes carried records, see `Log.readCarried`. */
import type { Transaction } from "../../postgres/postgres-database.ts";
import { readCarriedTexts } from "../carried-content.ts";
import type { LogEntry } from "../log.ts";

const LIST = "SELECT text FROM @.carried WHERE session = $1 ORDER BY event_id";
const INSERT = `INSERT INTO @.carried (session, event_id, text)
  SELECT $1, c.event_id, c.text FROM unnest($2::bigint[], $3::text[]) AS c(event_id, text)`;

export async function listCarried({ query }: Pick<Transaction, "query">, key: number): Promise<readonly LogEntry[]> {
  return readCarriedTexts((await query<{ readonly text: string }>(LIST, [key])).map(({ text }) => text));
}

/** Adds the carried records of a session that has none. */
export async function insertCarried({ query }: Transaction, key: number, entries: readonly LogEntry[]): Promise<void> {
  if (entries.length === 0) return;
  await query(INSERT, [key, entries.map(({ record }) => record.envelope.event_id), entries.map(({ text }) => text)]);
}
