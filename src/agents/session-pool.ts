/**
 * Shares the open sessions of one log between calls of this process. The last call to release a session closes it.
 *
 * Invariant: a session is opened at most once at a time, so calls of one process do not block each other; without
 * calls, no session is open.
 */
import type { Session } from "../engine/index.ts";

export interface HeldSession {
  readonly session: Session;
  /** Call once. Resolves when the session is closed, if no other call uses it. */
  release(): Promise<void>;
}

interface PooledSession {
  readonly opening: Promise<Session>;
  users: number;
  closing: Promise<void> | undefined;
}

export class SessionPool {
  readonly #open: (sessionId: string) => Promise<Session>;
  readonly #entries = new Map<string, PooledSession>();

  constructor(open: (sessionId: string) => Promise<Session>) {
    this.#open = open;
  }

  async acquire(sessionId: string): Promise<HeldSession> {
    for (let entry = this.#entries.get(sessionId); ; entry = this.#entries.get(sessionId)) {
      if (entry?.closing !== undefined) await entry.closing;
      else return this.#join(sessionId, entry ?? this.#add(sessionId));
    }
  }

  #add(sessionId: string): PooledSession {
    const entry: PooledSession = { opening: this.#open(sessionId), users: 0, closing: undefined };
    this.#entries.set(sessionId, entry);
    // A session that was lost to another writer is removed, so that the next call opens it again.
    void entry.opening.then(
      (session) => session.closed.then(() => entry.closing ?? this.#drop(sessionId, entry)),
      () => this.#drop(sessionId, entry),
    );
    return entry;
  }

  #drop(sessionId: string, entry: PooledSession): void {
    if (this.#entries.get(sessionId) === entry) this.#entries.delete(sessionId);
  }

  async #join(sessionId: string, entry: PooledSession): Promise<HeldSession> {
    entry.users++;
    const session = await entry.opening;
    let left: Promise<void> | undefined;
    return { session, release: () => (left ??= this.#release(sessionId, entry, session)) };
  }

  async #release(sessionId: string, entry: PooledSession, session: Session): Promise<void> {
    entry.users--;
    if (entry.users > 0) return;
    // A live run was left by another process; it is resumed when the session is opened next.
    entry.closing = session.close({ run: "leave" }).catch(() => undefined);
    await entry.closing;
    this.#drop(sessionId, entry);
  }
}
