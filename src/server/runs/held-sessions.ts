/**
 * The sessions this process holds so that what waits in them is carried out: opened when somebody asks, kept while they
 * have something to do, and let go of a little later, so that a conversation does not open its session with every turn.
 *
 * Invariants:
 * - Of a session at most one is open, opening or closing at a time.
 * - What is held, what waits to be opened and what is opened at once is bounded. What finds no room is left to a later
 *   look: it is in the log.
 * - An idle session has no timer of its own.
 */
import { openSession, type Session, type SessionOptions } from "../../engine/index.ts";
import type { Log } from "../../log/index.ts";
import { BoundedMap, isLoomError } from "../../protocol/index.ts";
import { finishSession } from "./finish-session.ts";

export interface HeldSessionsOptions {
  readonly log: Log;
  /** What each is opened with. */
  readonly session: Omit<SessionOptions, "onIdle">;
  /** Held at once; those that come then wait. */
  readonly maxSessions: number;
  /** Opened at once. */
  readonly maxOpening: number;
  /** How long an idle one is kept. */
  readonly lingerMs: number;
  /** Told why a session cannot be opened, the first time. */
  readonly onError: (error: unknown) => void;
}

interface Held {
  readonly sessionId: string;
  opening: Promise<void> | undefined;
  session: Session | undefined;
  /** Asked for since it began to close. */
  isAskedAgain: boolean;
  isClosing: boolean;
}

interface Trouble {
  readonly tries: number;
  readonly notBefore: number;
}

/** First pause before one that somebody else holds, or that cannot be opened, is looked at again; then twice as long. */
const HELD_PAUSE_MS = 50;
const MAX_HELD_TRIES = 6;
const TROUBLE_PAUSE_MS = 1000;
const MAX_TROUBLE_PAUSE_MS = 5 * 60 * 1000;
const MAX_TROUBLES = 10_000;

