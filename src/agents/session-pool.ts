/**
 * The sessions of one log that calls of this process have open: calls on one session share it, and the last to leave
 * closes it. It knows no run.
 *
 * Invariant: of a session at most one is open or closing at a time, so that no call is refused by another of its own
 * process; and with no calls none is open.
 */
import type { Session } from "../engine/index.ts";

export interface HeldSession {
  readonly session: Session;
  /** Once; resolves when the session is closed, if nobody else has it. */
  release(): Promise<void>;
}

interface Entry {
  readonly opening: Promise<Session>;
  users: number;
  closing: Promise<void> | undefined;
}

export class SessionPool {
  readonly #open: (sessionId: string) => Promise<Session>;
  readonly #entries = new Map<string, Entry>();

  constructor(open: (sessionId: string) => Promise<Session>) {
    this.#open = open;
  }

  async acquire(sessionId: string): Promise<HeldSession> {
    for (let entry = this.#entries.get(sessionId); ; entry = this.#entries.get(sessionId)) {
      if (entry?.closing !== undefined) await entry.closing;
      else return this.#join(sessionId, entry ?? this.#add(sessionId));
    }
  }

  #add(sessionId: string): Entry {
    const entry: Entry = { opening: this.#open(sessionId), users: 0, closing: undefined };
    this.#entries.set(sessionId, entry);
    // One that was lost to another writer is opened anew, or refused, for the calls that come.
    void entry.opening.then(
      (session) => session.closed.then(() => entry.closing ?? this.#drop(sessionId, entry)),
      () => this.#drop(sessionId, entry),
    );
    return entry;
  }

  #drop(sessionId: string, entry: Entry): void {
    if (this.#entries.get(sessionId) === entry) this.#entries.delete(sessionId);
  }

  async #join(sessionId: string, entry: Entry): Promise<HeldSession> {
    entry.users++;
    const session = await entry.opening;
    let left: Promise<void> | undefined;
    return { session, release: () => (left ??= this.#leave(sessionId, entry, session)) };
  }

  async #leave(sessionId: string, entry: Entry, session: Session): Promise<void> {
    entry.users--;
    if (entry.users > 0) return;
    // What is live now is nobody's here: a run somebody else left, which goes on where the session is opened next.
    entry.closing = session.close({ run: "leave" }).catch(() => undefined);
    await entry.closing;
    this.#drop(sessionId, entry);
  }
}
