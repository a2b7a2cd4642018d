/**
 * A session as an NDJSON file, a stored text a line, and back. The texts do not change on the way: what an import holds,
 * an export gives again, letter by letter.
 *
 * Invariants:
 * - An import writes only a session it holds, and after nothing but the beginning of what it imports: it overwrites
 *   nothing, and the same import again goes on where one that was killed had come to.
 * - One that fails takes away the session it made itself, as long as nobody else has taken it; any other stays.
 */
import { Buffer } from "node:buffer";
import { createRecordReader, DIALECTS } from "../dialects/index.ts";
import { createNdjsonDecoder, readFrames } from "../framing/index.ts";
import { type ErrorCode, isLoomError, LoomError, type StampedRecord } from "../protocol/index.ts";
import { assertBatch } from "./entry.ts";
import { describeHolder } from "./holder.ts";
import type { CreateOptions, Lease, Log, LogEntry, LogLimits, SessionInfo } from "./log.ts";
import { readPages } from "./read-pages.ts";
import { assertName, assertOwner, assertPosition, assertTitle, sessionExists, unknownSession } from "./rules.ts";

/** Gives what the session holds when it is called, a page at a time. */
export async function* exportSession(
  log: Log,
  sessionId: string,
  { after }: { readonly after?: number } = {},
): AsyncGenerator<string, void, undefined> {
  const info = await log.getSession(sessionId);
  if (info === undefined) throw unknownSession(sessionId);
  const position = after ?? info.firstId - 1;
  assertPosition(sessionId, position, info.firstId, info.lastId);
  for await (const page of readPages(log, info, position)) yield `${page.text}\n`;
}

export interface ImportOptions {
  /** Another name for the session; the one in the file when absent. */
  readonly sessionId?: string;
  /** Of a session the import makes; one that is there keeps its own. */
  readonly title?: string;
  /** Whose it is then, `local` when absent. Where one is named, a session that is there and another's is refused. */
  readonly owner?: string;
}

/** What one append of an import holds; the log's own limits hold too. */
const BATCH_RECORDS = 1000;
const BATCH_BYTES = 1024 * 1024;
const LEASE_MS = 30_000;

const readRecord = createRecordReader();

/**
 * Refused as `session_exists` when the session is there and is not the beginning of what is imported, or somebody writes
 * it; as `import_invalid` with the line and what is wrong with it.
 */
