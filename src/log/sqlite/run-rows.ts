/** Reads and writes the rows of runs and commands. Each row has a seal, see `sqlite/seal.ts`. */
import type { DatabaseSync } from "node:sqlite";
import { prepareAll, type Statements } from "../../sqlite/database.ts";
import { assertSeal, sealOf } from "../../sqlite/seal.ts";
import { assertRunLimit } from "../change-rules.ts";
import type { IndexedRunStart, IndexedRunEnd } from "../index-changes.ts";
import { type CommandOutcome, MAX_QUEUED_MESSAGES, type RunInfo } from "../log.ts";
import type { RunLimit } from "../log-limits.ts";
import { type CommandRow, describeRun, type RunRow } from "../stored-rows.ts";

type SealedRun = RunRow & { readonly seal: number };
type SealedCommand = CommandRow & { readonly seal: number };

const RUN_COLUMNS = `run_id AS runId, status, first_id AS firstId, last_id AS lastId, started_at AS startedAt,
  ended_at AS endedAt, code, request_id AS requestId, agent, seal`;

/** Runs that may end while another one is live. Runs written by Loom do not overlap; imported ones may. */
const MAX_CONCURRENT_RUNS = 200;

const RUN_STATEMENTS = {
  find: `SELECT ${RUN_COLUMNS} FROM runs WHERE session = ? AND run_id = ?`,
  list: `SELECT ${RUN_COLUMNS} FROM runs WHERE session = ? AND first_id < ? ORDER BY first_id DESC LIMIT ?`,
  live: `SELECT ${RUN_COLUMNS} FROM runs INDEXED BY runs_live WHERE session = ? AND first_id <= ? AND last_id IS NULL
    ORDER BY first_id LIMIT 1`,
  allLive: `SELECT ${RUN_COLUMNS} FROM runs INDEXED BY runs_live WHERE session = ? AND last_id IS NULL ORDER BY first_id`,
  endedAfter: `SELECT ${RUN_COLUMNS} FROM runs INDEXED BY runs_by_last WHERE session = ? AND last_id > ? ORDER BY last_id
    LIMIT ${MAX_CONCURRENT_RUNS}`,
  endedBefore: `SELECT ${RUN_COLUMNS} FROM runs INDEXED BY runs_by_last WHERE session = ? AND last_id < ? ORDER BY last_id DESC LIMIT 1`,
  endedUpTo: `SELECT ${RUN_COLUMNS} FROM runs WHERE session = ? AND last_id <= ?`,
  save: `INSERT OR REPLACE INTO runs (session, run_id, status, first_id, last_id, started_at, ended_at, code, request_id,
    agent, seal, actor) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
} as const;

export class RunRows {
  readonly #sql: Statements<typeof RUN_STATEMENTS>;

  constructor(db: DatabaseSync) {
    this.#sql = prepareAll(db, RUN_STATEMENTS);
  }

  find(session: number, runId: string): RunInfo | undefined {
    const row = this.#sql.find.get(session, runId) as SealedRun | undefined;
    return row && readRun(session, row);
  }

  /** Lists runs that started before record `before`, newest first. */
  list(session: number, before: number, limit: number): readonly RunInfo[] {
    const rows = this.#sql.list.all(session, before, limit) as unknown as SealedRun[];
    return rows.map((row) => readRun(session, row));
  }

  /** Lists live runs, oldest first. */
  listLive(session: number): readonly RunInfo[] {
    const rows = this.#sql.allLive.all(session) as unknown as SealedRun[];
    return rows.map((row) => readRun(session, row));
  }

  /** Returns the earliest run that started at or before record `id` and had not ended there. */
  findSpanning(session: number, id: number): RunInfo | undefined {
    const live = this.#sql.live.get(session, id) as SealedRun | undefined;
    let first = live && readRun(session, live);
    for (const row of this.#sql.endedAfter.iterate(session, id) as Iterable<unknown>) {
      const run = readRun(session, row as SealedRun);
      if (run.firstId <= id && (first === undefined || run.firstId < first.firstId)) first = run;
    }
    return first;
  }

  /** Returns the last run that ended before record `id`. */
  findEndedBefore(session: number, id: number): RunInfo | undefined {
    const row = this.#sql.endedBefore.get(session, id) as SealedRun | undefined;
    return row && readRun(session, row);
  }

  /** Throws `store_corrupt` if a run that ended at or before record `id` is damaged. */
  assertEnded(session: number, id: number): void {
    for (const row of this.#sql.endedUpTo.iterate(session, id) as Iterable<unknown>) readRun(session, row as SealedRun);
  }

  /** Returns false if the run has already started. */
  begin(session: number, { actor, ...start }: IndexedRunStart): boolean {
    if (this.find(session, start.runId) !== undefined) return false;
    const open = { status: "live", lastId: undefined, endedAt: undefined, code: undefined } as const;
    this.#save(session, { ...start, ...open }, actor ?? null);
    return true;
  }

  /** Returns false if the run has already ended. */
  end(session: number, end: IndexedRunEnd): boolean {
    const run = this.find(session, end.runId);
    if (run?.status !== "live") return false;
    this.#save(session, { ...run, ...end }, null);
    return true;
  }

  #save(session: number, run: RunInfo, actor: string | null): void {
    const values = valuesOf(session, run);
    this.#sql.save.run(...values, sealOf(values), actor);
  }
}

function valuesOf(session: number, run: RunInfo): (string | number | null)[] {
  const { runId, status, firstId, lastId, startedAt, endedAt, code, requestId, agent } = run;
  const values = [session, runId, status, firstId, lastId, startedAt, endedAt, code, requestId, agent];
  return values.map((value) => value ?? null);
}

function readRun(session: number, row: SealedRun): RunInfo {
  const run = describeRun(row);
  assertSeal(row.seal, valuesOf(session, run), `run "${row.runId}"`);
  return run;
}

const COMMAND_COLUMNS = "command_id AS commandId, kind, body, created_at AS createdAt, outcome, seal";

const COMMAND_STATEMENTS = {
  find: `SELECT ${COMMAND_COLUMNS} FROM commands WHERE session = ? AND command_id = ?`,
  pending: `SELECT ${COMMAND_COLUMNS} FROM commands WHERE session = ? AND outcome IS NULL ORDER BY seq LIMIT ?`,
  count: `SELECT count(*) AS pending, coalesce(sum(kind = 'enqueue'), 0) AS messages FROM commands
    WHERE session = ? AND outcome IS NULL`,
  sessions: `SELECT session_id AS sessionId FROM commands JOIN sessions ON key = session
    WHERE command_id = ?1 AND session_id IS NOT NULL AND (?2 IS NULL OR owner = ?2) ORDER BY seq DESC LIMIT ?3`,
  queued: `SELECT ${COMMAND_COLUMNS} FROM commands WHERE session = ? AND outcome IS NULL AND kind = 'enqueue'
    ORDER BY seq LIMIT ${MAX_QUEUED_MESSAGES}`,
  countRuns: `SELECT
    (SELECT count(*) FROM runs r INDEXED BY runs_of_actor JOIN sessions s ON s.key = r.session
      WHERE r.actor = ?1 AND r.last_id IS NULL AND s.session_id IS NOT NULL) +
    (SELECT count(*) FROM commands c INDEXED BY commands_of_actor JOIN sessions s ON s.key = c.session
      WHERE c.actor = ?1 AND c.outcome IS NULL AND s.session_id IS NOT NULL) AS runs`,
  insert: `INSERT INTO commands (session, command_id, kind, body, created_at, outcome, seal, actor)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  settle: "UPDATE commands SET outcome = ?, settled_at = ?, seal = ? WHERE session = ? AND command_id = ?",
} as const;

