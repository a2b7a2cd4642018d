/**
 * Sweeps the log for orphaned sessions: sessions with pending messages or dead runs that no process holds. A killed
 * process sends no signal, and a process without agents leaves its messages in the log. Found sessions are passed to
 * the handler. A sweep that stops because the handler is full is continued by the next one, so that every orphan is
 * found however many there are.
 *
 * A process that stops releases its sessions, and the log hints that. Sweeps then begin at once, in all processes: each
 * opens one page of sessions before it lists the next, so that few sessions are requested that another process has.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Log } from "../../log/index.ts";
import { isLoomError } from "../../protocol/index.ts";

export interface OrphanHandler {
  readonly isFull: boolean;
  request(sessionId: string): unknown;
  whenOpened(): Promise<void>;
}

export interface OrphanWatchOptions {
  /** The interval between sweeps, in milliseconds. */
  readonly sweepMs: number;
  /** Called when a sweep fails, once per series of failures. */
  readonly onError: (error: unknown) => void;
}

const PAGE_SIZE = 100;

/** Maximum delay of a sweep after a hint. It is random, so that not all processes request the same sessions at once. */
const HINT_MS = 50;

export class OrphanWatch {
  readonly #log: Log;
  readonly #handler: OrphanHandler;
  readonly #options: OrphanWatchOptions;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #isFailing = false;
  /** A sweep is running, or the first one has not succeeded yet. */
  #isSweeping = true;
  /** A hint arrived during a sweep. */
  #isHinted = false;
  #unwatch: (() => void) | undefined;
  /** Where the last sweep stopped; undefined if it reached the end. */
  #after: string | undefined;

  constructor(log: Log, taker: OrphanHandler, options: OrphanWatchOptions) {
    this.#log = log;
    this.#handler = taker;
    this.#options = options;
  }

  /**
   * Sweeps now and at every interval. Resolves when the sessions of the first sweep have been opened, as far as the
   * limits allow. Rejects when the first sweep fails.
   */
  async start(): Promise<void> {
    // Sessions that are released during the first sweep are hinted too.
    if (!this.#isStopped) this.#unwatch ??= this.#log.watchOrphans?.(() => this.#onHint());
    await this.#sweep();
    this.#isSweeping = false;
    this.#schedule();
    await this.#handler.whenOpened();
  }

  stop(): void {
    this.#isStopped = true;
    this.#unwatch?.();
    clearTimeout(this.#timer);
  }

  #onHint(): void {
    if (this.#isHinted) return;
    this.#isHinted = true;
    if (!this.#isSweeping) this.#schedule();
  }

  #schedule(): void {
    if (this.#isStopped) return;
    clearTimeout(this.#timer);
    const { sweepMs } = this.#options;
    const delayMs = this.#isHinted ? Math.min(Math.random() * HINT_MS, sweepMs) : sweepMs;
    this.#timer = setTimeout(() => void this.#sweepAndReport(), Math.max(1, delayMs));
    this.#timer.unref();
  }

  async #sweepAndReport(): Promise<void> {
    this.#isSweeping = true;
    this.#isHinted = false;
    try {
      await this.#sweep();
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) this.#options.onError(error);
      this.#isFailing = true;
    }
    this.#isSweeping = false;
    this.#schedule();
  }

  async #sweep(): Promise<void> {
    while (!this.#isStopped && !this.#handler.isFull) {
      const page = await this.#list(this.#after);
      for (const sessionId of page) {
        if (this.#handler.isFull) return;
        this.#handler.request(sessionId);
        this.#after = sessionId;
      }
      if (page.length < PAGE_SIZE) {
        this.#after = undefined;
        return;
      }
      await Promise.race([this.#handler.whenOpened(), pause(this.#options.sweepMs, undefined, { ref: false })]);
    }
  }

  async #list(after: string | undefined): Promise<readonly string[]> {
    try {
      return await this.#log.listOrphans({ limit: PAGE_SIZE, ...(after === undefined ? {} : { after }) });
    } catch (error) {
      // The last session of the page was deleted in the meantime; the next sweep starts over.
      if (after !== undefined && isLoomError(error, "cursor_invalid")) return [];
      throw error;
    }
  }
}
