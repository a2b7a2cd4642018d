/** Fixtures of the log tests: a log with a manual clock, short record drafts, a writer, and a check of error codes. */
import { Buffer } from "node:buffer";
import { expect } from "vitest";
import { sampleCases } from "../../sampling.ts";
import { type AnyEvent, type ErrorCode, isLoomError, type LoomError } from "../../../src/protocol/index.ts";
import type { LlmContentEvent } from "../../../src/protocol/events.generated.ts";
import { createEntry } from "../../../src/log/entry.ts";
import type { Lease, Log, LogEntry, Settlement } from "../../../src/log/log.ts";
import type { LogLimits } from "../../../src/log/log-limits.ts";

/** How the tests open a log. */
export interface LogStore {
  /** Opens an empty log. */
  readonly open: (options: { readonly limits?: Partial<LogLimits>; readonly now?: () => number }) => Promise<Log>;
  /** Closes a log and opens its store again with the same options. Absent if nothing is durable. */
  readonly reopen?: (log: Log) => Promise<Log>;
  /** Opens another log on the same store, as another process would; or returns the log itself. */
  readonly second: (log: Log) => Promise<Log>;
  /** Whether tests use one log after the other, which saves its start. Default: each test opens its own. */
  readonly isShared?: boolean;
  /** Whether the log knows that the process of a holder has ended; otherwise the lease decides. Default: true. */
  readonly seesProcesses?: boolean;
}

export interface LogFixture {
  readonly log: Log;
  /** A second handle on the same store. */
  readonly other: Log;
  readonly clock: { now: number };
}

/** Cases of a table. A shared log is slow and tests a sample; the log in memory tests all of them. */
export function casesOf<T>({ isShared = false }: LogStore, cases: readonly T[]): readonly T[] {
  return isShared ? sampleCases(cases) : cases;
}

export const NOON = 1_700_000_000_000;

/** Opens two handles of a log, passes them to the test, and closes them. A shared log is emptied instead. */
export async function withLog(
  store: LogStore,
  use: (trial: LogFixture) => Promise<void>,
  limits?: Partial<LogLimits>,
): Promise<void> {
  const shared = limits === undefined ? idleLogs.get(store) : undefined;
  if (limits === undefined) idleLogs.delete(store);
  const trial = shared ?? (await openLog(store, limits));
  let isReusable = store.isShared === true && limits === undefined;
  try {
    await use(trial);
  } catch (error) {
    isReusable = false;
    throw error;
  } finally {
    if (isReusable) idleLogs.set(store, await emptyLog(trial));
    else await closeLog(trial);
  }
}

/** The shared log of each store while no test uses it. */
const idleLogs = new Map<LogStore, LogFixture>();

/** Closes the log that the tests of this store shared. */
export async function closeSharedLog(store: LogStore): Promise<void> {
  const trial = idleLogs.get(store);
  idleLogs.delete(store);
  if (trial !== undefined) await closeLog(trial);
}

async function openLog(store: LogStore, limits?: Partial<LogLimits>): Promise<LogFixture> {
  const clock = { now: NOON };
  const log = await store.open({ limits: limits ?? {}, now: () => clock.now });
  // A second handle takes long to open. The tests with the default limits have one.
  const isAlone = store.isShared === true && limits !== undefined;
  return { log, other: isAlone ? log : await store.second(log), clock };
}

async function closeLog({ log, other }: LogFixture): Promise<void> {
  if (other !== log) await other.close();
  await log.close();
}

async function emptyLog(trial: LogFixture): Promise<LogFixture> {
  const { log, clock } = trial;
  for (let sessions = await log.listSessions(); sessions.length > 0; sessions = await log.listSessions())
    await Promise.all(sessions.map(({ sessionId }) => log.deleteSession(sessionId)));
  clock.now = NOON;
  return trial;
}

/** An event and its run; its record ID follows from its position. */
export interface RecordDraft {
  readonly event: AnyEvent;
  readonly run: string | undefined;
  readonly ts: number | undefined;
}

function draft(event: AnyEvent, run?: string, ts?: number): RecordDraft {
  return { event, run, ts };
}