export class CommandRows {
  readonly #sql: Statements<typeof COMMAND_STATEMENTS>;

  constructor(db: DatabaseSync) {
    this.#sql = prepareAll(db, COMMAND_STATEMENTS);
  }

  find(session: number, commandId: string): CommandRow | undefined {
    const row = this.#sql.find.get(session, commandId) as SealedCommand | undefined;
    return row && verifyCommand(session, row);
  }

  listPending(session: number, limit: number): readonly CommandRow[] {
    const rows = this.#sql.pending.all(session, limit) as unknown as SealedCommand[];
    return rows.map((row) => verifyCommand(session, row));
  }

  /** Lists pending messages, oldest first. */
  listQueued(session: number): readonly CommandRow[] {
    const rows = this.#sql.queued.all(session) as unknown as SealedCommand[];
    return rows.map((row) => verifyCommand(session, row));
  }

  /** Lists the IDs of the sessions with this command, the latest command first. */
  listSessions(commandId: string, owner: string | undefined, limit: number): readonly string[] {
    const rows = this.#sql.sessions.all(commandId, owner ?? null, limit) as unknown as { sessionId: string }[];
    return rows.map(({ sessionId }) => sessionId);
  }

  countPending(session: number): { readonly pending: number; readonly messages: number } {
    return this.#sql.count.get(session) as { pending: number; messages: number };
  }

  /** Throws `too_many_runs` if the principal may not have another run. Drafts and deleted sessions do not count. */
  assertRunLimit(limit: RunLimit | undefined): void {
    if (limit === undefined) return;
    const { runs } = this.#sql.countRuns.get(limit.actor) as { runs: number };
    assertRunLimit(runs, limit);
  }

  insert(session: number, row: CommandRow, actor: string | null): void {
    const values = valuesOfCommand(session, row);
    this.#sql.insert.run(...values, sealOf(values), actor);
  }

  settle(session: number, row: CommandRow, outcome: CommandOutcome, now: number): void {
    const settled = { ...row, outcome: JSON.stringify(outcome) };
    this.#sql.settle.run(settled.outcome, now, sealOf(valuesOfCommand(session, settled)), session, row.commandId);
  }
}

function valuesOfCommand(session: number, row: CommandRow): (string | number | null)[] {
  return [session, row.commandId, row.kind, row.body, row.createdAt, row.outcome];
}

function verifyCommand(session: number, { seal, ...row }: SealedCommand): CommandRow {
  assertSeal(seal, valuesOfCommand(session, row), `command "${row.commandId}"`);
  return row;
}
