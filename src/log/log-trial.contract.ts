/**
 * What the cases of the log's suite are made of: a log on a clock that is set by hand, records by the shortest way, a
 * writer that keeps count, and refusals by their code.
 */
import { Buffer } from "node:buffer";
import { expect } from "vitest";
import { type AnyEvent, type ErrorCode, isLoomError, type LoomError } from "../protocol/index.ts";
import { createEntry } from "./entry.ts";
import type { Lease, Log, LogEntry, LogLimits, Settlement } from "./log.ts";

/** How the suite comes by a log. */
export interface LogStore {
  /** An empty log. */
  readonly open: (options: { readonly limits?: Partial<LogLimits>; readonly now?: () => number }) => Promise<Log>;
  /** Closes a log and opens its store again, with the same options. Left out where nothing outlives the log. */
  readonly reopen?: (log: Log) => Promise<Log>;
  /** Another log on the same store and with the same options, as another process would open it; or the log itself. */
  readonly second: (log: Log) => Promise<Log>;
}

export interface Trial {
  readonly log: Log;
  /** A second handle on the same store. */
  readonly other: Log;
  readonly clock: { now: number };
}

export const NOON = 1_700_000_000_000;

/** Opens a log twice, hands both over, and closes them. */
export async function withLog(
  store: LogStore,
  use: (trial: Trial) => Promise<void>,
  limits: Partial<LogLimits> = {},
): Promise<void> {
  const clock = { now: NOON };
  const log = await store.open({ limits, now: () => clock.now });
  const other = await store.second(log);
  try {
    await use({ log, other, clock });
  } finally {
    await other.close();
    await log.close();
  }
}

/** An event and the run it belongs to; its id is given by its place. */
export interface Draft {
  readonly event: AnyEvent;
  readonly run: string | undefined;
  readonly ts: number | undefined;
}

function draft(event: AnyEvent, run?: string, ts?: number): Draft {
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
  note: (value: string, run?: string) => draft({ type: "custom", value }, run),
};

/** A whole run of four records. */
export function draftRun(run: string, ts?: number, content?: string): readonly Draft[] {
  return [
    drafts.start(run, ts),
    drafts.chunk(run, content, ts),
    drafts.end(run, "completed", undefined, ts),
    drafts.reply(run, ts),
  ];
}

/** Entries that follow record `after`. Without a time of its own a record has one that grows with its id. */
export function makeEntries(sessionId: string, after: number, list: readonly Draft[]): readonly LogEntry[] {
  return list.map(({ event, run, ts }, index) => {
    const event_id = after + 1 + index;
    const place = { session_id: sessionId, event_id, ts: ts ?? NOON + event_id };
    return createEntry({ envelope: run === undefined ? place : { ...place, run_id: run }, event });
  });
}

export function sizeOf(entries: readonly LogEntry[]): number {
  return entries.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
}

export function textsOf(entries: readonly LogEntry[]): readonly string[] {
  return entries.map(({ text }) => text);
}

export interface Writer {
  readonly lease: Lease;
  lastId: number;
  /** Appends after what it appended before. */
  write(list: readonly Draft[], settle?: readonly Settlement[]): Promise<readonly LogEntry[]>;
}

export async function openWriter(log: Log, sessionId: string, holder = "somebody"): Promise<Writer> {
  const lease = await log.acquire(sessionId, { holder, ttlMs: 60_000, takeover: true });
  const writer: Writer = {
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

/** Every text the session holds, in pages as the log likes to cut them. */
export async function readAll(log: Log, sessionId: string, after = 0): Promise<readonly string[]> {
  const texts: string[] = [];
  for (let page = await log.read(sessionId, { after }); !page.isEmpty;) {
    texts.push(...page.texts);
    page = await log.read(sessionId, { after: page.lastId });
  }
  return texts;
}

/** The refusal, which must be a LoomError of this code. */
export async function expectRefusal(promise: Promise<unknown>, code: ErrorCode): Promise<LoomError> {
  const outcome = await promise.then(
    () => "no refusal",
    (error: unknown) => error,
  );
  if (!isLoomError(outcome)) throw new Error(`expected ${code}`, { cause: outcome });
  expect(outcome.code).toBe(code);
  expect(outcome.message).not.toBe("");
  return outcome;
}
