/**
 * The journal of commits: one row per transaction with the sessions that it changed. A process that watches sessions
 * finds the changes of all other processes with one query, however many sessions it watches.
 *
 * Invariants:
 * - Every transaction that changes the store adds a row, in the same transaction.
 * - Sequence numbers increase by 1. Only old rows are deleted, so a gap before the first row shows that some were
 *   missed.
 */
import type { DatabaseSync } from "node:sqlite";
import { prepareAll, type Statements } from "../../sqlite/database.ts";

/** Rows that are kept, and how often older ones are deleted. */
const KEPT_ROWS = 1024;
const TRIM_INTERVAL = 256;

const WRITE_STATEMENTS = {
  changes: "SELECT total_changes() AS count",
  add: "INSERT INTO commits (writer, sessions) VALUES (?, ?)",
  trim: "DELETE FROM commits WHERE seq <= ?",
  // The last row is kept, so that numbers continue.
  trimDeleted: `DELETE FROM commits WHERE seq <= (SELECT max(seq) FROM commits
    WHERE sessions LIKE '%"%' AND seq < (SELECT max(seq) FROM commits))`,
} as const;

/** The writing side, in the writer thread. */
export class CommitJournal {
  readonly #sql: Statements<typeof WRITE_STATEMENTS>;
  readonly #writer: number;
  readonly #sessions = new Set<number | string>();
  #changesBefore = 0;

  /** `writer` identifies the log whose commits are recorded. */
  constructor(db: DatabaseSync, writer: number) {
    this.#sql = prepareAll(db, WRITE_STATEMENTS);
    this.#writer = writer;
  }

  begin(): void {
    this.#sessions.clear();
    this.#changesBefore = this.#countChanges();
  }

  /** Records that watchers of a session have something to read. A deleted session has no key, only its ID. */
  note(session: number | string): void {
    this.#sessions.add(session);
  }

  /** Deletes the rows with the IDs of deleted sessions, and all older ones. */
  trimDeleted(): void {
    this.#sql.trimDeleted.run();
  }

  /** Records a change that SQLite does not count as a changed row. */
  noteUncounted(): void {
    this.#changesBefore = -1;
  }

  /** Adds the row of this transaction and returns its number; undefined if the transaction changed nothing. */
  write(): number | undefined {
    if (this.#countChanges() === this.#changesBefore) return undefined;
    const { lastInsertRowid } = this.#sql.add.run(this.#writer, JSON.stringify([...this.#sessions]));
    const seq = Number(lastInsertRowid);
    if (seq % TRIM_INTERVAL === 0) this.#sql.trim.run(seq - KEPT_ROWS);
    return seq;
  }

  #countChanges(): number {
    return this.#sql.changes.get()?.["count"] as number;
  }
}

/** Returns the number of the last commit. */
export function readLastCommit(db: DatabaseSync): number {
  return Number(db.prepare("SELECT coalesce(max(seq), 0) AS seq FROM commits").get()?.["seq"]);
}

const READ_STATEMENTS = {
  range: `SELECT coalesce((SELECT min(seq) FROM commits), 1) AS first,
    coalesce((SELECT max(seq) FROM commits), 0) AS last`,
  sessions: `SELECT DISTINCT CASE typeof(value) WHEN 'text' THEN value ELSE sessions.session_id END AS sessionId
    FROM commits, json_each(commits.sessions) LEFT JOIN sessions ON sessions.key = json_each.value
    WHERE seq > ? AND writer <> ?`,
} as const;

/** Changes by other processes since a position in the journal. */
export interface ExternalChanges {
  /** Position of the last commit. */
  readonly seq: number;
  /** IDs of the changed sessions; undefined if the journal does not have all commits since the position. */
  readonly sessions: readonly string[] | undefined;
}

/** The reading side. */
export class CommitJournalReader {
  readonly #sql: Statements<typeof READ_STATEMENTS>;

  constructor(db: DatabaseSync) {
    this.#sql = prepareAll(db, READ_STATEMENTS);
  }

  /** Reads the changes after position `after` by other writers than `writer`. Call it in a transaction. */
  read(after: number | undefined, writer: number): ExternalChanges {
    const { first, last } = this.#sql.range.get() as { first: number; last: number };
    // Without a new row, a program that does not know the journal has changed the store.
    if (after === undefined || after >= last || first > after + 1) return { seq: last, sessions: undefined };
    const rows = this.#sql.sessions.all(after, writer) as { sessionId: string | null }[];
    return { seq: last, sessions: rows.flatMap(({ sessionId }) => sessionId ?? []) };
  }
}
