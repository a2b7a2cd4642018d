/**
 * The sessions this process holds to execute their pending messages. A session is opened on request, kept while it has
 * work to do, and closed after an idle period, so that a conversation does not reopen its session for every turn.
 *
 * Invariants:
 * - Each session is open, opening or closing at most once at a time.
 * - The numbers of held, waiting and opening sessions are bounded. A session that does not fit stays in the log until a
 *   later sweep.
 * - All idle sessions share one timer.
 */
import { openSession, type Run, type Session, type SessionOptions } from "../../engine/index.ts";
import type { Log } from "../../log/index.ts";
import { isLoomError } from "../../protocol/index.ts";
import { BoundedMap } from "../../protocol/bounded-map.ts";

export interface HeldSessionsOptions {
  readonly log: Log;
  /** Options for every session. */
  readonly session: Omit<SessionOptions, "onIdle">;
  /** Maximum held sessions; others wait. */
  readonly maxSessions: number;
  /** Maximum sessions opened at the same time. */
  readonly maxOpening: number;
  /** How long an idle session is kept, in milliseconds. */
  readonly lingerMs: number;
  /** Maximum sessions whose failed attempts are remembered; beyond it, the oldest are forgotten. Default: 10,000. */
  readonly maxTracked?: number;
  /** Called the first time a session cannot be opened. */
  readonly onError: (error: unknown) => void;
}

interface HeldSessionState {
  readonly sessionId: string;
  opening: Promise<void> | undefined;
  session: Session | undefined;
  /** Requested again while it was opening or closing. */
  isRequestedAgain: boolean;
  isClosing: boolean;
}

interface HeldRetry {
  readonly timer: NodeJS.Timeout;
  readonly tries: number;
}

interface OpenFailure {
  readonly tries: number;
  readonly notBefore: number;
}

/**
 * Delay before retrying a session that another process holds, or that could not be opened. It doubles with each retry.
 */
const HELD_RETRY_MS = 50;
const MAX_HELD_RETRIES = 6;
const FAILURE_RETRY_MS = 1000;
/** Short, because accepted messages wait for it, also after a store that failed works again. */
const MAX_FAILURE_RETRY_MS = 30 * 1000;
const MAX_TRACKED_SESSIONS = 10_000;

