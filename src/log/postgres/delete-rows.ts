/** Deletes a session with everything it has. */
import type { Transaction } from "../../postgres/postgres-database.ts";

const TABLES = ["records", "runs", "landmarks", "commands", "snapshots", "texts", "carried"] as const;

/** Deletes the rows of a locked session. */
export async function deleteRows({ query }: Transaction, key: number): Promise<void> {
  for (const table of TABLES) await query(`DELETE FROM @.${table} WHERE session = $1`, [key]);
  await query("DELETE FROM @.sessions WHERE key = $1", [key]);
}
