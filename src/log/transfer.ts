/**
 * Exports a session as NDJSON, one stored text per line, and imports it. Texts are not changed: the export of an
 * imported session is identical to the imported file. Carried records (`Log.readCarried`) are the first lines.
 *
 * Invariants:
 * - An import writes a session only with its lease, and only continues records that equal the start of the import. It
 *   overwrites nothing, and running it again continues an interrupted import.
 * - A failed import deletes the session if it created it and no other writer has taken it. Other sessions are kept.
 */
import { Buffer } from "node:buffer";
import { isDeepStrictEqual } from "node:util";
import { createRecordReader } from "../dialects/loom/decode.ts";
import { createNdjsonDecoder, readFrames } from "../framing/index.ts";
import { type ErrorCode, isLoomError, LoomError, type StampedRecord } from "../protocol/index.ts";
import { assertBatch, createEntry, isCarried, STORED_DIALECT } from "./entry.ts";
import { describeHolder } from "./holder.ts";
import type { CreateOptions, Lease, Log, LogEntry, SessionInfo } from "./log.ts";
import type { LogLimits } from "./log-limits.ts";
import { hideContent } from "./model-content.ts";
import { quotaExceeded } from "./owner-quota.ts";
import { readPages } from "./read-pages.ts";
import { releaseLease } from "./release-lease.ts";
import { assertSessionId, assertOwner, assertTitle, sessionExists, assertSession } from "./rules.ts";

/** Options of `exportSession`. */
export interface ExportSessionOptions {
  /** Whether the export contains what models were sent, which is for the owner of the session only. Default: true. */
  readonly isForOwner?: boolean;
}

/**
 * Yields the records the session has when it is called, as NDJSON, one page at a time. Throws `unknown_session`, and
 * `evicted` if some are pruned in the meantime.
 */
export async function* exportSession(
  log: Log,
  sessionId: string,
  { isForOwner = true }: ExportSessionOptions = {},
): AsyncGenerator<string, void, undefined> {
  const info = assertSession(await log.getSession(sessionId), sessionId);
  if (isForOwner) for (const { text } of await log.readCarried(sessionId)) yield `${text}\n`;
  for await (const page of readPages(log, info, info.firstId - 1))
    yield `${isForOwner || !page.text.includes(CONTENT_MARK) ? page.text : page.texts.map(hideText).join("\n")}\n`;
}

/** A text without it has no content that is for the owner only. */
const CONTENT_MARK = "llm_content";

function hideText(text: string): string {
  const record = text.includes(CONTENT_MARK) ? readRecord(text) : undefined;
  if (record?.event.type !== "llm_content") return text;
  return createEntry({ ...record, event: hideContent(record.event) } as StampedRecord).text;
}

/** Options of `importSession`. */
export interface ImportSessionOptions {
  /** ID of the session. Default: the ID in the file. */
  readonly sessionId?: string;
  /** Title of the session if the import creates it. */
  readonly title?: string;
  /**
   * Owner of the session if the import creates it. Default: `local`. Throws `session_exists` if an owner is given and
   * the session exists with another owner.
   */
  readonly owner?: string;
}

/** Size of one append; the limits of the log also apply. */
const BATCH_RECORDS = 1000;
const BATCH_BYTES = 1024 * 1024;
const LEASE_MS = 30_000;

const readRecord = createRecordReader();

/**
 * Imports an exported session, given as text or bytes. An existing session is continued if its records equal the start
 * of the file.
 *
 * Throws `session_exists` if the existing records differ or another writer holds the session, and `import_invalid`,
 * with the line and the reason, if the file is not valid.
 */
export async function importSession(
  log: Log,
  source: AsyncIterable<string | Uint8Array>,
  { sessionId, title, owner }: ImportSessionOptions = {},
): Promise<SessionInfo> {
  assertTitle(title);
  assertOwner(owner);
  if (sessionId !== undefined) {
    assertSessionId(sessionId);
    assertImportable(await log.getSession(sessionId), owner);
  }
  let target: SessionTarget | undefined;
  try {
    for await (const { entry, from, carried } of readEntries(source, log.limits, sessionId)) {
      target ??= await openTarget(log, entry.record.envelope.session_id, { title, owner, firstId: from, carried });
      await target.take(entry);
    }
    if (target === undefined && sessionId === undefined)
      throw invalid(1, "the file contains no record; give a session ID to import an empty session");
    target ??= await openTarget(log, sessionId as string, { title, owner, firstId: 1, carried: [] });
    return await target.finish();
  } catch (error) {
    await target?.abandon();
    throw error;
  }
}

