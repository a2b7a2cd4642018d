/**
 * Finds what other processes have written to the store, and notifies the watchers of the changed sessions. One query
 * per interval covers all watched sessions; a second one follows only if the store has changed.
 */
import type { Feed } from "../feed.ts";
import type { StoreReader } from "./store-reader.ts";

/**
 * Sessions that are notified per interval when it is not known which have changed. Their readers all read the store,
 * which must not block the event loop for long.
 */
const MAX_UNKNOWN_PER_POLL = 100;

export interface ChangePollerOptions {
  readonly reader: StoreReader;
  readonly feed: Feed;
  /** Identifies the commits of this log, whose watchers are notified without polling. */
  readonly writer: number;
  readonly pollMs: number;
}

export class ChangePoller {
  readonly #options: ChangePollerOptions;
  #timer: NodeJS.Timeout | undefined;
  #version: number | undefined;
  /** Position in the journal of commits. */
  #seq: number | undefined;
  /** Sessions that may have changed and are notified with the next polls. */
  #unknown: string[] = [];

  constructor(options: ChangePollerOptions) {
    this.#options = options;
  }

  /** Starts polling, unless it is running. Finds all changes from now on. */
  start(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(() => this.#poll(), this.#options.pollMs).unref();
    try {
      this.#readChanges();
    } catch {
      // The first poll notifies all watchers.
      this.#seq = undefined;
    }
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = this.#version = this.#seq = undefined;
    this.#unknown = [];
  }

  #poll(): void {
    const { reader, feed } = this.#options;
    try {
      if (reader.readVersion() !== this.#version) {
        const sessions = this.#readChanges();
        if (sessions === undefined) this.#unknown = [...feed.watched];
        else for (const sessionId of sessions) feed.forget(sessionId);
      }
    } catch {
      // The watchers read the store themselves, and get the error then.
      if (this.#unknown.length === 0) this.#unknown = [...feed.watched];
    }
    for (const sessionId of this.#unknown.splice(0, MAX_UNKNOWN_PER_POLL)) feed.forget(sessionId);
  }

  #readChanges(): readonly string[] | undefined {
    const { reader, writer } = this.#options;
    const { version, seq, sessions } = reader.readExternalChanges(this.#seq, writer);
    this.#version = version;
    this.#seq = seq;
    return sessions;
  }
}
