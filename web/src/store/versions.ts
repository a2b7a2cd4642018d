/** The versions of the current conversation, and which run to show after another version was opened. */
import type { VersionsByRun } from "./find-versions.ts";
import type { SessionsAction } from "./sessions.ts";

export interface VersionsState {
  /** Session that `byRun` describes. */
  readonly session: string | undefined;
  readonly byRun: VersionsByRun;
  /** The user opened this version at the run after this record, which is not shown yet. */
  readonly opened: { readonly session: string; readonly after: number } | undefined;
}

export type VersionsAction =
  | { readonly type: "versions/loaded"; readonly session: string; readonly byRun: VersionsByRun }
  | { readonly type: "version/opened"; readonly session: string; readonly after: number }
  | { readonly type: "version/shown" };

const NONE: VersionsByRun = new Map();

export const NO_VERSIONS: VersionsState = { session: undefined, byRun: NONE, opened: undefined };

export function reduceVersions(state: VersionsState, action: VersionsAction | SessionsAction): VersionsState {
  switch (action.type) {
    case "session/opened":
      return state.opened === undefined || state.opened.session === action.session
        ? state
        : { ...state, opened: undefined };
    case "versions/loaded": {
      const { session, byRun } = action;
      if (byRun.size === 0 && state.byRun.size === 0 && state.session === session) return state;
      return { ...state, session, byRun };
    }
    case "version/opened":
      return { ...state, opened: { session: action.session, after: action.after } };
    case "version/shown":
      return { ...state, opened: undefined };
    // Actions of other slices.
    default:
      return state;
  }
}

/** Returns the versions at the runs of a session. */
export function selectVersions({ session, byRun }: VersionsState, current: string | undefined): VersionsByRun {
  return session === current ? byRun : NONE;
}

/** Returns the run to show in the session, once its versions are loaded. */
export function findOpenedRun(
  { session, byRun, opened }: VersionsState,
  current: string | undefined,
): string | undefined {
  if (opened === undefined || opened.session !== current || session !== current) return undefined;
  for (const [run, { after }] of byRun) if (after === opened.after) return run;
  return undefined;
}