interface ImportedEntry {
  readonly entry: LogEntry;
  /** ID of the first record of the session in the file. */
  readonly from: number;
  /** Carried records before it. */
  readonly carried: readonly LogEntry[];
}

async function* readEntries(
  source: AsyncIterable<string | Uint8Array>,
  limits: LogLimits,
  renamed: string | undefined,
): AsyncGenerator<ImportedEntry, void, undefined> {
  const decoder = createNdjsonDecoder({ maxLineBytes: limits.maxEventBytes });
  const carried: LogEntry[] = [];
  let carriedBytes = 0;
  let from: number | undefined;
  let session: string | undefined;
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
      session ??= own;
      if (own !== session)
        throw invalid(line, `the record belongs to session "${own}", but the records before it to "${session}"`);
      if (id < 1) throw invalid(line, `record IDs start at 1, not ${id}`);
      // Only carried records have gaps between their IDs.
      if (id < nextId || (from !== undefined && id > nextId))
        throw invalid(line, `found record ${id} instead of ${nextId}`);
      if (!isCarried(record as StampedRecord)) from ??= id;
      nextId = id + 1;
      const entry =
        renamed === undefined || renamed === own
          ? { record: record as StampedRecord, text: outcome.text.trim() }
          : renameEntry(outcome.text.trim(), own, renamed);
      assertEntry(entry, line, limits);
      if (from !== undefined) yield { entry, from, carried };
      else {
        carried.push(entry);
        carriedBytes += Buffer.byteLength(entry.text);
        if (carriedBytes > limits.maxForkBytes)
          throw invalid(line, `prompts of earlier runs have more than ${limits.maxForkBytes} bytes`, "batch_too_large");
      }
    }
  }
}

/**
 * Changes the session ID of a record. If the text starts with the ID, as texts written by Loom do, the rest is kept as
 * it is; otherwise the record is encoded again.
 */
export function renameEntry(text: string, own: string, session_id: string): LogEntry {
  const start = `{"session_id":${JSON.stringify(own)},`;
  if (text.startsWith(start)) {
    const renamed = `{"session_id":${JSON.stringify(session_id)},${text.slice(start.length)}`;
    const record = readRecord(renamed);
    // A field may occur twice; the last one counts.
    if (record?.envelope.session_id === session_id) return { record: record as StampedRecord, text: renamed };
  }
  const renamed = JSON.stringify({ ...(JSON.parse(text) as object), session_id });
  return { record: readRecord(renamed) as StampedRecord, text: renamed };
}

/** Checks a record like the log would, and reports its line. */
function assertEntry(entry: LogEntry, line: number, limits: LogLimits): void {
  const { session_id: sessionId, event_id } = entry.record.envelope;
  try {
    assertSessionId(sessionId);
    assertBatch({ sessionId, epoch: 0, expectedLastId: event_id - 1, entries: [entry] }, limits);
  } catch (error) {
    throw isLoomError(error) ? invalid(line, error.message, error.code) : error;
  }
}

/** Describes why a line is not a record. */
function describeFault(text: string): string {
  const [issue] = STORED_DIALECT.createDecoder().decode(text).issues;
  return issue?.message ?? "the line is not a record";
}

/** `code` is the error code outside of imports, if there is one. */
function invalid(line: number, reason: string, code?: ErrorCode): LoomError {
  const details = { line, reason, ...(code === undefined ? {} : { code }) };
  return new LoomError("import_invalid", `Line ${line}: ${reason}`, details);
}

const utf8 = new TextEncoder();

/** A surrogate pair may be split between two chunks; the first half is kept for the next chunk. */
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

/** The session an import writes to. */
interface SessionTarget {
  /** Compares the next record with the stored one, or writes it if there is none. */
  take(entry: LogEntry): Promise<void>;
  finish(): Promise<SessionInfo>;
  /** Deletes the session if the import created it, and releases it otherwise. */
  abandon(): Promise<void>;
}