export const drafts = {
  start: (run: string, ts?: number) =>
    draft({ type: "run_start", run_id: run, request_id: `req ${run}`, agent: "react" }, run, ts),
  chunk: (run: string, content = "x", ts?: number) => draft({ type: "message_chunk", content, id: "think" }, run, ts),
  end: (run: string, status: "completed" | "error" | "cancelled", code?: string, ts?: number) =>
    draft({ type: "run_end", status, ...(code === undefined ? {} : { code }) }, run, ts),
  reply: (run: string, ts?: number) => draft({ type: "reply", reply: "done" }, run, ts),
  checkpoint: (key: string, run?: string) =>
    draft({ type: "checkpoint", checkpoint_id: key, timestamp: "2023-11-14T22:13:20Z", step: 0, state: {} }, run),
  todo: (key: string, run?: string) => draft({ type: "todo_list", list_id: key, items: [] }, run),
  permit: (name: string, rule: "allow" | "ask", run?: string) => draft({ type: "tool_permission", name, rule }, run),
  ask: (call: string, run: string) =>
    draft({ type: "tool_approval", call_id: call, name: "write_file", arguments: { path: call } }, run),
  answer: (call: string, run: string) =>
    draft({ type: "tool_approval_result", call_id: call, decision: "approved" }, run),
  prompt: (run: string, parts: LlmContentEvent["parts"], ts?: number) =>
    draft({ type: "llm_content", llm_call_id: run, role: "request", parts } satisfies LlmContentEvent, run, ts),
  note: (value: string, run?: string) => draft({ type: "custom", value }, run),
};

/** Drafts a complete run of four records. */
export function draftRun(run: string, ts?: number, content?: string): readonly RecordDraft[] {
  return [
    drafts.start(run, ts),
    drafts.chunk(run, content, ts),
    drafts.end(run, "completed", undefined, ts),
    drafts.reply(run, ts),
  ];
}

/** Creates entries that follow record `after`. Without a `ts`, the time of a record increases with its ID. */
export function makeEntries(sessionId: string, after: number, list: readonly RecordDraft[]): readonly LogEntry[] {
  return list.map(({ event, run, ts }, index) => {
    const event_id = after + 1 + index;
    const envelope = { session_id: sessionId, event_id, ts: ts ?? NOON + event_id };
    return createEntry({ envelope: run === undefined ? envelope : { ...envelope, run_id: run }, event });
  });
}

export function sizeOf(entries: readonly LogEntry[]): number {
  return entries.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
}

export function textsOf(entries: readonly LogEntry[]): readonly string[] {
  return entries.map(({ text }) => text);
}

export interface SessionWriter {
  readonly lease: Lease;
  lastId: number;
  /** Appends after the last record it wrote. */
  write(list: readonly RecordDraft[], settle?: readonly Settlement[]): Promise<readonly LogEntry[]>;
}

export async function openWriter(log: Log, sessionId: string, holder = "writer"): Promise<SessionWriter> {
  const lease = await log.acquire(sessionId, { holder, ttlMs: 60_000, takeover: true });
  const writer: SessionWriter = {
    lease,
    lastId: lease.lastId,
    async write(list, settle) {
      const entries = makeEntries(sessionId, writer.lastId, list);
      const batch = { sessionId, epoch: lease.epoch, expectedLastId: writer.lastId, entries };
      const { lastId } = await log.append(settle === undefined ? batch : { ...batch, settle });
      writer.lastId = lastId;
      return entries;
    },
  };
  return writer;
}

/** Reads all texts of a session, page by page. */
export async function readAll(log: Log, sessionId: string, after = 0): Promise<readonly string[]> {
  const texts: string[] = [];
  for (let page = await log.read(sessionId, { after }); !page.isEmpty;) {
    texts.push(...page.texts);
    page = await log.read(sessionId, { after: page.lastId });
  }
  return texts;
}

/** Returns the error, which must be a LoomError with this code. */
export async function expectRefusal(promise: Promise<unknown>, code: ErrorCode): Promise<LoomError> {
  const outcome = await promise.then(
    () => "no error",
    (error: unknown) => error,
  );
  if (!isLoomError(outcome)) throw new Error(`expected ${code}`, { cause: outcome });
  expect(outcome.code).toBe(code);
  expect(outcome.message).not.toBe("");
  return outcome;
}
