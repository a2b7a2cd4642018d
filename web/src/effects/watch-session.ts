/**
 * Watches a connected session: announces finished and restarted runs and approvals, removes pending messages whose run started, and
 * refreshes the session list. It runs on every rendered frame, so it reads only the end of the session.
 */
import type { SessionView, StreamStatus, TurnView } from "loom-agent/client";
import { findLiveRun } from "../../../src/react/page-parts.ts";
import { findWaiting } from "../store/composing.ts";
import { findRow } from "../store/sessions.ts";
import type { Announcement } from "../store/page-state.ts";
import type { Alerts } from "./alert-effects.ts";
import type { EffectContext } from "./effect-context.ts";
import type { SessionEffects } from "./session-effects.ts";

export interface SessionWatchOptions {
  readonly sessions: Pick<SessionEffects, "refresh" | "loadDetails">;
  /** Returns the tool that waits for approval, if any. */
  readonly findApproval: (turn: TurnView) => string | undefined;
  /** Alerts the user, unless they look at the session. */
  readonly alerts: Pick<Alerts, "alert" | "clear">;
  /** Called when a run started, waits, was answered or ended. */
  readonly onRunChange: () => void;
  /** Called when the stream breaks or is refused. */
  readonly onStreamFailure: () => void;
}

/** A model may write the title after the first answer. */
const TITLE_MS = [2000, 6000, 15_000];

/** Number of latest turns in which pending messages and their system prompt are looked up. */
const RECENT_TURNS = 50;

/** Runs that ended within this time of appearing were loaded, not watched. They are not announced. */
const WATCHED_MS = 1000;

/** Tool names and reasons come from the stream. Announcements are read aloud and must be short. */
const MAX_ANNOUNCED = 200;

const FAILED_STATUSES: ReadonlySet<StreamStatus> = new Set(["repairing", "truncated", "failed"]);

interface SeenTurn {
  readonly key: string | undefined;
  /** `cut`: the run was live when the stream failed for good. */
  readonly status: TurnView["status"] | "cut" | undefined;
  readonly approval: string | undefined;
  /** Attempt of a run whose process died. */
  readonly attempt: number | undefined;
}

interface TurnChange {
  readonly before: SeenTurn;
  readonly now: SeenTurn;
  /** The run was requested here or was watched, so its end is announced. */
  readonly isAwaited: boolean;
}

/** Returns a function that stops watching. */
export function watchSession(context: EffectContext, session: string, options: SessionWatchOptions): () => void {
  const { sessions, findApproval, alerts, onRunChange, onStreamFailure } = options;
  const view = context.receiver.session(session);
  let seen: SeenTurn = { key: undefined, status: undefined, approval: undefined, attempt: undefined };
  /** Run that was last requested on this page, and when the latest turn appeared. */
  let requested: string | undefined;
  let since = 0;
  const timers = new Set<ReturnType<typeof setTimeout>>();
  let isFirst = true;
  let isFound = false;
  let hasFailed = false;

  /** Loads the details once the session has turns. A session in the URL may not exist. */
  const checkStream = ({ turns, state: { status } }: SessionView): void => {
    if (FAILED_STATUSES.has(status) && !hasFailed) onStreamFailure();
    hasFailed = FAILED_STATUSES.has(status);
    if (isFound || turns.length === 0) return;
    isFound = true;
    void sessions.loadDetails(session);
  };

  const update = (): void => {
    const now = view.getSnapshot();
    if (now !== undefined) checkStream(now);
    // The past is not announced.
    if (now?.state.isCatchingUp === true) return;
    const latest = now?.turns.at(-1);
    requested = removeStarted(context, session, now).at(-1) ?? requested;
    const live = findLiveRun(now);
    const status = latest?.status === "running" && live === undefined ? "cut" : latest?.status;
    const approval = live === undefined ? undefined : findApproval(live);
    const before = seen;
    const attempt = latest?.attempt;
    const isSameRun = before.key === latest?.key && before.status === status;
    if (isSameRun && before.approval === approval && before.attempt === attempt) return;
    onRunChange();
    seen = { key: latest?.key, status, approval, attempt };
    if (before.key !== latest?.key) since = Date.now();
    const isAwaited = (requested !== undefined && requested === latest?.runId) || Date.now() - since >= WATCHED_MS;
    if (before.approval !== undefined && approval === undefined) alerts.clear(session);
    for (const { kind, detail } of listNews({ before, now: seen, isAwaited }, latest)) {
      if (context.store.getSnapshot().sessions.current === session)
        context.store.dispatch({ type: "announced", kind, detail });
      if (kind === "approval" || kind === "complete" || kind === "error") alerts.alert({ session, kind, detail });
    }
    if (isSameRun) return;
    context.store.dispatch({ type: "session/live", session, isLive: live !== undefined });
    if (latest !== undefined) context.store.dispatch({ type: "session/ended", session, hasFailed: status === "error" });
    if (latest?.runId !== undefined && live === undefined)
      context.store.dispatch({ type: "run/stopped", runId: latest.runId });
    // A loaded session is in the list already. A session created by its first message is not.
    const isListed = findRow(context.store.getSnapshot().sessions, session) !== undefined;
    if (!isFirst || live !== undefined || !isListed) sessions.refresh(session);
    isFirst = false;
    if (status === "completed" && isAwaited && now?.turns.length === 1)
      for (const ms of TITLE_MS) timers.add(setTimeout(() => sessions.refresh(session), ms));
  };

  const unsubscribe = view.subscribe(update);
  return () => {
    unsubscribe();
    for (const timer of timers) clearTimeout(timer);
    context.store.dispatch({ type: "session/live", session, isLive: false });
  };
}

/** Removes the pending messages whose run appeared, and their system prompt. Returns the run IDs of the messages. */
function removeStarted({ store }: EffectContext, session: string, view: SessionView | undefined): readonly string[] {
  const { composing, instructions } = store.getSnapshot();
  const waiting = findWaiting(composing, session);
  const isSent = instructions.get(session)?.runId !== undefined;
  if ((waiting.length === 0 && !isSent) || view === undefined) return [];
  const begun = new Set(view.turns.slice(-RECENT_TURNS).map(({ runId }) => runId));
  if (isSent) store.dispatch({ type: "instructions/started", session, runIds: begun });
  const runIds = waiting.flatMap(({ runId }) => (begun.has(runId) ? [runId] : []));
  if (runIds.length > 0) store.dispatch({ type: "message/removed", session, runIds });
  return runIds;
}

type RunNews = Omit<Announcement, "count">;

/** What is announced to screen readers: approvals, restarts and ends of runs, never the text of a run. */
function listNews({ before, now, isAwaited }: TurnChange, turn: TurnView | undefined): readonly RunNews[] {
  const news: RunNews[] = [];
  if (now.approval !== undefined && now.approval !== before.approval)
    news.push({ kind: "approval", detail: now.approval.slice(0, MAX_ANNOUNCED) });
  if (now.attempt !== undefined && now.status === "running" && before.key === now.key && now.attempt !== before.attempt)
    news.push({ kind: "restarted", detail: "" });
  const wasOver = before.key === now.key && before.status !== "running";
  // The stream status reports a cut run.
  if (now.status === "running" || now.status === "cut" || wasOver || !isAwaited) return news;
  if (now.status === "error") news.push({ kind: "error", detail: (turn?.reason ?? "").slice(0, MAX_ANNOUNCED) });
  else news.push({ kind: now.status === "cancelled" ? "cancelled" : "complete", detail: "" });
  return news;
}
