/**
 * Looks, now and then, for sessions that need somebody and have nobody: a process that died gives no sign, and one without
 * agents leaves its messages in the log. What it finds it hands on; it opens nothing itself.
 */
import type { Log } from "../../log/index.ts";
import { isLoomError } from "../../protocol/index.ts";

export interface OrphanTaker {
  readonly isFull: boolean;
  attend(sessionId: string): void;
  opened(): Promise<void>;
}

export interface OrphanWatchOptions {
  /** Between two looks. */
  readonly sweepMs: number;
  /** Told that the log could not be read, once in a row. */
  readonly onError: (error: unknown) => void;
}

const PAGE_OF_SESSIONS = 100;

export class OrphanWatch {
  readonly #log: Log;
  readonly #taker: OrphanTaker;
  readonly #options: OrphanWatchOptions;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #isFailing = false;

  constructor(log: Log, taker: OrphanTaker, options: OrphanWatchOptions) {
    this.#log = log;
    this.#taker = taker;
    this.#options = options;
  }

  /** Resolves when all that the first look has found, and there is room for, was taken; rejects where it could not look. */
  async start(): Promise<void> {
    await this.#sweep();
    this.#plan();
    await this.#taker.opened();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #plan(): void {
    if (this.#isStopped) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#look(), Math.max(1, this.#options.sweepMs));
    this.#timer.unref();
  }

  async #look(): Promise<void> {
    try {
      await this.#sweep();
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) this.#options.onError(error);
      this.#isFailing = true;
    }
    this.#plan();
  }

  async #sweep(): Promise<void> {
    for (let after: string | undefined; !this.#isStopped && !this.#taker.isFull;) {
      const page = await this.#list(after);
      for (const sessionId of page) this.#taker.attend(sessionId);
      if (page.length < PAGE_OF_SESSIONS) return;
      after = page.at(-1);
    }
  }

  async #list(after: string | undefined): Promise<readonly string[]> {
    try {
      return await this.#log.listOrphans({ limit: PAGE_OF_SESSIONS, ...(after === undefined ? {} : { after }) });
    } catch (error) {
      // The session to go on after was deleted meanwhile; the next look finds the rest.
      if (after !== undefined && isLoomError(error, "cursor_invalid")) return [];
      throw error;
    }
  }
}
