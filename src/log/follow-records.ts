/**
 * A session's records, page by page, from any position on: replay, resume and live tail are the same loop begun at another
 * place. It knows no dialect.
 *
 * Invariants:
 * - It holds its position and one page, nothing per record: whoever stops pulling costs nobody anything.
 * - What it gives is contiguous and of one incarnation of the session, or it ends with a refusal by name.
 */
import { isLoomError, LoomError } from "../protocol/index.ts";
import { assertPosition, boundPage, unknownSession } from "./rules.ts";
import type { Log } from "./log.ts";
import { Page } from "./page.ts";

/** How long one who waits goes without a look of its own: hints may be lost. */
export const RECHECK_MS = 1000;

/** How long a reader keeps the process to itself. */
const MAX_TURN_MS = 10;

export interface FollowOptions {
  /** The id of the last record already read; 0 for the beginning. */
  readonly after: number;
  /** Wait for more at the end of what there is. */
  readonly follow?: boolean;
  /** Ends it, without an error. */
  readonly signal?: AbortSignal | undefined;
  /** At most so many records a page, at least one. */
  readonly limit?: number | undefined;
  readonly recheckMs?: number | undefined;
  /** The session that is meant, where the name may have passed to another: refused as `cursor_stale`. */
  readonly incarnation?: string | undefined;
}

export async function* followRecords(
  log: Log,
  sessionId: string,
  { after, follow = false, signal, limit, recheckMs = RECHECK_MS, incarnation }: FollowOptions,
): AsyncGenerator<Page, void, undefined> {
  const bell = createBell(signal);
  if (bell.isAborted) return;
  // Before the first look: what is written between the look and the wait must ring.
  const unwatch = follow ? log.watch(sessionId, () => bell.ring()) : undefined;
  try {
    const info = await log.getSession(sessionId);
    if (info === undefined) throw unknownSession(sessionId);
    const meant = incarnation ?? info.incarnation;
    if (info.incarnation !== meant) throw madeAnew(sessionId);
    assertPosition(sessionId, after, info.firstId, info.lastId);
    const turn = createTurns();
    const look = createLooks(log, sessionId, meant, boundPage(limit, Number.POSITIVE_INFINITY));
    // True where the last page came from memory: until a hint comes, the store has no more.
    let isCurrent = false;
    for (let position = after; ;) {
      const rang = bell.hush();
      let page = look.inMemory(position);
      const fromMemory = page !== undefined;
      if (page === undefined && !(follow && isCurrent && !rang)) page = await look.inStore(position);
      if (bell.isAborted) return;
      if (page !== undefined && !page.isEmpty) {
        isCurrent = fromMemory;
        position = page.lastId;
        yield page;
        await turn();
        continue;
      }
      if (!follow || !(await bell.wait(recheckMs))) return;
      isCurrent = false;
    }
  } finally {
    unwatch?.();
    bell.close();
  }
}

/** Counts the turns of the event loop in which somebody read. */
let loopTurn = 0;
let isTurnCounted = false;

function countTurns(): number {
  if (!isTurnCounted) {
    isTurnCounted = true;
    setImmediate(() => {
      isTurnCounted = false;
      loopTurn++;
    });
  }
  return loopTurn;
}

/**
 * Lets others have their turn now and then: a log that answers at once would keep the process to itself. One that has
 * waited for something meanwhile has not kept it: where there is much to do, to wait a turn more is to be late.
 */
export function createTurns(): () => Promise<void> | undefined {
  let turn = -1;
  let since = 0;
  return () => {
    const current = countTurns();
    if (current !== turn) {
      turn = current;
      since = performance.now();
      return undefined;
    }
    if (performance.now() - since < MAX_TURN_MS) return undefined;
    return new Promise<void>((resolve) => void setImmediate(resolve));
  };
}

/** The two ways to what follows a position; both see to it that it is of the session that is meant. */
function createLooks(log: Log, sessionId: string, meant: string, limit: number) {
  return {
    inMemory(position: number): Page | undefined {
      const shared = log.peek(sessionId, position);
      if (shared?.incarnation !== meant) return undefined;
      return shared.length <= limit ? shared : cut(shared, limit);
    },
    async inStore(position: number): Promise<Page> {
      let page: Page;
      try {
        page = await log.read(sessionId, { after: position, limit });
      } catch (error) {
        // Another session of the same name may be too short, or begin too late, to have this position: say what it is.
        if (isLoomError(error, "cursor_ahead", "evicted")) await assertIncarnation(log, sessionId, meant);
        throw error;
      }
      // Afterwards: an incarnation that is gone does not come back, so if it is there now, the page was read from it.
      await assertIncarnation(log, sessionId, meant);
      return page;
    },
  };
}

/** Throws unless the session is there and the one that is meant. */
export async function assertIncarnation(log: Log, sessionId: string, meant: string): Promise<void> {
  const info = await log.getSession(sessionId);
  if (info === undefined) throw unknownSession(sessionId);
  if (info.incarnation !== meant) throw madeAnew(sessionId);
}

function madeAnew(sessionId: string): LoomError {
  return new LoomError("cursor_stale", `session "${sessionId}" was deleted and made anew`, { session_id: sessionId });
}

function cut({ sessionId, after, texts }: Page, limit: number): Page {
  return new Page(sessionId, after, after + limit, texts.slice(0, limit));
}

interface Bell {
  readonly isAborted: boolean;
  /** Remembered until the next `hush`, if nobody waits. */
  ring(): void;
  /** What rang so far is about to be looked at; tells whether anything did. */
  hush(): boolean;
  /** Until it rings or the time is up; false when it was aborted. */
  wait(ms: number): Promise<boolean>;
  close(): void;
}

function createBell(signal: AbortSignal | undefined): Bell {
  let rang = false;
  let wake: (() => void) | undefined;
  const ring = (): void => {
    rang = true;
    wake?.();
  };
  signal?.addEventListener("abort", ring, { once: true });
  return {
    get isAborted() {
      return signal?.aborted === true;
    },
    ring,
    hush() {
      const did = rang;
      rang = false;
      return did;
    },
    async wait(ms) {
      if (!rang) {
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        // The timer keeps the process alive: a program that only follows must not end because nothing happens.
        const timer = setTimeout(resolve, ms);
        await promise;
        clearTimeout(timer);
        wake = undefined;
      }
      return !this.isAborted;
    },
    close: () => signal?.removeEventListener("abort", ring),
  };
}
