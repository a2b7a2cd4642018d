/** Alerts: what happened in sessions while the user did not look at them. The tab's title shows them. */
import type { SessionsAction } from "./sessions.ts";

export interface SessionAlert {
  readonly session: string;
  readonly kind: "approval" | "complete" | "error";
  /** Tool that waits for approval, or the error. */
  readonly detail: string;
}

export type AlertsAction =
  | { readonly type: "alert/raised"; readonly alert: SessionAlert }
  /** The user looked at the session, or its approval was answered. */
  | { readonly type: "alert/cleared"; readonly session: string };

export const NO_ALERTS: readonly SessionAlert[] = [];

const MAX_ALERTS = 20;

/** The latest alert of each session, newest last. */
export function reduceAlerts(
  state: readonly SessionAlert[],
  action: AlertsAction | SessionsAction,
): readonly SessionAlert[] {
  const without = (session: string | undefined): readonly SessionAlert[] =>
    state.some((alert) => alert.session === session) ? state.filter((alert) => alert.session !== session) : state;
  switch (action.type) {
    case "alert/raised":
      return [...without(action.alert.session), action.alert].slice(-MAX_ALERTS);
    case "alert/cleared":
    case "session/opened":
    case "session/deleted":
      return without(action.session);
    // Actions of other slices.
    default:
      return state;
  }
}
