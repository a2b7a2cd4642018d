/**
 * A session as an NDJSON file, a stored text a line, and back. The bytes do not change on the way: what an import holds,
 * an export gives again, letter by letter.
 *
 * An import is whole or nothing: the first line that cannot stand where it is ends it, and the session with it.
 */
import { Buffer } from "node:buffer";
import { createRecordReader, DIALECTS } from "../dialects/index.ts";
import { createNdjsonDecoder, readFrames } from "../framing/index.ts";
import { isLoomError, LoomError, type StampedRecord } from "../protocol/index.ts";
import { assertPosition, unknownSession } from "./rules.ts";
import { assertIncarnation } from "./follow-records.ts";
import { describeHolder } from "./holder.ts";
import type { Lease, Log, LogEntry, SessionInfo } from "./log.ts";

/** Gives what the session holds when it is called, a page at a time. */
export async function* exportSession(
  log: Log,
  sessionId: string,
  { after }: { readonly after?: number } = {},
): AsyncGenerator<string, void, undefined> {
  const info = await log.getSession(sessionId);
  if (info === undefined) throw unknownSession(sessionId);
  const { incarnation, firstId, lastId } = info;
  let position = after ?? firstId - 1;
  assertPosition(sessionId, position, firstId, lastId);
  while (position < lastId) {
    const page = await log.read(sessionId, { after: position, limit: lastId - position });
    await assertIncarnation(log, sessionId, incarnation);
    position = page.lastId;
    yield `${page.text}\n`;
  }
}

export interface ImportOptions {
  /** Another name for the session; the one in the file when absent. */
  readonly sessionId?: string;
  readonly title?: string;
}

/** What one append of an import holds; the log's own limits hold too. */
const BATCH_RECORDS = 1000;
const BATCH_BYTES = 1024 * 1024;
const LEASE_MS = 30_000;

/** Refused as `session_exists`, or as `import_invalid` with the line and what is wrong with it. */
export async function importSession(
  log: Log,
  source: AsyncIterable<string | Uint8Array>,
  { sessionId, title }: ImportOptions = {},
): Promise<SessionInfo> {
  if (sessionId !== undefined) await assertNew(log, sessionId);
  const maxRecords = Math.min(BATCH_RECORDS, log.limits.maxBatchRecords);
  const maxBytes = Math.min(BATCH_BYTES, log.limits.maxBatchBytes);
  let target: Target | undefined;
  try {
    let batch: LogEntry[] = [];
    let bytes = 0;
    for await (const { entry, from } of readEntries(source, log.limits.maxEventBytes, sessionId)) {
      target ??= await createTarget(log, entry.record.envelope.session_id, title, from);
      const size = Buffer.byteLength(entry.text);
      if (batch.length >= maxRecords || (batch.length > 0 && bytes + size > maxBytes)) {
        await target.append(batch);
        batch = [];
        bytes = 0;
      }
      batch.push(entry);
      bytes += size;
    }
    if (target === undefined && sessionId === undefined) throw invalid(1, "there is no record, so no session");
    target ??= await createTarget(log, sessionId as string, title, 1);
    if (batch.length > 0) await target.append(batch);
    return await target.finish();
  } catch (error) {
    await target?.abandon();
    throw error;
  }
}

interface ImportedEntry {
  readonly entry: LogEntry;
  /** The id of the first record of the file. */
  readonly from: number;
}

