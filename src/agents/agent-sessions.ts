/**
 * Opens the sessions of `run` and `stream`: in the agent's log if it has one. Without a log, calls that name a session
 * share one log in memory, and every other call gets a temporary one. Calls of this process share an open session; the
 * last one to release it closes it.
 *
 * Invariants:
 * - A session is opened at most once at a time, so calls of one process do not block each other; without calls, no session
 *   is open.
 * - Memory is bounded in sessions and bytes, and a session in use is never evicted.
 */
import type { Session } from "../engine/index.ts";
import type { Log } from "../log/index.ts";
import { MemoryLog } from "../log/memory-log.ts";
import { LoomError } from "../protocol/index.ts";
import { acceptInteger, type OptionTable, readOptions, withDefault } from "../protocol/read-options.ts";

/** Limits of the log in memory. */
export interface MemoryOptions {
  /**
   * Maximum sessions; the least recently used one is evicted. Code `too_many_open` if all are in use. Default: 1,000.
   */
  readonly maxSessions?: number;
  /** Maximum bytes of all records; the oldest runs are removed first. Default: 64 MiB. */
  readonly maxBytes?: number;
}

export const MEMORY_OPTIONS = {
  maxSessions: withDefault(acceptInteger(1), 1000),
  maxBytes: withDefault(acceptInteger(1), 64 * 1024 * 1024),
} as const satisfies OptionTable<MemoryOptions>;

export interface AgentSessionsOptions {
  readonly log: Log | undefined;
  readonly memory: MemoryOptions | undefined;
  open(log: Log, sessionId: string): Promise<Session>;
  /** Called when a session is evicted or its temporary log is dropped. */
  onDiscarded(sessionId: string): void;
}

export interface HeldSession {
  readonly session: Session;
  /** Call once. Resolves when the session is closed, if no other call uses it. */
  release(): Promise<void>;
}

interface SharedSession {
  readonly opening: Promise<Session>;
  users: number;
  closing: Promise<void> | undefined;
}

export class AgentSessions {
  readonly #options: AgentSessionsOptions;
  readonly #memory: Required<MemoryOptions>;
  readonly #log: Log;
  /** Sessions of the log in memory, least recently used first. */
  readonly #remembered = new Set<string>();
  /** Sessions in use, from before they are opened until they are closed. */
  readonly #shared = new Map<string, SharedSession>();

  constructor(options: AgentSessionsOptions) {
    this.#options = options;
    this.#memory = readOptions(MEMORY_OPTIONS, options.memory ?? {});
    this.#log = options.log ?? new MemoryLog();
  }

  /** `isNamed`: the caller chose the session ID and may use it again. */
  async acquire(sessionId: string, isNamed: boolean): Promise<HeldSession> {
    if (this.#options.log !== undefined) return this.#share(sessionId);
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
    const evicted = this.#makeRoom(sessionId);
    const opening = this.#share(sessionId);
    try {
      await Promise.all([opening, evicted === undefined ? undefined : this.#evict(evicted)]);
    } catch (error) {
      // The session may be open although the other one could not be evicted.
      await opening.then(
        (held) => held.release(),
        () => undefined,
      );
      throw error;
    }
    const held = await opening;
    const release = async (): Promise<void> => {
      await held.release();
      await this.#log.prune({ maxBytes: this.#memory.maxBytes });
    };
    return { session: held.session, release };
  }

  /** Marks this session as most recently used. Returns the one to evict if there is no room. */
  #makeRoom(sessionId: string): string | undefined {
    const limit = this.#memory.maxSessions;
    let oldest: string | undefined;
    if (!this.#remembered.has(sessionId) && this.#remembered.size >= limit) {
      oldest = [...this.#remembered].find((known) => !this.#shared.has(known));
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
    return oldest;
  }

  async #evict(sessionId: string): Promise<void> {
    this.#options.onDiscarded(sessionId);
    await this.#log.deleteSession(sessionId);
  }

  async #share(sessionId: string): Promise<HeldSession> {
    const known = this.#shared.get(sessionId);
    const shared = known === undefined || known.closing !== undefined ? this.#add(sessionId, known?.closing) : known;
    shared.users++;
    const session = await shared.opening;
    let left: Promise<void> | undefined;
    return { session, release: () => (left ??= this.#release(sessionId, shared, session)) };
  }

  /** Opens the session, if need be after it was closed. */
  #add(sessionId: string, closing: Promise<void> | undefined): SharedSession {
    const open = async (): Promise<Session> => {
      await closing;
      return this.#options.open(this.#log, sessionId);
    };
    const shared: SharedSession = { opening: open(), users: 0, closing: undefined };
    this.#shared.set(sessionId, shared);
    // A session that was lost to another writer is removed, so that the next call opens it again.
    void shared.opening.then(
      (session) => session.closed.then(() => shared.closing ?? this.#drop(sessionId, shared)),
      () => this.#drop(sessionId, shared),
    );
    return shared;
  }

  #drop(sessionId: string, shared: SharedSession): void {
    if (this.#shared.get(sessionId) === shared) this.#shared.delete(sessionId);
  }

  async #release(sessionId: string, shared: SharedSession, session: Session): Promise<void> {
    shared.users--;
    if (shared.users > 0) return;
    // A live run was left by another process; it is resumed when the session is opened next.
    shared.closing = session.close({ run: "leave" }).catch(() => undefined);
    await shared.closing;
    this.#drop(sessionId, shared);
  }
}
