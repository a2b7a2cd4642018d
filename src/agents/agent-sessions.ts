/**
 * Where the calls of `run` and `stream` are written: in the log the agent was given; without one, in a log of its own
 * for calls that name their session, and in one that is garbage afterwards for those that do not.
 *
 * Invariant: what is kept in memory is bounded in sessions and bytes, and a session that is in use is not given up.
 */
import type { Session } from "../engine/index.ts";
import { type Log, MemoryLog } from "../log/index.ts";
import { LoomError } from "../protocol/index.ts";
import { type HeldSession, SessionPool } from "./session-pool.ts";

export interface MemoryOptions {
  /** Sessions that are remembered; the one used longest ago makes room. 1,000 when absent; `too_many_open`. */
  readonly maxSessions?: number;
  /** Bytes of their records in all; the oldest runs go first. 64 MiB when absent. */
  readonly maxBytes?: number;
}

export interface AgentSessionsOptions {
  readonly log: Log | undefined;
  readonly memory: MemoryOptions | undefined;
  open(log: Log, sessionId: string): Promise<Session>;
  /** Nobody will ask for this session again. */
  onGone(sessionId: string): void;
}

const MAX_SESSIONS = 1000;
const MAX_BYTES = 64 * 1024 * 1024;

export class AgentSessions {
  readonly #options: AgentSessionsOptions;
  readonly #log: Log;
  readonly #pool: SessionPool;
  /** Of the log in memory, the one used longest ago first. */
  readonly #remembered = new Set<string>();
  /** Calls on each of them: from before it is opened until it is closed. */
  readonly #users = new Map<string, number>();

  constructor(options: AgentSessionsOptions) {
    this.#options = options;
    this.#log = options.log ?? new MemoryLog();
    this.#pool = new SessionPool((sessionId) => options.open(this.#log, sessionId));
  }

  /** `isNamed`: the caller chose the session, and may come back to it. */
  async acquire(sessionId: string, isNamed: boolean): Promise<HeldSession> {
    if (this.#options.log !== undefined) return this.#pool.acquire(sessionId);
    return isNamed ? this.#acquireRemembered(sessionId) : this.#acquireOnce(sessionId);
  }

  async #acquireOnce(sessionId: string): Promise<HeldSession> {
    const session = await this.#options.open(new MemoryLog(), sessionId);
    const release = async (): Promise<void> => {
      await session.close();
      this.#options.onGone(sessionId);
    };
    return { session, release };
  }

  async #acquireRemembered(sessionId: string): Promise<HeldSession> {
    this.#users.set(sessionId, (this.#users.get(sessionId) ?? 0) + 1);
    try {
      await this.#makeRoom(sessionId);
      const held = await this.#pool.acquire(sessionId);
      return { session: held.session, release: () => this.#leave(sessionId, held) };
    } catch (error) {
      this.#forgetUser(sessionId);
      throw error;
    }
  }

  async #leave(sessionId: string, held: HeldSession): Promise<void> {
    await held.release();
    this.#forgetUser(sessionId);
    await this.#log.prune({ maxBytes: this.#options.memory?.maxBytes ?? MAX_BYTES });
  }

  #forgetUser(sessionId: string): void {
    const left = (this.#users.get(sessionId) ?? 1) - 1;
    if (left > 0) this.#users.set(sessionId, left);
    else this.#users.delete(sessionId);
  }

  /** The session becomes the youngest. */
  async #makeRoom(sessionId: string): Promise<void> {
    const limit = this.#options.memory?.maxSessions ?? MAX_SESSIONS;
    let oldest: string | undefined;
    if (!this.#remembered.has(sessionId) && this.#remembered.size >= limit) {
      for (const known of this.#remembered) {
        if (this.#users.has(known)) continue;
        oldest = known;
        break;
      }
      if (oldest === undefined) throw new LoomError("too_many_open", `${limit} sessions are in use already`, { limit });
      this.#remembered.delete(oldest);
    }
    this.#remembered.delete(sessionId);
    this.#remembered.add(sessionId);
    if (oldest === undefined) return;
    this.#options.onGone(oldest);
    await this.#log.deleteSession(oldest);
  }
}
