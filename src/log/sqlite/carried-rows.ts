/** Reads and writes carried records, see `Log.readCarried`. Each row has a checksum. */
import type { DatabaseSync } from "node:sqlite";
import { LoomError } from "../../protocol/loom-error.ts";
import { prepareAll, type Statements } from "../../sqlite/database.ts";
import type { LogEntry } from "../log.ts";
import { checksumOf } from "./records.ts";

export interface CarriedRow {
  readonly eventId: number;
  readonly text: string;
}

const STATEMENTS = {
  list: "SELECT event_id AS eventId, text, crc FROM carried WHERE session = ? ORDER BY event_id",
  insert: "INSERT INTO carried (session, event_id, crc, text) VALUES (?, ?, ?, ?)",
  drop: "DELETE FROM carried WHERE session = ?",
} as const;

export class CarriedRows {
  readonly #sql: Statements<typeof STATEMENTS>;

  constructor(db: DatabaseSync) {
    this.#sql = prepareAll(db, STATEMENTS);
  }

  /** Throws `store_corrupt` if a row is damaged. */
  list(session: number): readonly CarriedRow[] {
    return (this.#sql.list.all(session) as unknown as (CarriedRow & { readonly crc: number })[]).map(
      ({ eventId, text, crc }) => {
        if (typeof text === "string" && checksumOf(session, eventId, eventId, 0, text) === crc)
          return { eventId, text };
        throw new LoomError("store_corrupt", `The carried prompts of session number ${session} are damaged`, {
          session,
          event_id: eventId,
        });
      },
    );
  }

  replace(session: number, rows: readonly CarriedRow[]): void {
    this.#sql.drop.run(session);
    for (const { eventId, text } of rows)
      this.#sql.insert.run(session, eventId, checksumOf(session, eventId, eventId, 0, text), text);
  }
}

/** What the writer thread receives. */
export function toCarriedRows(entries: readonly LogEntry[] = []): readonly CarriedRow[] {
  return entries.map(({ record, text }) => ({ eventId: record.envelope.event_id, text }));
}
