/**
 * Keeps recently committed records in memory for the readers that follow a session, so that they share one page parsed
 * once. Sessions without readers are not kept, and memory is bounded, per session and in total: a reader that falls
 * behind reads the store.
 */
import { Buffer } from "node:buffer";
import type { WatchSessionOptions } from "./log.ts";
import { LOG_LIMITS, type LogLimits } from "./log-limits.ts";
import { Page } from "./page.ts";

interface FeedListener {
  readonly notify: () => void;
  readonly wantsRecords: boolean;
}

interface FeedSession {
  readonly listeners: Set<FeedListener>;
  /** Number of listeners that read pages. */
  readers: number;
  /** Contiguous pages, oldest first. */
  readonly pages: Page[];
  bytes: number;
}

type FeedLimits = Pick<LogLimits, "maxPageRecords" | "maxPageBytes" | "maxFeedBytes" | "maxTotalFeedBytes">;

export class Feed {
  readonly #feeds = new Map<string, FeedSession>();
  readonly #orphanListeners = new Set<FeedListener>();
  /** Sessions with pages, the one published longest ago first. */
  readonly #cached = new Set<FeedSession>();
  #bytes = 0;
  readonly #limits: FeedLimits;

  constructor(limits: Partial<FeedLimits>) {
    this.#limits = { ...LOG_LIMITS, ...limits };
  }

  /** IDs of the watched sessions. A copy, because listeners may be added and removed during iteration. */
  get watched(): readonly string[] {
    return [...this.#feeds.keys()];
  }

  isWatched(sessionId: string): boolean {
    return this.#feeds.has(sessionId);
  }

  get size(): number {
    return this.#feeds.size;
  }

  /** Approximate size of all pages in memory, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  watch(sessionId: string, listener: () => void, options: WatchSessionOptions = {}): () => void {
    const { commandsOnly = false, hintsOnly = commandsOnly } = options;
    let feed = this.#feeds.get(sessionId);
    if (feed === undefined) {
      feed = { listeners: new Set(), readers: 0, pages: [], bytes: 0 };
      this.#feeds.set(sessionId, feed);
    }
    // The same function may be registered twice and is then called twice.
    const own = { notify: () => listener(), wantsRecords: !commandsOnly };
    feed.listeners.add(own);
    if (!hintsOnly) feed.readers++;
    return () => {
      if (!feed.listeners.delete(own)) return;
      if (!hintsOnly && --feed.readers === 0) this.#clear(feed);
      if (feed.listeners.size === 0 && this.#feeds.get(sessionId) === feed) this.#feeds.delete(sessionId);
    };
  }

  /** Adds a committed page and notifies the listeners. Pass only durable records. */
  publish(page: Page): void {
    const { sessionId, after, incarnation } = page;
    const feed = this.#feeds.get(sessionId);
    if (feed === undefined) return;
    const newest = feed.pages.at(-1);
    if (newest !== undefined && (newest.lastId !== after || newest.incarnation !== incarnation)) this.#clear(feed);
    if (feed.readers > 0) {
      // An append may be longer than a page; a reader never receives more at once than one read returns.
      for (const piece of splitPage(page, this.#limits)) {
        feed.pages.push(piece);
        this.#add(feed, piece.heldBytes);
      }
      this.#cached.delete(feed);
      this.#cached.add(feed);
    }
    while (feed.bytes > this.#limits.maxFeedBytes && feed.pages.length > 1)
      this.#add(feed, -(feed.pages.shift()?.heldBytes ?? 0));
    for (const oldest of this.#cached) {
      if (this.#bytes <= this.#limits.maxTotalFeedBytes) break;
      this.#clear(oldest);
    }
    this.#notify(feed, ({ wantsRecords }) => wantsRecords);
  }

  hint(sessionId: string): void {
    const feed = this.#feeds.get(sessionId);
    if (feed !== undefined) this.#notify(feed, () => true);
  }

  /** See `Log.watchOrphans`. */
  watchOrphans(listener: () => void): () => void {
    const own = { notify: () => listener(), wantsRecords: false };
    this.#orphanListeners.add(own);
    return () => this.#orphanListeners.delete(own);
  }

  /** Reports that a session with work left was released. */
  hintOrphans(): void {
    this.#notify({ listeners: this.#orphanListeners }, () => true);
  }

  #notify({ listeners }: Pick<FeedSession, "listeners">, matches: (listener: FeedListener) => boolean): void {
    // A copy, so that a listener that is added again while it is called is not called endlessly.
    for (const listener of Array.from(listeners)) {
      if (!matches(listener) || !listeners.has(listener)) continue;
      try {
        listener.notify();
      } catch (error) {
        // The records are committed; a failing listener must not stop the others.
        process.emitWarning(error instanceof Error ? error : String(error));
      }
    }
  }

  /** Drops the pages of a session whose records changed, and notifies its listeners. */
  forget(sessionId: string): void {
    const feed = this.#feeds.get(sessionId);
    if (feed !== undefined) this.#clear(feed);
    this.hint(sessionId);
  }

  #add(feed: FeedSession, bytes: number): void {
    feed.bytes += bytes;
    this.#bytes += bytes;
  }

  #clear(feed: FeedSession): void {
    feed.pages.length = 0;
    this.#add(feed, -feed.bytes);
    this.#cached.delete(feed);
  }

  /** Drops all pages and notifies all listeners: the log is closed, and their next read reports it. */
  close(): void {
    for (const sessionId of this.watched) this.forget(sessionId);
  }

  peek(sessionId: string, after: number): Page | undefined {
    const pages = this.#feeds.get(sessionId)?.pages;
    if (pages === undefined) return undefined;
    // Readers that follow a session are usually near its end.
    for (let i = pages.length - 1; i >= 0; i--) {
      const page = pages[i];
      if (page === undefined || page.lastId <= after) return undefined;
      if (page.after === after) return page;
      if (page.after < after) {
        const rest = page.texts.slice(after - page.after);
        return new Page(sessionId, after, page.lastId, rest, page.incarnation);
      }
    }
    return undefined;
  }
}

function splitPage(page: Page, { maxPageRecords, maxPageBytes }: FeedLimits): readonly Page[] {
  const { sessionId, incarnation, length } = page;
  // A UTF-16 code unit has at most three bytes in UTF-8, so most pages need not be measured.
  const isShort = page.characters * 3 <= maxPageBytes || Buffer.byteLength(page.text) <= maxPageBytes;
  if (isShort && length <= maxPageRecords) return [page];
  const { texts } = page;
  const pieces: Page[] = [];
  for (let from = 0; from < texts.length;) {
    let end = from;
    for (let room = maxPageBytes; end < texts.length && end - from < maxPageRecords; end++) {
      room -= Buffer.byteLength(texts[end] ?? "");
      if (room < 0 && end > from) break;
    }
    const after = page.after + from;
    pieces.push(new Page(sessionId, after, after + end - from, texts.slice(from, end), incarnation));
    from = end;
  }
  return pieces;
}
