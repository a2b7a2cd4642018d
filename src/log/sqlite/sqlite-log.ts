/**
 * The log in one SQLite file: the embedded default. A thread of its own writes and syncs, this one reads; other processes
 * may do the same with the same file. Who follows a session written here is fed from memory after the commit; for what
 * others write, the file is asked now and then whether it has changed.
 */
import { resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { BoundedMap, LoomError } from "../../protocol/index.ts";
import { assertBatch, assertFirstEntries } from "../entry.ts";
import { Feed } from "../feed.ts";
import { findIndexChanges, type IndexChanges } from "../index-changes.ts";
import {
  type AcquireOptions,
  type Append,
  type Command,
  type CommandState,
  type CreateOptions,
  type FoundSession,
  type Landmark,
  type LandmarkKind,
  type Lease,
  type ListOptions,
  type ListSessionsOptions,
  LOG_LIMITS,
  type Log,
  type LogLimits,
  type PruneReport,
  type ReadOptions,
  type RenameOptions,
  type RetentionPolicy,
  type RunInfo,
  type SearchOptions,
  type SessionInfo,
  type WatchOptions,
} from "../log.ts";
import { Page } from "../page.ts";
import {
  assertCommand,
  assertFirstId,
  assertName,
  assertOwner,
  assertTerm,
  assertText,
  assertTitle,
  boundList,
  SETTLED_COMMANDS_MS,
} from "../rules.ts";
import { type ConnectionOptions, prepareStore } from "./connection.ts";
import type { Operation } from "./operations.ts";
import { Reader } from "./reader.ts";
import { type CommandRow, describeCommand } from "./run-rows.ts";
import { Writer } from "./writer.ts";

export interface SqliteLogOptions {
  readonly limits?: Partial<LogLimits>;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** How often to look for what other processes wrote, while somebody watches. */
  readonly pollMs?: number;
  /** How long to wait for another process that writes. Code `store_busy`. */
  readonly busyTimeoutMs?: number;
  /** Bytes that may wait for the disk, over all sessions. Code `backlog_full`. */
  readonly maxQueueBytes?: number;
  /** Records that lie by themselves before they are put together by session, to be read faster. */
  readonly maxRecentRows?: number;
  /** Largest size of the file; none by default. Code `store_full`. */
  readonly maxFileBytes?: number;
  /**
   * Stores up to this size are looked through whole when they are opened (about half a second for a gigabyte), larger
   * ones only where their sessions begin and end. Code `store_corrupt`.
   */
  readonly maxCheckBytes?: number;
}

const MAX_CHECK_BYTES = 32 * 1024 * 1024;
const MAX_QUEUE_BYTES = 256 * 1024 * 1024;
const MAX_RECENT_ROWS = 4096;
/** Between two transactions that tidy up: other processes want to write too. */
const BREATH_MS = 4;
/** Sessions whose run is remembered. */
const MAX_SESSIONS = 10_000;

const MAX_PUT_OFF = 5;
/** A look at all that is watched is followed by a rest this many times as long, however busy others are. */
const REST_FACTOR = 10;

const NO_BEGINS: IndexChanges["begins"] = [];

/** Opens the store at `path`, or makes it. */
export async function openSqliteLog(path: string, options: SqliteLogOptions = {}): Promise<SqliteLog> {
  const { busyTimeoutMs = 10_000, maxFileBytes } = options;
  const { maxCheckBytes = MAX_CHECK_BYTES, maxQueueBytes = MAX_QUEUE_BYTES, maxRecentRows = MAX_RECENT_ROWS } = options;
  const connection = { busyTimeoutMs, maxFileBytes, maxCheckBytes, maxQueueBytes, maxRecentRows };
  if (path === "") throw new LoomError("store_failed", "a store needs a path");
  // It is opened again and again, also after the process has gone to another folder.
  const place = resolve(path);
  const file = prepareStore(place, connection);
  return new SqliteLog(place, file, connection, options);
}

class SqliteLog implements Log {
  readonly limits: LogLimits;
  readonly #now: () => number;
  readonly #writer: Writer;
  readonly #reader: Reader;
  readonly #feed: Feed;
  readonly #pollMs: number;
  #poll: NodeJS.Timeout | undefined;
  #version = -1;
  /** Looks in a row that were left to the next. */
  #putOff = 0;
  /** A look costs with every session that is watched. */
  #notBefore = 0;
  /** What each watched session looked like when last seen. */
  readonly #marks = new Map<string, string | undefined>();
  /** The epoch and the run of each session's last batch that changed an index: it is in there. */
  readonly #runs = new BoundedMap<string>(MAX_SESSIONS);
  /** The latest of each session: an epoch is of one incarnation only. */
  readonly #leases = new BoundedMap<Lease>(MAX_SESSIONS);
  #closed = false;

  constructor(path: string, file: string, connection: ConnectionOptions, options: SqliteLogOptions) {
    const { limits = {}, now = Date.now, pollMs = 20 } = options;
    this.limits = { ...LOG_LIMITS, ...limits };
    this.#now = now;
    this.#pollMs = pollMs;
    this.#writer = new Writer({ path, file, options: connection });
    this.#reader = new Reader(path, file, connection, this.limits, now);
    this.#feed = new Feed(this.limits.maxFeedBytes, this.limits);
  }

  async createSession(sessionId: string, options: CreateOptions = {}): Promise<SessionInfo> {
    const { title, owner, firstId = 1, entries, graceMs = 0 } = options;
    assertTerm(graceMs);
    assertName("session", sessionId);
    assertFirstId(firstId);
    assertTitle(title);
    assertOwner(owner);
    if (entries !== undefined) assertFirstEntries(sessionId, firstId, entries, this.limits);
    const records =
      entries === undefined
        ? undefined
        : {
            count: entries.length,
            text: entries.map(({ text }) => text).join("\n"),
            changes: findIndexChanges(entries),
          };
    await this.#write({ do: "create", sessionId, title, owner, firstId, graceMs, now: this.#now(), records });
    if (records !== undefined) this.#feed.hint(sessionId);
    return this.#describe(sessionId);
  }

  async getSession(sessionId: string): Promise<SessionInfo | undefined> {
    return this.#openReader().findSession(sessionId);
  }

  async listSessions(options: ListSessionsOptions = {}): Promise<readonly SessionInfo[]> {
    return this.#openReader().listSessions(options);
  }

  async searchSessions(options: SearchOptions): Promise<readonly FoundSession[]> {
    return this.#openReader().searchSessions(options);
  }

  async renameSession(
    sessionId: string,
    title: string,
    { onlyUntitled = false }: RenameOptions = {},
  ): Promise<SessionInfo> {
    assertText("session", sessionId);
    assertTitle(title);
    await this.#write({ do: "rename", sessionId, title, onlyUntitled });
    return this.#describe(sessionId);
  }

  async deleteSession(sessionId: string, { epoch }: { readonly epoch?: number } = {}): Promise<boolean> {
    assertText("session", sessionId);
    const known = await this.#write<boolean>({ do: "delete", sessionId, epoch });
    this.#feed.forget(sessionId);
    // When there is time: the session is gone already.
    this.#sweep().catch(() => undefined);
    return known;
  }

  async listOrphans(options: ListOptions = {}): Promise<readonly string[]> {
    return this.#openReader().listOrphans(options);
  }

  async acquire(sessionId: string, { holder, ttlMs, takeover = false }: AcquireOptions): Promise<Lease> {
    assertName("session", sessionId);
    assertName("holder", holder);
    assertTerm(ttlMs);
    const lease = await this.#write<Lease>({ do: "acquire", sessionId, holder, ttlMs, takeover, now: this.#now() });
    // Somebody else may have written since, or made the session anew: what is in memory is not joined to what comes.
    this.#leases.set(sessionId, lease);
    this.#feed.forget(sessionId);
    return lease;
  }

  async renew({ sessionId, epoch }: Lease, ttlMs: number): Promise<Lease> {
    assertText("session", sessionId);
    assertTerm(ttlMs);
    return this.#write<Lease>({ do: "renew", sessionId, epoch, ttlMs, now: this.#now() });
  }

  async release({ sessionId, epoch }: Lease): Promise<void> {
    assertText("session", sessionId);
    await this.#write({ do: "release", sessionId, epoch });
    this.#feed.hint(sessionId);
  }

  async append(batch: Append): Promise<{ readonly lastId: number }> {
    assertBatch(batch, this.limits);
    const { sessionId, epoch, expectedLastId, entries, settle } = batch;
    const count = entries.length;
    const text = count === 1 ? (entries[0]?.text ?? "") : entries.map((entry) => entry.text).join("\n");
    const changes = this.#findNews(batch, findIndexChanges(entries));
    const now = settle === undefined ? 0 : this.#now();
    await this.#write({ do: "append", sessionId, epoch, expectedLastId, count, text, changes, settle, now });
    const lastId = expectedLastId + count;
    if (changes !== undefined && changes.begins !== NO_BEGINS)
      this.#runs.set(sessionId, `${epoch} ${changes.begins.at(-1)?.runId}`);
    const lease = this.#leases.get(sessionId);
    // Where it is not known whose it is, those who follow read the store.
    if (count > 0 && lease?.epoch === epoch)
      this.#feed.publish(new Page(sessionId, expectedLastId, lastId, text, lease.incarnation));
    else this.#feed.hint(sessionId);
    return { lastId };
  }

  /**
   * Most batches go on with the run of the one before, and change nothing the indexes do not have. Of the same epoch: in
   * another the session may have been made anew, here or elsewhere.
   */
  #findNews({ sessionId, epoch }: Append, changes: IndexChanges): IndexChanges | undefined {
    const { begins, ends, landmarks, said } = changes;
    const isKnown =
      begins.length === 0 || (begins.length === 1 && `${epoch} ${begins[0]?.runId}` === this.#runs.get(sessionId));
    if (isKnown && ends.length + landmarks.length + said.length === 0) return undefined;
    return isKnown ? { begins: NO_BEGINS, ends, landmarks, said } : changes;
  }

  async read(sessionId: string, options: ReadOptions): Promise<Page> {
    return this.#openReader().readPage(sessionId, options);
  }

  peek(sessionId: string, after: number): Page | undefined {
    return this.#feed.peek(sessionId, after);
  }

  watch(sessionId: string, listener: () => void, options?: WatchOptions): () => void {
    const unwatch = this.#feed.watch(sessionId, listener, options);
    if (this.#poll === undefined && !this.#closed) {
      this.#poll = setInterval(() => this.#look(), this.#pollMs);
      this.#poll.unref();
    }
    return () => {
      unwatch();
      if (!this.#feed.isWatched(sessionId)) this.#marks.delete(sessionId);
      if (this.#feed.size > 0) return;
      clearInterval(this.#poll);
      this.#poll = undefined;
    };
  }

  /** Looks whether somebody else has written what one of the watchers may want to know. */
  #look(): void {
    try {
      if (performance.now() < this.#notBefore) return;
      const version = this.#reader.readVersion();
      if (version === this.#version) return;
      const news = this.#writer.takeNews();
      // What this process has written it knows. Whether others have, the writing thread sees with every group.
      if (news === "own") return;
      if (news === undefined && this.#writer.isStarted && ++this.#putOff < MAX_PUT_OFF) {
        // A group that is on its way will tell; else one is sent. Others may keep it waiting, but not for long.
        if (!this.#writer.isBusy) void this.#ask(version);
        return;
      }
      this.#lookAround(version);
    } catch {
      this.#hintAll();
    }
  }

  /** The watchers look by themselves, and are told then what is wrong. */
  #hintAll(): void {
    for (const sessionId of this.#feed.watched) this.#feed.hint(sessionId);
  }

  /** Whether the version that was just read is more than what this process has written itself. */
  async #ask(version: number): Promise<void> {
    try {
      await this.#write({ do: "look" });
    } catch {
      // It is looked at without asking, if it goes on like this.
      return;
    }
    if (this.#closed) return;
    this.#putOff = 0;
    const news = this.#writer.takeNews();
    this.#version = version;
    try {
      if (news === "others") this.#lookAround(version);
    } catch {
      this.#hintAll();
    }
  }

  #lookAround(version: number): void {
    const began = performance.now();
    this.#putOff = 0;
    this.#version = version;
    for (const sessionId of this.#feed.watched) {
      const mark = this.#reader.readMark(sessionId);
      const seen = this.#marks.get(sessionId);
      if (seen !== undefined && seen === mark) continue;
      this.#marks.set(sessionId, mark);
      // Another session has taken the name, or may have: what is in memory may be of the old one.
      if (seen === undefined || keyOf(seen) !== keyOf(mark)) this.#feed.forget(sessionId);
      else this.#feed.hint(sessionId);
    }
    const now = performance.now();
    this.#notBefore = now + (now - began) * REST_FACTOR;
  }

  async getRun(sessionId: string, runId: string): Promise<RunInfo | undefined> {
    return this.#openReader().findRun(sessionId, runId);
  }

  async listRuns(sessionId: string, options: ListOptions = {}): Promise<readonly RunInfo[]> {
    return this.#openReader().listRuns(sessionId, options);
  }

  async findFoldStart(sessionId: string, id: number): Promise<number> {
    return this.#openReader().findFoldStart(sessionId, id);
  }

  async getLandmark(sessionId: string, kind: LandmarkKind, key: string): Promise<Landmark | undefined> {
    return this.#openReader().findLandmark(sessionId, kind, key);
  }

  async listLandmarks(
    sessionId: string,
    kind: LandmarkKind,
    limit?: number,
    before?: number,
  ): Promise<readonly Landmark[]> {
    return this.#openReader().listLandmarks(sessionId, kind, boundList(limit), before);
  }

  async submit(command: Command): Promise<CommandState> {
    assertCommand(command, this.limits);
    const { commandId, sessionId, kind } = command;
    const body = JSON.stringify(command.body);
    const { maxPendingCommands: maxPending } = this.limits;
    const row = await this.#write<CommandRow>({
      do: "submit",
      sessionId,
      commandId,
      kind,
      body,
      now: this.#now(),
      maxPending,
    });
    this.#feed.hint(sessionId);
    return describeCommand(sessionId, row);
  }

  async getCommand(sessionId: string, commandId: string): Promise<CommandState | undefined> {
    return this.#openReader().findCommand(sessionId, commandId);
  }

  async listPending(sessionId: string, limit?: number): Promise<readonly CommandState[]> {
    return this.#openReader().listPending(sessionId, boundList(limit));
  }

  async prune({ maxAgeMs, maxSessionBytes, maxBytes, now = this.#now() }: RetentionPolicy): Promise<PruneReport> {
    const total = { runs: 0, records: 0, bytes: 0 };
    const damaged: string[] = [];
    const add = (part: PruneReport): void => {
      total.runs += part.runs;
      total.records += part.records;
      total.bytes += part.bytes;
      damaged.push(...(part.damaged ?? []));
    };
    let kept = 0;
    for (let after: number | undefined = 0; after !== undefined;) {
      const operation: Operation = { do: "prune", after, maxAgeMs, maxSessionBytes, now };
      const part: PruneReport & { kept: number; after?: number } = await this.#write(operation);
      add(part);
      kept += part.kept;
      ({ after } = part);
      if (after !== undefined) await pause(BREATH_MS);
    }
    for (let excess = kept - (maxBytes ?? kept); excess > 0;) {
      const part = await this.#write<PruneReport>({ do: "prune-oldest", excess });
      add(part);
      excess = part.runs === 0 ? 0 : excess - part.bytes;
      if (excess > 0) await pause(BREATH_MS);
    }
    const before = now - (maxAgeMs ?? SETTLED_COMMANDS_MS);
    while (await this.#write<boolean>({ do: "drop-commands", before })) await pause(BREATH_MS);
    await this.#sweep();
    return damaged.length === 0 ? total : { ...total, damaged };
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#poll);
    await this.#writer.close();
    this.#reader.close();
  }

  #write<T>(operation: Operation): Promise<T> {
    return this.#writer.write<T>(operation);
  }

  /** Removes the rows nobody can read any more; whoever sweeps next takes what is left. */
  async #sweep(): Promise<void> {
    while (await this.#write<boolean>({ do: "sweep" })) await pause(BREATH_MS);
  }

  #describe(sessionId: string): SessionInfo {
    const session = this.#openReader().findSession(sessionId);
    if (session === undefined) throw new LoomError("unknown_session", `session "${sessionId}" was deleted meanwhile`);
    return session;
  }

  #openReader(): Reader {
    if (this.#closed) throw new LoomError("store_closed", "the log was closed");
    return this.#reader;
  }
}

/** A mark begins with the key of the session it is of. */
function keyOf(mark: string | undefined): string | undefined {
  return mark?.slice(0, mark.indexOf(":"));
}

export type { SqliteLog };