export async function importSession(
  log: Log,
  source: AsyncIterable<string | Uint8Array>,
  { sessionId, title, owner }: ImportOptions = {},
): Promise<SessionInfo> {
  assertTitle(title);
  assertOwner(owner);
  const fresh = { ...(title === undefined ? {} : { title }), ...(owner === undefined ? {} : { owner }) };
  if (sessionId !== undefined) {
    assertName("session", sessionId);
    assertFree(await log.getSession(sessionId), owner);
  }
  let target: Target | undefined;
  try {
    for await (const { entry, from } of readEntries(source, log.limits, sessionId)) {
      target ??= await openTarget(log, entry.record.envelope.session_id, { ...fresh, firstId: from });
      await target.take(entry);
    }
    if (target === undefined && sessionId === undefined) throw invalid(1, "there is no record, so no session");
    target ??= await openTarget(log, sessionId as string, { ...fresh, firstId: 1 });
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
  limits: LogLimits,
  renamed: string | undefined,
): AsyncGenerator<ImportedEntry, void, undefined> {
  const decoder = createNdjsonDecoder({ maxLineBytes: limits.maxEventBytes });
  let from: number | undefined;
  let session = "";
  let nextId = 0;
  for await (const outcomes of readFrames(toBytes(source), decoder)) {
    for (const outcome of outcomes) {
      const { line } = outcome;
      if (!outcome.ok)
        throw invalid(line, outcome.detail, outcome.reason === "line_too_long" ? "event_too_large" : undefined);
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
      const entry =
        renamed === undefined || renamed === own
          ? { record: record as StampedRecord, text: outcome.text.trim() }
          : renameEntry(outcome.text.trim(), own, renamed);
      assertEntry(entry, line, limits);
      yield { entry, from };
    }
  }
}

/** Only the name changes where the text begins with it, as our own do. Any other is written anew from what it says. */
export function renameEntry(text: string, own: string, session_id: string): LogEntry {
  const start = `{"session_id":${JSON.stringify(own)},`;
  if (text.startsWith(start)) {
    const renamed = `{"session_id":${JSON.stringify(session_id)},${text.slice(start.length)}`;
    const record = readRecord(renamed);
    // A field may be there twice, and the last one counts.
    if (record?.envelope.session_id === session_id) return { record: record as StampedRecord, text: renamed };
  }
  const renamed = JSON.stringify({ ...(JSON.parse(text) as object), session_id });
  return { record: readRecord(renamed) as StampedRecord, text: renamed };
}

/** What the log would say of the record, said of its line. */
function assertEntry(entry: LogEntry, line: number, limits: LogLimits): void {
  const { session_id: sessionId, event_id } = entry.record.envelope;
  try {
    assertName("session", sessionId);
    assertBatch({ sessionId, epoch: 0, expectedLastId: event_id - 1, entries: [entry] }, limits);
  } catch (error) {
    throw isLoomError(error) ? invalid(line, error.message, error.code) : error;
  }
}

/** Why a line is no record, in words. */
function describeFault(text: string): string {
  const [issue] = DIALECTS.loom.createDecoder().decode(text).issues;
  return issue?.message ?? "the line is no record";
}

/** `code` is the one that the fault has elsewhere, if it has one. */
function invalid(line: number, reason: string, code?: ErrorCode): LoomError {
  const details = { line, reason, ...(code === undefined ? {} : { code }) };
  return new LoomError("import_invalid", `line ${line}: ${reason}`, details);
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
  /** The next record: held against the one that is there, or written. */
  take(entry: LogEntry): Promise<void>;
  finish(): Promise<SessionInfo>;
  /** Leaves nothing of a session that was made here, and any other as it is. */
  abandon(): Promise<void>;
}

async function openTarget(
  log: Log,
  sessionId: string,
  fresh: CreateOptions & { readonly firstId: number },
): Promise<Target> {
  const { firstId, owner } = fresh;
  const known = await log.getSession(sessionId);
  const info = known ?? (await log.createSession(sessionId, fresh));
  assertFree(info, owner);
  if (info.firstId !== firstId) throw sessionExists(sessionId, `it begins at record ${info.firstId}, not ${firstId}`);
  // Somebody else may have made it since it was looked for, and written it.
  const isOurs = known === undefined && info.lastId < firstId;
  const pen = createPen(log, info);
  // What was not made here is held against the import first: one that is refused then has changed nothing at all.
  if (isOurs) await pen.hold();
  const stored = readTexts(log, info);
  let position = firstId - 1;
  return {
    async take(entry) {
      position++;
      if (position > info.lastId) await pen.write(entry);
      else if ((await stored.next()).value !== entry.text)
        throw sessionExists(sessionId, `its record ${position} is another`);
    },
    async finish() {
      if (position < info.lastId) throw sessionExists(sessionId, `it goes on after record ${position}`);
      await pen.flush();
      await pen.release();
      const done = await log.getSession(sessionId);
      if (done === undefined) throw unknownSession(sessionId);
      return done;
    },
    async abandon() {
      // Why the import failed says more than why it could not be cleared away.
      if (isOurs) await pen.erase().catch(() => undefined);
      await pen.release().catch(() => undefined);
    },
  };
}

async function* readTexts(log: Log, info: SessionInfo): AsyncGenerator<string, void, undefined> {
  for await (const { texts } of readPages(log, info, info.firstId - 1)) yield* texts;
}

/** Writes after the end of a session, in batches. It takes the session when it first must. */
function createPen(log: Log, { sessionId, incarnation, lastId: end }: SessionInfo) {
  const maxRecords = Math.min(BATCH_RECORDS, log.limits.maxBatchRecords);
  const maxBytes = Math.min(BATCH_BYTES, log.limits.maxBatchBytes);
  let lease: Lease | undefined;
  let renewal: NodeJS.Timeout | undefined;
  let lastId = end;
  let batch: LogEntry[] = [];
  let bytes = 0;

  async function hold(): Promise<Lease> {
    if (lease !== undefined) return lease;
    const taken = await acquireFree(log, sessionId);
    // Two may have found it free at the same time; it is that of the first to write it.
    if (taken.incarnation !== incarnation || taken.lastId !== end) {
      await log.release(taken);
      throw sessionExists(sessionId, "somebody else has written it meanwhile");
    }
    // A source may be slow. If this fails, the next append says so.
    renewal = setInterval(() => void log.renew(taken, LEASE_MS).catch(() => undefined), LEASE_MS / 3).unref();
    lease = taken;
    return taken;
  }

  async function flush(): Promise<void> {
    if (batch.length === 0) return;
    const { epoch } = await hold();
    ({ lastId } = await log.append({ sessionId, epoch, expectedLastId: lastId, entries: batch }));
    batch = [];
    bytes = 0;
  }

  return {
    hold,
    flush,
    async write(entry: LogEntry): Promise<void> {
      const size = Buffer.byteLength(entry.text);
      if (batch.length >= maxRecords || bytes + size > maxBytes) await flush();
      batch.push(entry);
      bytes += size;
    },
    async release(): Promise<void> {
      clearInterval(renewal);
      if (lease !== undefined) await log.release(lease);
    },
    /** Refused when the session has passed to somebody else: what they wrote must stay. */
    async erase(): Promise<void> {
      if (lease !== undefined) await log.deleteSession(sessionId, { epoch: lease.epoch });
    },
  };
}

async function acquireFree(log: Log, sessionId: string): Promise<Lease> {
  try {
    return await log.acquire(sessionId, { holder: describeHolder(), ttlMs: LEASE_MS });
  } catch (error) {
    throw isLoomError(error, "lease_held") ? sessionExists(sessionId, "somebody is writing it") : error;
  }
}

/** What is in another's session, and whether somebody writes it, is not told. */
function assertFree(info: SessionInfo | undefined, owner: string | undefined): void {
  if (info !== undefined && owner !== undefined && info.owner !== owner) throw sessionExists(info.sessionId);
  if (info?.holder !== undefined) throw sessionExists(info.sessionId, "somebody is writing it");
}
