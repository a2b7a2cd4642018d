/**
 * What this process committed lately, kept in memory for those who follow a session: they share one page, read once. It
 * holds nothing of sessions nobody watches, and a bounded part of the others: a follower that lags reads the store.
 */
import { Buffer } from "node:buffer";
import { LOG_LIMITS, type LogLimits, type WatchOptions } from "./log.ts";
import { Page } from "./page.ts";

interface Listener {
  readonly tell: () => void;
  readonly wantsRecords: boolean;
}

interface Channel {
  readonly listeners: Set<Listener>;
  /** How many of them will read. */
  readers: number;
  /** One follows the other without a gap. */
  readonly pages: Page[];
  bytes: number;
}

type PageLimits = Pick<LogLimits, "maxPageRecords" | "maxPageBytes">;

export class Feed {
  readonly #channels = new Map<string, Channel>();
  readonly #maxBytes: number;
  readonly #limits: PageLimits;

  constructor(maxBytes: number, limits: PageLimits = LOG_LIMITS) {
    this.#maxBytes = maxBytes;
    this.#limits = limits;
  }

  /** Sessions somebody watches now: a copy, as who is told may come and go. */
  get watched(): readonly string[] {
    return [...this.#channels.keys()];
  }

  isWatched(sessionId: string): boolean {
    return this.#channels.has(sessionId);
  }

  get size(): number {
    return this.#channels.size;
  }

  watch(sessionId: string, listener: () => void, options: WatchOptions = {}): () => void {
    const { commandsOnly = false, hintsOnly = commandsOnly } = options;
    let channel = this.#channels.get(sessionId);
    if (channel === undefined) {
      channel = { listeners: new Set(), readers: 0, pages: [], bytes: 0 };
      this.#channels.set(sessionId, channel);
    }
    // The same function may be given twice, and is then called twice.
    const own = { tell: () => listener(), wantsRecords: !commandsOnly };
    channel.listeners.add(own);
    if (!hintsOnly) channel.readers++;
    return () => {
      if (!channel.listeners.delete(own)) return;
      if (!hintsOnly && --channel.readers === 0) clear(channel);
      if (channel.listeners.size === 0 && this.#channels.get(sessionId) === channel) this.#channels.delete(sessionId);
    };
  }

  /** Call it only with what is durable. */
  publish(page: Page): void {
    const { sessionId, after, incarnation } = page;
    const channel = this.#channels.get(sessionId);
    if (channel === undefined) return;
    const newest = channel.pages.at(-1);
    if (newest !== undefined && (newest.lastId !== after || newest.incarnation !== incarnation)) clear(channel);
    if (channel.readers > 0) {
      // An append may be longer than a page: nobody is given more at once than a read gives.
      for (const piece of splitPage(page, this.#limits)) {
        channel.pages.push(piece);
        channel.bytes += piece.characters;
      }
    }
    while (channel.bytes > this.#maxBytes && channel.pages.length > 1) {
      channel.bytes -= channel.pages.shift()?.characters ?? 0;
    }
    this.#tell(channel, ({ wantsRecords }) => wantsRecords);
  }

  hint(sessionId: string): void {
    const channel = this.#channels.get(sessionId);
    if (channel !== undefined) this.#tell(channel, () => true);
  }

  #tell(channel: Channel, isMeant: (listener: Listener) => boolean): void {
    // A copy: a listener may come and go while others are told, and one that comes anew must not be told for ever.
    for (const listener of Array.from(channel.listeners)) {
      if (!isMeant(listener) || !channel.listeners.has(listener)) continue;
      try {
        listener.tell();
      } catch (error) {
        // What was committed is committed, whatever a listener makes of it; the others want to know too.
        process.emitWarning(error instanceof Error ? error : String(error));
      }
    }
  }

  /** Forgets what it has of a session, whose records are no longer those. */
  forget(sessionId: string): void {
    const channel = this.#channels.get(sessionId);
    if (channel !== undefined) clear(channel);
    this.hint(sessionId);
  }

  peek(sessionId: string, after: number): Page | undefined {
    const pages = this.#channels.get(sessionId)?.pages;
    if (pages === undefined) return undefined;
    // Those who follow are near the end.
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

function clear(channel: Channel): void {
  channel.pages.length = 0;
  channel.bytes = 0;
}

function splitPage(page: Page, { maxPageRecords, maxPageBytes }: PageLimits): readonly Page[] {
  const { sessionId, incarnation, length } = page;
  // A character has at most three bytes: most pages need not be measured.
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
