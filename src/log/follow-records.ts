/**
 * Reads a session page by page from any position and optionally waits for more: replay, resume and live tail are the
 * same loop. It does not know dialects.
 *
 * Invariants:
 * - It keeps its position and one page, so a consumer that stops pulling uses no other resources.
 * - Its pages are contiguous and belong to one incarnation of the session; otherwise it throws.
 */
import { isLoomError, LoomError } from "../protocol/index.ts";
import { assertPosition, clampPageLimit, assertSession } from "./rules.ts";
import type { Log, ReadOptions, SessionInfo } from "./log.ts";
import { Page } from "./page.ts";
import { createWakeup } from "./create-wakeup.ts";

/** Maximum time in milliseconds that a reader blocks the event loop. */
const MAX_BLOCKING_MS = 10;

/** Options of `followRecords`. */
export interface FollowOptions {
  /** ID of the last record already read; 0 starts at the beginning. */
  readonly after: number;
  /** Whether to wait for new records at the end. Default: false. */
  readonly follow?: boolean;
  /** Ends the iteration without an error. */
  readonly signal?: AbortSignal | undefined;
  /** Maximum number of records per page; at least 1. Default: the limit of the log. */
  readonly limit?: number | undefined;
  /** The expected incarnation. Throws `cursor_stale` if the session was deleted and created again. */
  readonly incarnation?: string | undefined;
}

/**
 * Yields the records of a session from a position on, page by page. With `follow` it waits for new records until it is
 * aborted.
 *
 * Throws `unknown_session`, `cursor_invalid`, `cursor_ahead`, `evicted`, and `cursor_stale` if the session is deleted
 * and created again in the meantime.
 *
 * ```ts
 * for await (const { records } of followRecords(log, "chat-7", { after: 0 }))
 *   for (const { envelope, event } of records) console.log(envelope.event_id, event.type);
 * ```
 */
export async function* followRecords(
  log: Log,
  sessionId: string,
  { after, follow = false, signal, limit, incarnation }: FollowOptions,
): AsyncGenerator<Page, void, undefined> {
  const wakeup = createWakeup(signal);
  if (wakeup.isAborted) return;
  // Before the first read, so that a commit between the read and the wait is noticed.
  const unwatch = follow ? log.watch(sessionId, () => wakeup.notify()) : undefined;
  try {
    const info = assertSession(await log.getSession(sessionId), sessionId);
    const meant = incarnation ?? info.incarnation;
    if (info.incarnation !== meant) throw sessionRecreated(sessionId);
    assertPosition(sessionId, after, info.firstId, info.lastId);
    const yieldToLoop = createLoopYield();
    const session = { sessionId, incarnation: meant };
    const most = clampPageLimit(limit, Number.POSITIVE_INFINITY);
    // Whether the last page came from memory: until the next hint, the store has nothing newer.
    let isCurrent = false;
    for (let position = after; ;) {
      const wasNotified = wakeup.reset();
      const shared = log.peek(sessionId, position);
      const fromMemory = shared?.incarnation === meant;
      let page = fromMemory ? cut(shared, most) : undefined;
      if (page === undefined && !(follow && isCurrent && !wasNotified))
        page = await readPage(log, session, { after: position, limit: most });
      if (wakeup.isAborted) return;
      if (page !== undefined && !page.isEmpty) {
        isCurrent = fromMemory;
        position = page.lastId;
        yield page;
        await yieldToLoop();
        continue;
      }
      if (!follow || !(await wakeup.wait())) return;
      isCurrent = false;
    }
  } finally {
    unwatch?.();
    wakeup.close();
  }
}

/** Counts the turns of the event loop in which a reader ran. */
let loopTurn = 0;
let isTurnCounted = false;

function countLoopTurns(): number {
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
 * Returns a function to call between units of work. It yields to the event loop after the caller has blocked it for
 * `MAX_BLOCKING_MS`. Time spent waiting does not count: the measurement restarts with every turn of the event loop.
 */
export function createLoopYield(): () => Promise<void> | undefined {
  let turn = -1;
  let since = 0;
  return () => {
    const current = countLoopTurns();
    if (current !== turn) {
      turn = current;
      since = performance.now();
      return undefined;
    }
    if (performance.now() - since < MAX_BLOCKING_MS) return undefined;
    return new Promise<void>((resolve) => void setImmediate(resolve));
  };
}

/** Reads a page of this incarnation of the session. Throws `unknown_session` or `cursor_stale` if there is another one. */
export async function readPage(
  log: Log,
  { sessionId, incarnation }: Pick<SessionInfo, "sessionId" | "incarnation">,
  options: ReadOptions,
): Promise<Page> {
  let page: Page;
  try {
    page = await log.read(sessionId, options);
  } catch (error) {
    // A recreated session may be too short, or start too late, for this position; report that it was recreated.
    if (isLoomError(error, "cursor_ahead", "evicted")) await assertIncarnation(log, sessionId, incarnation);
    throw error;
  }
  // After the read: an incarnation never returns, so if it still exists now, the page belongs to it.
  if (page.incarnation === undefined) await assertIncarnation(log, sessionId, incarnation);
  else if (page.incarnation !== incarnation) throw sessionRecreated(sessionId);
  return page;
}

/** Throws `unknown_session` or `cursor_stale` unless the session exists in this incarnation. */
export async function assertIncarnation(log: Log, sessionId: string, meant: string): Promise<void> {
  const info = assertSession(await log.getSession(sessionId), sessionId);
  if (info.incarnation !== meant) throw sessionRecreated(sessionId);
}

function sessionRecreated(sessionId: string): LoomError {
  return new LoomError("cursor_stale", `Session "${sessionId}" was deleted and created again; read it from the start`, {
    session_id: sessionId,
  });
}

/** Returns the page, or its first records if it has more than `limit`. */
function cut(page: Page, limit: number): Page {
  const { sessionId, after, incarnation } = page;
  if (page.length <= limit) return page;
  return new Page(sessionId, after, after + limit, page.texts.slice(0, limit), incarnation);
}
