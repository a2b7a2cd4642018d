/**
 * Where a conversation opens: at the end, but with the question of its last run in view if that run has ended. A reader
 * who comes back wants to read the last answer from its beginning.
 */
import { type RefObject, useEffect, useMemo, useRef } from "react";
import type { Receiver, SessionView } from "../../client/index.ts";
import { useSession } from "../use-receiver.ts";
import { holdBeginning } from "./scrolling.ts";

/** A run that is live for this long is watched, not loaded. */
const WATCHED_MS = 1000;
/** Animation frames to wait for the row to render. */
const MAX_FRAMES = 30;

/**
 * Lands on the last run while the session loads. Returns a function that ends this, for scrolls on behalf of the user;
 * scrolls of the reader end it as well.
 */
export function useLanding(
  receiver: Receiver,
  sessionId: string,
  scroller: RefObject<HTMLElement | null>,
  scrollToEnd: () => void,
): () => void {
  const isOpening = useRef(true);
  const select = useMemo(() => createLastSelector(Date.now()), []);
  const last = useSession(receiver, sessionId, select);
  const isLive = last === LIVE;
  useEffect(() => {
    if (!isLive) return undefined;
    // A long session arrives in parts: an earlier run was the last one until now.
    if (isOpening.current) scrollToEnd();
    const timer = setTimeout(() => (isOpening.current = false), WATCHED_MS);
    return () => clearTimeout(timer);
  }, [isLive, scrollToEnd]);
  useEffect(() => {
    const { current: list } = scroller;
    if (!isOpening.current || last === undefined || isLive || list === null) return undefined;
    const over = new AbortController();
    const end = (): void => {
      isOpening.current = false;
    };
    for (const type of READER_EVENTS) list.addEventListener(type, end, { signal: over.signal, passive: true });
    scrollToEnd();
    let frames = 0;
    let frame = 0;
    const land = (): void => {
      if (!isOpening.current) return;
      const run = list.querySelector(`[data-turn="${CSS.escape(last.slice(ENDED.length))}"]`);
      if (run !== null) holdBeginning(list, run, { isOpening: true });
      else if (frames++ < MAX_FRAMES) frame = requestAnimationFrame(land);
    };
    frame = requestAnimationFrame(land);
    return () => {
      over.abort();
      cancelAnimationFrame(frame);
    };
  }, [last, isLive, scroller, scrollToEnd]);
  return useMemo(
    () => () => {
      isOpening.current = false;
    },
    [],
  );
}

const READER_EVENTS = ["wheel", "touchmove", "pointerdown", "keydown"];
const LIVE = "live";
const ENDED = "ended:";

/**
 * Returns `LIVE`, or `ENDED` and the key of the last run if it ended before this time, or undefined. A string, so that
 * tokens do not rerender the list.
 */
function createLastSelector(openedAt: number): (session: SessionView | undefined) => string | undefined {
  return (session) => {
    const last = session?.turns.at(-1);
    if (last?.status === "running") return LIVE;
    return last?.endedAt !== undefined && last.endedAt < openedAt ? `${ENDED}${last.key}` : undefined;
  };
}
