/** What is going on in all sessions of the user: live and queued runs, and the approvals they wait for. */
import type { ActiveRuns } from "../../../src/server/api/shapes.generated.ts";

export type ActiveRun = ActiveRuns["runs"][number];

export interface ActivityState {
  /** `idle`: never loaded. */
  readonly status: "idle" | "ready" | "failed";
  readonly runs: readonly ActiveRun[];
  readonly hasMore: boolean;
  /** Sessions to list. */
  readonly limit: number;
}

export type ActivityAction =
  | { readonly type: "activity/loaded"; readonly runs: readonly ActiveRun[]; readonly hasMore: boolean }
  | { readonly type: "activity/failed" }
  | { readonly type: "activity/more" };

const PAGE_SIZE = 50;
/** The server lists no more at once. */
const MAX_LIMIT = 500;

export const NO_ACTIVITY: ActivityState = { status: "idle", runs: [], hasMore: false, limit: PAGE_SIZE };

export function reduceActivity(state: ActivityState, action: ActivityAction): ActivityState {
  switch (action.type) {
    case "activity/loaded": {
      const { runs, hasMore } = action;
      const isSame = state.status === "ready" && state.hasMore === hasMore && isSameList(state.runs, runs);
      return isSame ? state : { ...state, status: "ready", runs, hasMore: hasMore && state.limit < MAX_LIMIT };
    }
    case "activity/failed":
      return state.status === "failed" ? state : { ...state, status: "failed" };
    case "activity/more":
      return { ...state, limit: Math.min(MAX_LIMIT, state.limit + PAGE_SIZE) };
    // Actions of other slices.
    default:
      return state;
  }
}

/** Most polls change nothing, and must not render anything. */
function isSameList(before: readonly ActiveRun[], now: readonly ActiveRun[]): boolean {
  return before.length === now.length && JSON.stringify(before) === JSON.stringify(now);
}

/** Sessions of the user with a live run, and whether one waits for an approval. */
export function findActiveSessions({ runs }: ActivityState): ReadonlyMap<string, "live" | "waiting"> {
  const found = new Map<string, "live" | "waiting">();
  for (const { session_id: session, owner, state, approvals } of runs) {
    if (owner !== undefined || state === "queued") continue;
    if (approvals.length > 0) found.set(session, "waiting");
    else if (!found.has(session)) found.set(session, "live");
  }
  return found;
}

/** Number of approvals that wait for the user. Operators see those of other users in the list only. */
export function countWaiting({ runs }: ActivityState): number {
  return runs.reduce((sum, { owner, approvals }) => sum + (owner === undefined ? approvals.length : 0), 0);
}
