/**
 * Opens the sessions of `run` and `stream`: in the agent's log if it has one. Without a log, calls that name a session
 * share one log in memory, and every other call gets a temporary one.
 *
 * Invariant: memory is bounded in sessions and bytes, and a session in use is never evicted.
 */
import type { Session } from "../engine/index.ts";
import type { Log } from "../log/index.ts";
import { MemoryLog } from "../log/memory-log.ts";
import { LoomError } from "../protocol/index.ts";
import { type HeldSession, SessionPool } from "./session-pool.ts";
import { acceptInteger, type OptionTable } from "../protocol/read-options.ts";

/** Limits of the log in memory. */
export interface MemoryOptions {
  /**
   * Maximum sessions; the least recently used one is evicted. Code `too_many_open` if all are in use. Default: 1,000.
   */
  readonly maxSessions?: number;
  /** Maximum bytes of all records; the oldest runs are removed first. Default: 64 MiB. */
  readonly maxBytes?: number;
}

export const MEMORY_OPTIONS: OptionTable<MemoryOptions> = {
  maxSessions: acceptInteger(1),
  maxBytes: acceptInteger(1),
};

export interface AgentSessionsOptions {
  readonly log: Log | undefined;
  readonly memory: MemoryOptions | undefined;
  open(log: Log, sessionId: string): Promise<Session>;
  /** Called when a session is evicted or its temporary log is dropped. */
  onDiscarded(sessionId: string): void;
}

const MAX_SESSIONS = 1000;
const MAX_BYTES = 64 * 1024 * 1024;

export class AgentSessions {
  readonly #options: AgentSessionsOptions;
  readonly #log: Log;
  readonly #pool: SessionPool;
  /** Sessions of the log in memory, least recently used first. */
  readonly #remembered = new Set<string>();
  /** Number of calls per session, from before it is opened until it is closed. */
  readonly #users = new Map<string, number>();

  constructor(options: AgentSessionsOptions) {
    this.#options = options;
    this.#log = options.log ?? new MemoryLog();
    this.#pool = new SessionPool((sessionId) => options.open(this.#log, sessionId));
  }

  /** `isNamed`: the caller chose the session ID and may use it again. */
  async acquire(sessionId: string, isNamed: boolean): Promise<HeldSession> {
    if (this.#options.log !== undefined) return this.#pool.acquire(sessionId);
    return isNamed ? this.#acquireRemembered(sessionId) : this.#acquireTemporary(sessionId);
  }

  async #acquireTemporary(sessionId: string): Promise<HeldSession> {
    const session = await this.#options.open(new MemoryLog(), sessionId);
    const release = async (): Promise<void> => {
      await session.close();
      this.#options.onDiscarded(sessionId);
    };
    return { session, release };
  }

  async #acquireRemembered(sessionId: string): Promise<HeldSession> {
    this.#users.set(sessionId, (this.#users.get(sessionId) ?? 0) + 1);
    try {
      await this.#makeRoom(sessionId);
      const held = await this.#pool.acquire(sessionId);
      return { session: held.session, release: () => this.#release(sessionId, held) };
    } catch (error) {
      this.#removeUser(sessionId);
      throw error;
    }
  }

  async #release(sessionId: string, held: HeldSession): Promise<void> {
    await held.release();
    this.#removeUser(sessionId);
    await this.#log.prune({ maxBytes: this.#options.memory?.maxBytes ?? MAX_BYTES });
  }

  #removeUser(sessionId: string): void {
    const left = (this.#users.get(sessionId) ?? 1) - 1;
    if (left > 0) this.#users.set(sessionId, left);
    else this.#users.delete(sessionId);
  }

  /** Evicts a session if there is no room for this one, and marks this one as most recently used. */
  async #makeRoom(sessionId: string): Promise<void> {
    const limit = this.#options.memory?.maxSessions ?? MAX_SESSIONS;
    let oldest: string | undefined;
    if (!this.#remembered.has(sessionId) && this.#remembered.size >= limit) {
      for (const known of this.#remembered) {
        if (this.#users.has(known)) continue;
        oldest = known;
        break;
      }
      if (oldest === undefined)
        throw new LoomError(
          "too_many_open",
          `All ${limit} sessions in memory are in use; raise \`memory.maxSessions\``,
          { limit },
        );
      this.#remembered.delete(oldest);
    }
    this.#remembered.delete(sessionId);
    this.#remembered.add(sessionId);
    if (oldest === undefined) return;
    this.#options.onDiscarded(oldest);
    await this.#log.deleteSession(oldest);
  }
}