async function* readEntries(
  source: AsyncIterable<string | Uint8Array>,
  maxLineBytes: number,
  renamed: string | undefined,
): AsyncGenerator<ImportedEntry, void, undefined> {
  const readRecord = createRecordReader();
  let from: number | undefined;
  let session = "";
  let nextId = 0;
  for await (const outcomes of readFrames(toBytes(source), createNdjsonDecoder({ maxLineBytes }))) {
    for (const outcome of outcomes) {
      const { line } = outcome;
      if (!outcome.ok) throw invalid(line, outcome.detail);
      const record = readRecord(outcome.text);
      if (record === undefined) throw invalid(line, describeFault(outcome.text));
      const { session_id: own, event_id: id } = record.envelope;
      if (own === undefined || id === undefined) throw invalid(line, "the record has no session_id or no event_id");
      if (from === undefined) {
        if (id < 1) throw invalid(line, `records are numbered from 1 on, not ${id}`);
        from = id;
        nextId = id;
        session = own;
      }
      if (own !== session) throw invalid(line, `the record is of session "${own}", those before of "${session}"`);
      if (id !== nextId) throw invalid(line, `record ${id} stands where ${nextId} must`);
      nextId++;
      if (renamed === undefined || renamed === own) {
        yield { entry: { record: record as StampedRecord, text: outcome.text.trim() }, from };
      } else {
        const text = renameFrame(outcome.text, renamed);
        yield { entry: { record: readRecord(text) as StampedRecord, text }, from };
      }
    }
  }
}

function renameFrame(text: string, session_id: string): string {
  return JSON.stringify({ ...(JSON.parse(text) as object), session_id });
}

/** Why a line is no record, in words. */
function describeFault(text: string): string {
  const [issue] = DIALECTS.loom.createDecoder().decode(text).issues;
  return issue?.message ?? "the line is no record";
}

function invalid(line: number, reason: string): LoomError {
  return new LoomError("import_invalid", `line ${line}: ${reason}`, { line, reason });
}

const utf8 = new TextEncoder();

/** A character may be cut in two between chunks of text: its first half waits for the second. */
async function* toBytes(source: AsyncIterable<string | Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  let half = "";
  for await (const chunk of source) {
    if (typeof chunk !== "string") {
      yield chunk;
      continue;
    }
    const text = half + chunk;
    const cut = /[\uD800-\uDBFF]$/.test(text) ? text.length - 1 : text.length;
    half = text.slice(cut);
    yield utf8.encode(text.slice(0, cut));
  }
  if (half !== "") yield utf8.encode(half);
}

/** The session an import writes, and nobody else while it does. */
interface Target {
  append(entries: readonly LogEntry[]): Promise<void>;
  finish(): Promise<SessionInfo>;
  /** Leaves nothing of it. */
  abandon(): Promise<void>;
}

async function createTarget(log: Log, sessionId: string, title: string | undefined, firstId: number): Promise<Target> {
  await assertNew(log, sessionId);
  const { incarnation } = await log.createSession(sessionId, {
    firstId,
    ...(title === undefined ? {} : { title }),
  });
  const lease = await acquireNew(log, sessionId);
  // Two may have found the name free at the same time; the session is that of the first to write it.
  if (lease.incarnation !== incarnation || lease.lastId !== firstId - 1) {
    await log.release(lease);
    throw sessionExists(sessionId);
  }
  let { lastId } = lease;
  // A source may be slow. If this fails, the next append says so.
  const renewal = setInterval(() => void log.renew(lease, LEASE_MS).catch(() => undefined), LEASE_MS / 3).unref();
  return {
    async append(entries) {
      ({ lastId } = await log.append({ sessionId, epoch: lease.epoch, expectedLastId: lastId, entries }));
    },
    async finish() {
      clearInterval(renewal);
      await log.release(lease);
      const info = await log.getSession(sessionId);
      if (info === undefined) throw unknownSession(sessionId);
      return info;
    },
    async abandon() {
      clearInterval(renewal);
      try {
        if ((await log.getSession(sessionId))?.incarnation === incarnation) await log.deleteSession(sessionId);
      } catch {
        // Why the import failed says more than why it could not be cleared away.
      }
    },
  };
}

async function acquireNew(log: Log, sessionId: string): Promise<Lease> {
  try {
    return await log.acquire(sessionId, { holder: describeHolder(), ttlMs: LEASE_MS });
  } catch (error) {
    throw isLoomError(error, "lease_held") ? sessionExists(sessionId) : error;
  }
}

async function assertNew(log: Log, sessionId: string): Promise<void> {
  if ((await log.getSession(sessionId)) !== undefined) throw sessionExists(sessionId);
}

function sessionExists(sessionId: string): LoomError {
  return new LoomError("session_exists", `there is a session "${sessionId}" already`, { session_id: sessionId });
}