export class HeldSessions {
  readonly #options: HeldSessionsOptions;
  readonly #held = new Map<string, Held>();
  /** Those that wait for a place, in the order they came. */
  readonly #waiting = new Set<string>();
  /** Since when, the longest first. */
  readonly #idle = new Map<string, number>();
  /** Those that somebody else holds, to be looked at again soon. */
  readonly #retries = new Map<string, { readonly timer: NodeJS.Timeout | undefined; readonly tries: number }>();
  readonly #troubles = new BoundedMap<Trouble>(MAX_TROUBLES);
  /** Those who wait for what is to be opened, and what is left of it. */
  readonly #openers = new Set<{ readonly left: Set<string>; readonly resolve: () => void }>();
  #opening = 0;
  #lingering: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: HeldSessionsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#held.size;
  }

  get liveRuns(): number {
    let count = 0;
    for (const { session } of this.#held.values()) if (session?.liveRun !== undefined) count++;
    return count;
  }

  /** No more can be taken for now. */
  get isFull(): boolean {
    return this.#waiting.size >= this.#options.maxSessions;
  }

  attend(sessionId: string): void {
    if (this.#isClosed) return;
    const held = this.#held.get(sessionId);
    if (held !== undefined) {
      held.isAskedAgain = true;
      if (this.#idle.delete(sessionId)) this.#onIdle(sessionId);
      return;
    }
    if (this.isFull || performance.now() < (this.#troubles.get(sessionId)?.notBefore ?? 0)) return;
    this.#waiting.add(sessionId);
    this.#fill();
  }

  /** Resolves when what has come so far, and there is room for, was opened; what comes meanwhile is not waited for. */
  opened(): Promise<void> {
    if (this.#opening === 0) return Promise.resolve();
    const isOpening = ({ session, isClosing }: Held): boolean => session === undefined && !isClosing;
    const opening = [...this.#held.values()].filter(isOpening).map(({ sessionId }) => sessionId);
    const left = new Set([...this.#waiting, ...opening]);
    return new Promise((resolve) => this.#openers.add({ left, resolve }));
  }

  /** Lets go of all: of those with a run when it has ended, waits for the user, or `grace` has resolved. */
  async close(grace: Promise<void>): Promise<void> {
    this.#isClosed = true;
    this.#waiting.clear();
    this.#idle.clear();
    clearTimeout(this.#lingering);
    for (const { timer } of this.#retries.values()) clearTimeout(timer);
    this.#retries.clear();
    await Promise.all(
      [...this.#held.values()].map(async (held) => {
        await held.opening;
        if (held.session !== undefined) await finishSession(held.session, grace);
      }),
    );
  }

  #fill(): void {
    const { maxSessions, maxOpening } = this.#options;
    for (const sessionId of this.#waiting) {
      if (this.#opening >= maxOpening || this.#held.size >= maxSessions) return;
      this.#waiting.delete(sessionId);
      const held: Held = {
        sessionId,
        opening: undefined,
        session: undefined,
        isAskedAgain: false,
        isClosing: false,
      };
      this.#held.set(sessionId, held);
      held.opening = this.#open(held);
    }
  }

  /** Never rejects. */
  async #open(held: Held): Promise<void> {
    const { log, session: options } = this.#options;
    const { sessionId } = held;
    this.#opening++;
    try {
      const info = await log.getSession(sessionId);
      // It was deleted meanwhile, and must not be made again.
      if (info === undefined) this.#drop(held);
      else if (info.holder !== undefined) await this.#leaveToHolder(held);
      else {
        const session = await openSession(log, sessionId, { ...options, onIdle: (id) => this.#onIdle(id) });
        held.session = session;
        held.isAskedAgain = false;
        this.#forget(sessionId);
        void session.closed.then(({ reason }) => {
          this.#drop(held);
          // Another has it, or it was made anew: whoever that is may not carry out what came meanwhile.
          if (reason === "fenced") this.attend(sessionId);
        });
      }
    } catch (error) {
      if (isLoomError(error, "lease_held", "fenced")) await this.#leaveToHolder(held);
      else {
        this.#drop(held);
        this.#note(sessionId, error);
      }
    } finally {
      this.#opening--;
      this.#fill();
      this.#tellOpeners(sessionId);
    }
  }

  #tellOpeners(sessionId: string): void {
    for (const opener of this.#openers) {
      opener.left.delete(sessionId);
      if (opener.left.size > 0 && this.#opening > 0) continue;
      this.#openers.delete(opener);
      opener.resolve();
    }
  }

  /**
   * Whoever holds it carries it out, if that one has agents. Who holds it only for a moment has not: as long as something
   * waits it is looked at again, and after that by those who look for orphans.
   */
  async #leaveToHolder(held: Held): Promise<void> {
    const { sessionId } = held;
    const { log } = this.#options;
    const isNeeded = await log.listPending(sessionId, 1).then(
      (pending) => pending.length > 0,
      () => false,
    );
    this.#drop(held);
    const { tries = 0, timer: last } = this.#retries.get(sessionId) ?? {};
    clearTimeout(last);
    this.#retries.delete(sessionId);
    // One that was asked for again has what was not yet seen.
    const isOver = !(isNeeded || held.isAskedAgain) || tries >= MAX_HELD_TRIES;
    if (isOver || this.#isClosed || this.#retries.size >= MAX_TROUBLES) return;
    const timer = setTimeout(() => this.attend(sessionId), HELD_PAUSE_MS * 2 ** tries);
    timer.unref();
    this.#retries.set(sessionId, { timer, tries: tries + 1 });
  }

  #note(sessionId: string, error: unknown): void {
    const { tries = 0 } = this.#troubles.get(sessionId) ?? {};
    const pause = Math.min(TROUBLE_PAUSE_MS * 2 ** tries, MAX_TROUBLE_PAUSE_MS);
    this.#troubles.set(sessionId, { tries: tries + 1, notBefore: performance.now() + pause });
    if (tries === 0) this.#options.onError(error);
  }

  #forget(sessionId: string): void {
    this.#troubles.delete(sessionId);
    clearTimeout(this.#retries.get(sessionId)?.timer);
    this.#retries.delete(sessionId);
  }

  #drop(held: Held): void {
    const { sessionId, isAskedAgain, isClosing } = held;
    if (this.#held.get(sessionId) !== held) return;
    this.#held.delete(sessionId);
    this.#idle.delete(sessionId);
    if (isClosing && isAskedAgain) this.attend(sessionId);
    else this.#fill();
  }

  #onIdle(sessionId: string): void {
    if (this.#isClosed || this.#idle.has(sessionId) || !this.#held.has(sessionId)) return;
    this.#idle.set(sessionId, performance.now());
    this.#plan();
  }

  /** One timer for all: those who are idle longest come first. */
  #plan(): void {
    if (this.#lingering !== undefined) return;
    const [since] = this.#idle.values();
    if (since === undefined) return;
    this.#lingering = setTimeout(
      () => {
        this.#lingering = undefined;
        this.#letGo();
        this.#plan();
      },
      Math.max(1, since + this.#options.lingerMs - performance.now()),
    );
    this.#lingering.unref();
  }

  #letGo(): void {
    const now = performance.now();
    for (const [sessionId, since] of this.#idle) {
      if (since + this.#options.lingerMs > now) return;
      this.#idle.delete(sessionId);
      const held = this.#held.get(sessionId);
      // One that is busy says again when it is not.
      if (held?.session?.isIdle !== true || held.isClosing) continue;
      held.isClosing = true;
      held.isAskedAgain = false;
      void held.session.close({ run: "leave" }).catch(() => undefined);
    }
  }
}
