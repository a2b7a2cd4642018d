/**
 * Looks at the sessions that are followed for what concerns the page as a whole: a run begins, ends, or waits for
 * approval. It is told with every frame of the screen, so it looks at the end of the session alone.
 */
import type { SessionView, TurnView } from "loom-agent/client";
import { findLiveRun } from "../store/live-run.ts";
import { findRow } from "../store/sessions.ts";
import type { Kit } from "./kit.ts";
import type { SessionEffects } from "./session-effects.ts";

export interface WatchOptions {
  readonly sessions: Pick<SessionEffects, "refresh" | "loadDetails">;
  /** The tool that waits for approval, where one does. */
  readonly findApproval: (turn: TurnView) => string | undefined;
}

/** Waiting messages are looked for among so many of the latest runs. */
const LOOK_BACK = 50;

interface Seen {
  readonly key: string | undefined;
  /** `cut`: it was going on when the stream broke for good, and nobody will say how it ended. */
  readonly status: TurnView["status"] | "cut" | undefined;
  readonly approval: string | undefined;
}

interface Change {
  readonly before: Seen;
  readonly now: Seen;
  /** Runs of messages that waited until now. */
  readonly begun: readonly string[];
}

/** Until the function it gives is called. */
export function watchSession(kit: Kit, session: string, { sessions, findApproval }: WatchOptions): () => void {
  const view = kit.receiver.session(session);
  let seen: Seen = { key: undefined, status: undefined, approval: undefined };
  let isFirst = true;

  const look = (): void => {
    const now = view.getSnapshot();
    const latest = now?.turns.at(-1);
    const begun = dropBegun(kit, session, now);
    const live = findLiveRun(now);
    const status = latest?.status === "running" && live === undefined ? "cut" : latest?.status;
    const approval = live === undefined ? undefined : findApproval(live);
    const before = seen;
    if (before.key === latest?.key && before.status === status && before.approval === approval) return;
    seen = { key: latest?.key, status, approval };
    if (kit.store.getSnapshot().sessions.current === session) announce(kit, { before, now: seen, begun }, latest);
    if (before.key === latest?.key && before.status === status) return;
    kit.store.dispatch({ type: "session/live", session, isLive: live !== undefined });
    if (latest?.runId !== undefined && live === undefined)
      kit.store.dispatch({ type: "run/stopped", runId: latest.runId });
    // What is only loaded was listed already; one that its first message made was not.
    const isListed = findRow(kit.store.getSnapshot().sessions, session) !== undefined;
    if (!isFirst || live !== undefined || !isListed) {
      sessions.refresh();
      void sessions.loadDetails(session);
    }
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
  const waiting = store.getSnapshot().composing.waiting[session];
  if (waiting === undefined || view === undefined) return [];
  const begun = new Set(view.turns.slice(-LOOK_BACK).map(({ runId }) => runId));
  const runIds = waiting.flatMap(({ runId }) => (begun.has(runId) ? [runId] : []));
  if (runIds.length > 0) store.dispatch({ type: "message/gone", session, runIds });
  return runIds;
}

/** What a run says is not read out; that it is over, or asks something, is. */
function announce({ store }: Kit, { before, now, begun }: Change, turn: TurnView | undefined): void {
  if (now.approval !== undefined && now.approval !== before.approval)
    store.dispatch({ type: "said", what: "approval", detail: now.approval });
  const wasGoing = before.key === now.key && before.status === "running";
  // One that is over before it was ever seen going.
  const wasAwaited = turn?.runId !== undefined && begun.includes(turn.runId);
  // Of one that is cut the state of the stream tells.
  if (now.status === "running" || now.status === "cut" || !(wasGoing || wasAwaited)) return;
  if (now.status === "error") store.dispatch({ type: "said", what: "error", detail: turn?.reason ?? "" });
  else store.dispatch({ type: "said", what: now.status === "cancelled" ? "cancelled" : "complete", detail: "" });
}
