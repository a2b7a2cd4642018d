/**
 * Shared helpers of the engine tests: the log they run on, a log that fails on demand, and the checks every stored
 * session must pass.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import type { Append, Log } from "../../src/log/log.ts";
import type { LogLimits } from "../../src/log/log-limits.ts";
import { MemoryLog } from "../../src/log/memory-log.ts";
import { openSqliteLog } from "../../src/log/index.ts";
import { type EventOf, type StampedRecord, Verifier } from "../../src/protocol/index.ts";

/** Creates the log under test: in memory, or in a file if LOOM_LOG is `sqlite`. */
export async function createLog(
  options: { readonly limits?: Partial<LogLimits>; readonly now?: () => number } = {},
): Promise<Log> {
  if (process.env["LOOM_LOG"] !== "sqlite") return new MemoryLog(options);
  const folder = await mkdtemp(join(tmpdir(), "loom-engine-"));
  const log = await openSqliteLog(join(folder, "log.db"), options);
  onTestFinished(async () => {
    await log.close();
    await rm(folder, { recursive: true });
  });
  return log;
}

export const SESSION = "sess-1";

export interface FaultyLog extends Log {
  /** All attempted appends. */
  readonly appends: Append[];
  /** Replaces each append. It may call `next`, the real append. */
  onAppend: ((batch: Append, next: () => Promise<{ lastId: number }>) => Promise<{ lastId: number }>) | undefined;
}

/** Wraps a log so that its appends can be made to fail. */
export function wrapLog(log: Log): FaultyLog {
  const state = { appends: [] as Append[], onAppend: undefined as FaultyLog["onAppend"] };
  const append = async (batch: Append): Promise<{ lastId: number }> => {
    state.appends.push(batch);
    const next = (): Promise<{ lastId: number }> => log.append(batch);
    return state.onAppend === undefined ? next() : state.onAppend(batch, next);
  };
  return new Proxy(log, {
    get(target, key) {
      if (key === "append") return append;
      if (key === "appends" || key === "onAppend") return state[key];
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
    set(_target, key, value) {
      if (key !== "onAppend") return false;
      state.onAppend = value as FaultyLog["onAppend"];
      return true;
    },
  }) as FaultyLog;
}

export async function createFaultyLog(): Promise<FaultyLog> {
  return wrapLog(await createLog());
}

export async function readRecords(log: Log, sessionId: string = SESSION): Promise<readonly StampedRecord[]> {
  const records: StampedRecord[] = [];
  for (let after = 0; ;) {
    const page = await log.read(sessionId, { after });
    if (page.isEmpty) return records;
    records.push(...page.records);
    after = page.lastId;
  }
}

/**
 * Reads the session back and checks that it breaks no rule, its times do not decrease, and the counts of ended runs are
 * right.
 */
export async function expectValid(log: Log, sessionId: string = SESSION): Promise<readonly StampedRecord[]> {
  const records = await readRecords(log, sessionId);
  const verifier = new Verifier();
  const errors = records.flatMap((record) =>
    verifier.check(record).flatMap((issue) => (issue.level === "error" ? [{ issue, record }] : [])),
  );
  expect(errors).toEqual([]);
  const times = records.map(({ envelope }) => envelope.ts ?? 0);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  const live = (await log.listRuns(sessionId, { limit: 1000 })).filter(({ status }) => status === "live");
  expect(new Set([...verifier.liveRuns()].map(({ runId }) => runId))).toEqual(new Set(live.map(({ runId }) => runId)));
  for (const { envelope, event } of records) {
    if (event.type !== "run_end") continue;
    const { first_event_id, last_event_id, frame_count } = event as EventOf<"run_end">;
    const own = records.filter((record) => record.envelope.run_id === envelope.run_id);
    expect([first_event_id, last_event_id, frame_count]).toEqual([
      own[0]?.envelope.event_id,
      own.at(-1)?.envelope.event_id,
      own.length,
    ]);
  }
  return records;
}

export function typesOf(records: readonly StampedRecord[]): readonly string[] {
  return records.map(({ event }) => event.type);
}

/** Resolves when `isTrue` returns true. It is checked at every hint of the log. */
export async function waitUntil(
  log: Log,
  isTrue: () => Promise<boolean> | boolean,
  sessionId = SESSION,
): Promise<void> {
  let wake: () => void = () => undefined;
  const unwatch = log.watch(sessionId, () => wake());
  try {
    for (;;) {
      const hint = new Promise<void>((resolve) => {
        wake = resolve;
      });
      if (await isTrue()) return;
      await hint;
    }
  } finally {
    unwatch();
  }
}