export class HeldSessions {
  readonly #options: HeldSessionsOptions;
  readonly #held = new Map<string, HeldSessionState>();
  /** Sessions that wait to be opened, in request order. */
  readonly #waiting = new Set<string>();
  /** Idle sessions and when they became idle, the longest idle first. */
  readonly #idle = new Map<string, number>();
  /** Sessions held by other processes, to be retried soon. */
  readonly #retries: BoundedMap<HeldRetry>;
  readonly #failures: BoundedMap<OpenFailure>;
  /** Callers of `whenOpened`, with the sessions they wait for. */
  readonly #openWaiters = new Set<{ readonly left: Set<string>; readonly resolve: () => void }>();
  #opening = 0;
  #lingerTimer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: HeldSessionsOptions) {
    const { maxTracked = MAX_TRACKED_SESSIONS } = options;
    this.#options = options;
    // Orphan sweeps find the forgotten sessions.
    this.#retries = new BoundedMap(maxTracked, ({ timer }) => clearTimeout(timer));
    this.#failures = new BoundedMap(maxTracked);
  }

  get size(): number {
    return this.#held.size;
  }

  get liveRuns(): number {
    let count = 0;
    for (const { session } of this.#held.values()) if (session?.liveRun !== undefined) count++;
    return count;
  }

  /** The number of sessions whose failed attempts are remembered. */
  get trackedSize(): number {
    return this.#retries.size + this.#failures.size;
  }

  /** No more sessions can be queued for now. */
  get isFull(): boolean {
    return this.#waiting.size >= this.#options.maxSessions;
  }

  /** Opens the session, as far as the limits allow, and executes its pending commands; see `RunDispatcher`. */
  async dispatch(sessionId: string): Promise<boolean> {
    this.request(sessionId);
    const held = this.#held.get(sessionId);
    await held?.opening;
    if (held?.session === undefined || held.isClosing) return false;
    return held.session.executePending().then(
      () => true,
      () => false,
    );
  }

  /**
   * Opens the session, as far as the limits allow. A session that is open executes its commands anyway. Returns whether
   * it will be opened.
   */
  request(sessionId: string): boolean {
    if (this.#isClosed) return false;
    const held = this.#held.get(sessionId);
    if (held !== undefined) {
      held.isRequestedAgain = true;
      if (this.#idle.delete(sessionId)) this.#onIdle(sessionId);
      return false;
    }
    if (this.isFull || performance.now() < (this.#failures.get(sessionId)?.notBefore ?? 0)) return false;
    this.#waiting.add(sessionId);
    this.#openWaiting();
    return true;
  }

  /** Resolves when all sessions requested so far have been opened, as far as the limits allow. */
  whenOpened(): Promise<void> {
    if (this.#opening === 0) return Promise.resolve();
    const isOpening = ({ session, isClosing }: HeldSessionState): boolean => session === undefined && !isClosing;
    const opening = [...this.#held.values()].filter(isOpening).map(({ sessionId }) => sessionId);
    const left = new Set([...this.#waiting, ...opening]);
    return new Promise((resolve) => this.#openWaiters.add({ left, resolve }));
  }

  /** Closes all sessions. Live runs may continue until they end, wait for the user, or `grace` resolves. */
  async close(grace: Promise<void>): Promise<void> {
    this.#isClosed = true;
    this.#waiting.clear();
    this.#idle.clear();
    clearTimeout(this.#lingerTimer);
    for (const { timer } of this.#retries.values()) clearTimeout(timer);
    this.#retries.clear();
    await Promise.all(
      [...this.#held.values()].map(async (held) => {
        await held.opening;
        if (held.session !== undefined) await finishSession(held.session, grace);
      }),
    );
  }

  #openWaiting(): void {
    const { maxSessions, maxOpening } = this.#options;
    for (const sessionId of this.#waiting) {
      if (this.#opening >= maxOpening || this.#held.size >= maxSessions) return;
      this.#waiting.delete(sessionId);
      const held: HeldSessionState = {
        sessionId,
        opening: undefined,
        session: undefined,
        isRequestedAgain: false,
        isClosing: false,
      };
      this.#held.set(sessionId, held);
      held.opening = this.#open(held);
    }
  }

  /** Never rejects. */
  async #open(held: HeldSessionState): Promise<void> {
    const { log, session: options } = this.#options;
    const { sessionId } = held;
    this.#opening++;
    try {
      const onIdle = (id: string): void => this.#onIdle(id);
      const session = await openSession(log, sessionId, { ...options, create: false, onIdle });
      held.session = session;
      held.isRequestedAgain = false;
      this.#forget(sessionId);
      void session.closed.then(({ reason }) => {
        this.#drop(held);
        // Another process took the session over, or it was recreated; messages may still be pending.
        if (reason === "fenced") this.request(sessionId);
      });
    } catch (error) {
      if (isLoomError(error, "lease_held", "fenced")) await this.#deferToHolder(held);
      else {
        this.#drop(held);
        // The session was deleted in the meantime.
        if (isLoomError(error, "unknown_session")) this.#forget(sessionId);
        else this.#recordFailure(sessionId, error);
      }
    } finally {
      this.#opening--;
      this.#openWaiting();
      this.#notifyOpenWaiters(sessionId);
    }
  }

  #notifyOpenWaiters(sessionId: string): void {
    for (const opener of this.#openWaiters) {
      opener.left.delete(sessionId);
      if (opener.left.size > 0 && this.#opening > 0) continue;
      this.#openWaiters.delete(opener);
      opener.resolve();
    }
  }

  /**
   * Leaves the session to the process that holds it. A process without agents holds it only for a moment, so the
   * session is retried while it has pending commands. Orphan sweeps take over after that.
   */
  async #deferToHolder(held: HeldSessionState): Promise<void> {
    const { sessionId } = held;
    const { log } = this.#options;
    const isPending = await log.listPending(sessionId, 1).then(
      (pending) => pending.length > 0,
      () => false,
    );
    this.#drop(held);
    const { tries = 0, timer: lastTimer } = this.#retries.get(sessionId) ?? {};
    clearTimeout(lastTimer);
    this.#retries.delete(sessionId);
    // A session that was requested again may have commands that were not pending above.
    const isDone = !(isPending || held.isRequestedAgain) || tries >= MAX_HELD_RETRIES;
    if (isDone || this.#isClosed) return;
    const retry = (): void => {
      if (!this.request(sessionId)) this.#retries.delete(sessionId);
    };
    const timer = setTimeout(retry, HELD_RETRY_MS * 2 ** tries);
    timer.unref();
    this.#retries.set(sessionId, { timer, tries: tries + 1 });
  }

  #recordFailure(sessionId: string, error: unknown): void {
    const { tries = 0 } = this.#failures.get(sessionId) ?? {};
    const pause = Math.min(FAILURE_RETRY_MS * 2 ** tries, MAX_FAILURE_RETRY_MS);
    this.#failures.set(sessionId, { tries: tries + 1, notBefore: performance.now() + pause });
    if (tries === 0) this.#options.onError(error);
  }

  /** Forgets failed attempts: the session was opened or deleted. */
  #forget(sessionId: string): void {
    this.#failures.delete(sessionId);
    clearTimeout(this.#retries.get(sessionId)?.timer);
    this.#retries.delete(sessionId);
  }

  #drop(held: HeldSessionState): void {
    const { sessionId, isRequestedAgain: isAskedAgain, isClosing } = held;
    if (this.#held.get(sessionId) !== held) return;
    this.#held.delete(sessionId);
    this.#idle.delete(sessionId);
    if (isClosing && isAskedAgain) this.request(sessionId);
    else this.#openWaiting();
  }

  #onIdle(sessionId: string): void {
    if (this.#isClosed || this.#idle.has(sessionId) || !this.#held.has(sessionId)) return;
    this.#idle.set(sessionId, performance.now());
    this.#scheduleClose();
  }

  /** Schedules one timer for the session that has been idle the longest. */
  #scheduleClose(): void {
    if (this.#lingerTimer !== undefined) return;
    const [since] = this.#idle.values();
    if (since === undefined) return;
    this.#lingerTimer = setTimeout(
      () => {
        this.#lingerTimer = undefined;
        this.#closeIdle();
        this.#scheduleClose();
      },
      Math.max(1, since + this.#options.lingerMs - performance.now()),
    );
    this.#lingerTimer.unref();
  }

  #closeIdle(): void {
    const now = performance.now();
    for (const [sessionId, since] of this.#idle) {
      if (since + this.#options.lingerMs > now) return;
      this.#idle.delete(sessionId);
      const held = this.#held.get(sessionId);
      // A busy session reports when it becomes idle again.
      if (held?.session?.isIdle !== true || held.isClosing) continue;
      held.isClosing = true;
      held.isRequestedAgain = false;
      void held.session.close({ run: "leave" }).catch(() => undefined);
    }
  }
}

/**
 * Closes a session when the server stops. A live run may finish within the grace period; otherwise it stays live in the
 * log, and the next process that opens the session resumes it. Resolves when the lease is released. Never rejects.
 */
async function finishSession(session: Session, grace: Promise<void>): Promise<void> {
  // A message that is being started counts as well.
  await Promise.race([session.drain(), grace]);
  const run = session.liveRun;
  if (run !== undefined && !isWaiting(run)) await waitFor(run, grace);
  await session.close({ run: "leave" }).catch(() => undefined);
}

async function waitFor(run: Run, grace: Promise<void>): Promise<void> {
  const startsWaiting = Promise.withResolvers<void>();
  const stop = run.onCommit(() => {
    if (isWaiting(run)) startsWaiting.resolve();
  });
  await Promise.race([run.ended.catch(() => undefined), grace, startsWaiting.promise]);
  stop();
}

/** Whether the run only waits for the user or the client. The next process can wait as well. */
function isWaiting({ work }: Run): boolean {
  return work.needsAnswer && [...work.calls].every(({ state }) => state !== "started");
}