async function openTarget(
  log: Log,
  sessionId: string,
  fresh: CreateOptions & { readonly firstId: number; readonly carried: readonly LogEntry[] },
): Promise<SessionTarget> {
  const { firstId, owner, carried } = fresh;
  const known = await log.getSession(sessionId);
  const info = known ?? (await log.createSession(sessionId, fresh));
  assertImportable(info, owner);
  if (info.firstId !== firstId) throw sessionExists(sessionId, `it starts at record ${info.firstId}, not ${firstId}`);
  const [found, wanted] = [await log.readCarried(sessionId), carried].map((list) => list.map(({ text }) => text));
  if (!isDeepStrictEqual(found, wanted)) throw sessionExists(sessionId, "it has other prompts of earlier runs");
  // Another process may have created and written it since the check.
  const isCreatedHere = known === undefined && info.lastId < firstId;
  const writer = createImportWriter(log, info);
  // An existing session is compared before it is acquired, so that a rejected import changes nothing.
  if (isCreatedHere) await writer.acquire();
  const stored = readTexts(log, info);
  let position = firstId - 1;
  return {
    async take(entry) {
      position++;
      if (position > info.lastId) await writer.write(entry);
      else if ((await stored.next()).value !== entry.text)
        throw sessionExists(sessionId, `its record ${position} is different`);
    },
    async finish() {
      if (position < info.lastId) throw sessionExists(sessionId, `it has more records after ${position}`);
      await writer.flush();
      await writer.release();
      return assertSession(await log.getSession(sessionId), sessionId);
    },
    async abandon() {
      // The error of the import matters more than an error during cleanup.
      if (isCreatedHere) await writer.deleteSession().catch(() => undefined);
      await writer.release();
    },
  };
}

async function* readTexts(log: Log, info: SessionInfo): AsyncGenerator<string, void, undefined> {
  for await (const { texts } of readPages(log, info, info.firstId - 1)) yield* texts;
}

/** Appends entries to a session in batches. Acquires the session before the first write. */
function createImportWriter(log: Log, { sessionId, incarnation, lastId: end }: SessionInfo) {
  const maxRecords = Math.min(BATCH_RECORDS, log.limits.maxBatchRecords);
  const maxBytes = Math.min(BATCH_BYTES, log.limits.maxBatchBytes);
  let lease: Lease | undefined;
  let renewal: NodeJS.Timeout | undefined;
  let lastId = end;
  let batch: LogEntry[] = [];
  let bytes = 0;

  async function acquire(): Promise<Lease> {
    if (lease !== undefined) return lease;
    const taken = await acquireUnheld(log, sessionId);
    // Two imports may have found the session free at the same time; the first to write wins.
    if (taken.incarnation !== incarnation || taken.lastId !== end) {
      await releaseLease(log, taken);
      throw sessionExists(sessionId, "another writer has written it in the meantime");
    }
    // The source may be slow. If renewing fails, the next append throws.
    renewal = setInterval(() => void log.renew(taken, LEASE_MS).catch(() => undefined), LEASE_MS / 3).unref();
    lease = taken;
    return taken;
  }

  async function flush(): Promise<void> {
    if (batch.length === 0) return;
    const { epoch } = await acquire();
    const appended = await log.append({ sessionId, epoch, expectedLastId: lastId, entries: batch });
    ({ lastId } = appended);
    if (appended.isOverQuota === true) throw quotaExceeded("bytes", log.limits.maxOwnerBytes);
    batch = [];
    bytes = 0;
  }

  return {
    acquire,
    flush,
    async write(entry: LogEntry): Promise<void> {
      const size = Buffer.byteLength(entry.text);
      if (batch.length >= maxRecords || bytes + size > maxBytes) await flush();
      batch.push(entry);
      bytes += size;
    },
    async release(): Promise<void> {
      clearInterval(renewal);
      if (lease !== undefined) await releaseLease(log, lease);
    },
    /** Throws `fenced` if another writer has taken the session, whose records must be kept. */
    async deleteSession(): Promise<void> {
      if (lease !== undefined) await log.deleteSession(sessionId, { epoch: lease.epoch });
    },
  };
}

async function acquireUnheld(log: Log, sessionId: string): Promise<Lease> {
  try {
    return await log.acquire(sessionId, { holder: describeHolder(), ttlMs: LEASE_MS });
  } catch (error) {
    throw isLoomError(error, "lease_held") ? sessionExists(sessionId, "another writer is writing it") : error;
  }
}

/** Checks the owner first, so that the contents and writers of other owners' sessions are not revealed. */
function assertImportable(info: SessionInfo | undefined, owner: string | undefined): void {
  if (info !== undefined && owner !== undefined && info.owner !== owner) throw sessionExists(info.sessionId);
  if (info?.holder !== undefined) throw sessionExists(info.sessionId, "another writer is writing it");
}
