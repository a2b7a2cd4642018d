/**
 * Loads the live and queued runs of all sessions: often while the list is open, less often while there are any, rarely
 * otherwise, and soon after a run of a connected session started, waited or ended. A hidden tab does not load them.
 */
import type { ApprovalResponse } from "../../../src/react/page-parts.ts";
import type { CommandResult } from "loom-agent/client";
import { ApiError } from "../api/api-error.ts";
import { createQuery } from "../api/query.ts";
import { may } from "../store/access.ts";
import type { ActiveRun } from "../store/activity.ts";
import type { Alerts } from "./alert-effects.ts";
import { attempt, type EffectContext } from "./effect-context.ts";

export interface ActivityEffects {
  /** Loads the list after a short delay. Calls within the delay share one request. */
  refreshActivity(): void;
  /** Lists more sessions. */
  moreActivity(): void;
  /** Opens the session of a run, at the run. */
  openRun(run: ActiveRun): void;
  /** Cancels a run, live or queued. Resolves to whether the server accepted it. */
  stopRun(run: ActiveRun): Promise<boolean>;
  answerRun(run: ActiveRun, answer: ApprovalResponse): Promise<CommandResult>;
  allowToolOfRun(run: ActiveRun, tool: string, rule: "allow" | "ask"): Promise<CommandResult>;
}

export interface ActivityOptions {
  /** False while the tab is in the background. */
  readonly isVisible: () => boolean;
  /** A connected session reports its approvals and the ends of its runs itself. */
  readonly isConnected: (session: string) => boolean;
  /** Called for a session without a connection whose run has ended. */
  readonly onEnd: (session: string) => void;
  readonly alerts: Pick<Alerts, "alert" | "clear">;
}

type Refused = Extract<CommandResult, { readonly kind: "refused" }>;

const SOON_MS = 250;
const OPEN_MS = 3000;
const ACTIVE_MS = 10_000;
const IDLE_MS = 60_000;
const MAX_WAITING = 100;

export function createActivityEffects(context: EffectContext, options: ActivityOptions): ActivityEffects {
  const { api, store } = context;
  const { isVisible, isConnected, onEnd, alerts } = options;
  const query = createQuery();
  let isLoading = false;
  let failures = 0;
  /** Sessions without a connection whose approvals were reported. */
  let reported: ReadonlySet<string> | undefined;

  const schedule = (ms: number): void => query.schedule(ms, () => void load());

  const load = async (): Promise<void> => {
    if (isLoading) return schedule(SOON_MS);
    if (!isVisible() || !may(store.getSnapshot().access, "read")) return;
    isLoading = true;
    try {
      const { limit } = store.getSnapshot().activity;
      const page = await api.listActiveRuns({ limit });
      const hasMore = page.next !== undefined;
      // Approvals come first, also those of sessions that are not on the page.
      const waiting = hasMore ? (await api.listActiveRuns({ limit: MAX_WAITING, state: "waiting" })).runs : [];
      const known = new Set(page.runs.map(({ run_id, session_id }) => `${session_id} ${run_id}`));
      const others = waiting.filter(({ run_id, session_id }) => !known.has(`${session_id} ${run_id}`));
      const runs = [...page.runs, ...others];
      failures = 0;
      const before = store.getSnapshot().activity.runs;
      store.dispatch({ type: "activity/loaded", runs, hasMore });
      const active = new Set(runs.map(({ session_id }) => session_id));
      // Without all runs it is not known which have ended.
      const ended = before.filter(
        ({ session_id, owner }) => owner === undefined && !hasMore && !active.has(session_id),
      );
      for (const session of new Set(ended.map(({ session_id }) => session_id)))
        if (!isConnected(session)) onEnd(session);
      report(runs);
    } catch {
      // The list shows the failure itself, and the header whether the server is away.
      failures++;
      store.dispatch({ type: "activity/failed" });
    } finally {
      isLoading = false;
    }
    const { dialog, activity } = store.getSnapshot();
    const pause = dialog === "activity" ? OPEN_MS : activity.runs.length > 0 ? ACTIVE_MS : IDLE_MS;
    // After failures, the pause doubles.
    schedule(Math.min(IDLE_MS, pause * 2 ** failures));
  };

  /** Alerts the user about approvals of sessions that are not connected, once. */
  const report = (runs: readonly ActiveRun[]): void => {
    const now = new Set<string>();
    for (const { session_id: session, owner, approvals } of runs) {
      const [first] = approvals;
      if (first === undefined || owner !== undefined || isConnected(session)) continue;
      now.add(session);
      // What waited when the page was opened is not news; the list shows it.
      if (reported !== undefined && !reported.has(session))
        alerts.alert({ session, kind: "approval", detail: first.name });
    }
    for (const session of reported ?? []) if (!now.has(session) && !isConnected(session)) alerts.clear(session);
    reported = now;
  };

  /** The other tabs and this list show what has changed. */
  const change = (): void => {
    context.notifyTabs();
    schedule(SOON_MS);
  };

  const send = async (request: () => Promise<unknown>): Promise<CommandResult> => {
    try {
      await request();
      return { kind: "done" };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const { code, message } = error;
      if (code === "connection_lost" || code === "aborted") return { kind: "lost", code: "connection_lost", message };
      return { kind: "refused", code: code as Refused["code"], message };
    } finally {
      change();
    }
  };

  return {
    refreshActivity: () => schedule(SOON_MS),
    moreActivity() {
      store.dispatch({ type: "activity/more" });
      schedule(0);
    },
    openRun({ session_id: session, run_id: runId, state }) {
      if (state !== "queued") store.dispatch({ type: "match/opened", match: { session, runId, query: "" } });
      context.open(session);
    },
    async stopRun({ session_id: session, run_id: run }) {
      const isDone = await attempt(context, "stop", async () => {
        await api.cancelRun(session, run, context.createId());
        return true;
      });
      change();
      return isDone === true;
    },
    answerRun: ({ session_id: session, run_id }, { callId, decision, digest, arguments: given, reason }) =>
      send(() => {
        const answer = {
          decision,
          run_id,
          ...(digest === undefined ? {} : { digest }),
          ...(given === undefined ? {} : { arguments: given }),
          ...(reason === undefined ? {} : { reason }),
        };
        return api.answerApproval(session, callId, answer, context.createId());
      }),
    allowToolOfRun: ({ session_id: session }, tool, rule) =>
      send(() => api.setToolPermission(session, tool, rule, context.createId())),
  };
}
