/**
 * Looks at the sessions that are followed for what concerns the page as a whole: a run begins, ends, or waits for
 * approval. It is told with every frame of the screen, so it looks at the end of the session alone.
 */
import type { SessionView, StreamStatus, TurnView } from "loom-agent/client";
import { findWaiting } from "../store/composing.ts";
import { findLiveRun } from "../store/live-run.ts";
import { findRow } from "../store/sessions.ts";
import type { Kit } from "./kit.ts";
import type { SessionEffects } from "./session-effects.ts";

export interface WatchOptions {
  readonly sessions: Pick<SessionEffects, "refresh" | "loadDetails">;
  /** The tool that waits for approval, where one does. */
  readonly findApproval: (turn: TurnView) => string | undefined;
  /** Its stream is broken, or was refused. */
  readonly onTrouble: () => void;
}

/** Waiting messages are looked for among so many of the latest runs. */
const LOOK_BACK = 50;

/** A run that was seen going for less was loaded, not watched: that it is over is no news. */
const WATCHED_MS = 1000;

/** Names and reasons come from the stream, and are listened to. */
const MAX_SAID = 200;

const TROUBLE: ReadonlySet<StreamStatus> = new Set(["repairing", "truncated", "failed"]);

interface Seen {
  readonly key: string | undefined;
  /** `cut`: it was going on when the stream broke for good, and nobody will say how it ended. */
  readonly status: TurnView["status"] | "cut" | undefined;
  readonly approval: string | undefined;
}

interface Change {
  readonly before: Seen;
  readonly now: Seen;
  /** Somebody waits for its end: it was asked for here, or has been watched. */
  readonly isAwaited: boolean;
}

/** Until the function it gives is called. */
export function watchSession(kit: Kit, session: string, options: WatchOptions): () => void {
  const { sessions, findApproval, onTrouble } = options;
  const view = kit.receiver.session(session);
  let seen: Seen = { key: undefined, status: undefined, approval: undefined };
  /** The run that was asked for here last, and since when the latest is there. */
  let asked: string | undefined;
  let since = 0;
  let isFirst = true;
  let isFound = false;
  let isTroubled = false;

  /** What is known of a session beside its stream is asked for once it is there: of many that are named, it is not. */
  const lookAfter = ({ turns, state: { status } }: SessionView): void => {
    if (TROUBLE.has(status) && !isTroubled) onTrouble();
    isTroubled = TROUBLE.has(status);
    if (isFound || turns.length === 0) return;
    isFound = true;
    void sessions.loadDetails(session);
  };

  const look = (): void => {
    const now = view.getSnapshot();
    if (now !== undefined) lookAfter(now);
    const latest = now?.turns.at(-1);
    asked = dropBegun(kit, session, now).at(-1) ?? asked;
    const live = findLiveRun(now);
    const status = latest?.status === "running" && live === undefined ? "cut" : latest?.status;
    const approval = live === undefined ? undefined : findApproval(live);
    const before = seen;
    if (before.key === latest?.key && before.status === status && before.approval === approval) return;
    seen = { key: latest?.key, status, approval };
    if (before.key !== latest?.key) since = Date.now();
    const isAwaited = (asked !== undefined && asked === latest?.runId) || Date.now() - since >= WATCHED_MS;
    if (kit.store.getSnapshot().sessions.current === session) announce(kit, { before, now: seen, isAwaited }, latest);
    if (before.key === latest?.key && before.status === status) return;
    kit.store.dispatch({ type: "session/live", session, isLive: live !== undefined });
    if (latest?.runId !== undefined && live === undefined)
      kit.store.dispatch({ type: "run/stopped", runId: latest.runId });
    // What is only loaded was listed already; one that its first message made was not.
    const isListed = findRow(kit.store.getSnapshot().sessions, session) !== undefined;
    if (!isFirst || live !== undefined || !isListed) sessions.refresh(session);
    isFirst = false;
  };

  const unsubscribe = view.subscribe(look);
  return () => {
    unsubscribe();
    kit.store.dispatch({ type: "session/live", session, isLive: false });
  };
}

/** Of the messages that waited, those whose run is there. */
function dropBegun({ store }: Kit, session: string, view: SessionView | undefined): readonly string[] {
  const waiting = findWaiting(store.getSnapshot().composing, session);
  if (waiting.length === 0 || view === undefined) return [];
  const begun = new Set(view.turns.slice(-LOOK_BACK).map(({ runId }) => runId));
  const runIds = waiting.flatMap(({ runId }) => (begun.has(runId) ? [runId] : []));
  if (runIds.length > 0) store.dispatch({ type: "message/gone", session, runIds });
  return runIds;
}

/** What a run says is not read out; that it is over, or asks something, is. */
function announce({ store }: Kit, { before, now, isAwaited }: Change, turn: TurnView | undefined): void {
  if (now.approval !== undefined && now.approval !== before.approval)
    store.dispatch({ type: "said", what: "approval", detail: now.approval.slice(0, MAX_SAID) });
  const wasOver = before.key === now.key && before.status !== "running";
  // Of one that is cut the state of the stream tells.
  if (now.status === "running" || now.status === "cut" || wasOver || !isAwaited) return;
  if (now.status === "error")
    store.dispatch({ type: "said", what: "error", detail: (turn?.reason ?? "").slice(0, MAX_SAID) });
  else store.dispatch({ type: "said", what: now.status === "cancelled" ? "cancelled" : "complete", detail: "" });
}
