/** The session list, its search results and the current session. Versions of a conversation share one row. */
import type { SessionDetails, SessionList } from "../../../src/server/api/shapes.generated.ts";
import {
  changeRow,
  dropRow,
  insertRow,
  mergePage,
  NO_ROWS,
  type SessionListRow,
  type SessionPage,
  toRow,
} from "./session-rows.ts";

/** A search result that was opened: its matches are highlighted. */
export interface OpenedMatch {
  readonly session: string;
  /** Run with the match; undefined if the title matches. */
  readonly runId: string | undefined;
  readonly query: string;
}

export interface SessionsState {
  /** Undefined: a new session, created by its first message. */
  readonly current: string | undefined;
  /** The current session has an ID, but the server does not know it yet. */
  readonly isNew: boolean;
  /** Without archived sessions. */
  readonly list: SessionPage;
  readonly pinned: SessionPage;
  readonly archived: SessionPage;
  readonly isArchiveOpen: boolean;
  readonly query: string;
  readonly found: SessionPage;
  readonly match: OpenedMatch | undefined;
  /** Connected sessions with a live run. */
  readonly live: readonly string[];
  /** Sessions whose latest run is known to have failed. */
  readonly failed: readonly string[];
  readonly renaming: string | undefined;
  /** Root of each known session. */
  readonly roots: ReadonlyMap<string, string>;
  /** The version of each conversation that was last opened on this page, by root. */
  readonly used: ReadonlyMap<string, string>;
}

export type SessionsAction =
  | { readonly type: "session/opened"; readonly session: string | undefined; readonly isNew?: boolean }
  | { readonly type: "sessions/loading" }
  /** `isMore`: a further page; false: the first page. */
  | { readonly type: "sessions/listed"; readonly page: SessionList; readonly isMore: boolean }
  | { readonly type: "sessions/failed" }
  | { readonly type: "pinned/listed"; readonly page: SessionList }
  | { readonly type: "archive/toggled"; readonly isOpen: boolean }
  | { readonly type: "archive/listed"; readonly page: SessionList; readonly isMore: boolean }
  | { readonly type: "archive/failed" }
  | { readonly type: "search/typed"; readonly query: string }
  | { readonly type: "search/found"; readonly query: string; readonly page: SessionList; readonly isMore: boolean }
  | { readonly type: "search/failed"; readonly query: string }
  | { readonly type: "match/opened"; readonly match: OpenedMatch }
  | { readonly type: "session/updated"; readonly session: SessionListRow | SessionDetails }
  | { readonly type: "session/deleted"; readonly session: string }
  | { readonly type: "session/renaming"; readonly session: string | undefined }
  | { readonly type: "session/live"; readonly session: string; readonly isLive: boolean }
  | { readonly type: "session/ended"; readonly session: string; readonly hasFailed: boolean };

/** Sessions whose root is remembered. */
const MAX_KNOWN = 1000;
/** Sessions that are remembered as failed. */
const MAX_FAILED = 200;

export const NO_SESSIONS: SessionsState = {
  current: undefined,
  isNew: false,
  list: NO_ROWS,
  pinned: NO_ROWS,
  archived: NO_ROWS,
  isArchiveOpen: false,
  query: "",
  found: NO_ROWS,
  match: undefined,
  live: [],
  failed: [],
  renaming: undefined,
  roots: new Map(),
  used: new Map(),
};

export function reduceSessions(state: SessionsState, action: SessionsAction): SessionsState {
  switch (action.type) {
    case "session/opened":
      return openSession(state, action.session, action.isNew ?? false);
    case "sessions/loading":
      return state.list.status === "ready" ? state : { ...state, list: { ...state.list, status: "loading" } };
    case "sessions/listed": {
      const list = mergePage(state.list, action.page, action.isMore);
      const isWhole = !action.isMore && action.page.next === undefined;
      const pinned = { ...NO_ROWS, rows: list.rows.filter(({ is_pinned }) => is_pinned === true) };
      return noteListed({ ...state, list, ...(isWhole ? { pinned } : {}) }, action.page);
    }
    case "sessions/failed":
      return { ...state, list: { ...state.list, status: "failed" } };
    case "pinned/listed":
      return noteListed({ ...state, pinned: mergePage(NO_ROWS, action.page, false) }, action.page);
    case "archive/toggled": {
      const { archived } = state;
      const status = action.isOpen && archived.status === "idle" ? "loading" : archived.status;
      return { ...state, isArchiveOpen: action.isOpen, archived: { ...archived, status } };
    }
    case "archive/listed":
      return noteListed({ ...state, archived: mergePage(state.archived, action.page, action.isMore) }, action.page);
    case "archive/failed":
      return { ...state, archived: { ...state.archived, status: "failed" } };
    case "search/typed":
      return {
        ...state,
        query: action.query,
        match: undefined,
        found: action.query.trim() === "" ? NO_ROWS : { ...state.found, status: "loading" },
      };
    case "search/found":
      if (action.query !== state.query) return state;
      return { ...state, found: mergePage(state.found, action.page, action.isMore) };
    case "search/failed":
      return action.query === state.query ? { ...state, found: { ...NO_ROWS, status: "failed" } } : state;
    case "match/opened":
      return { ...state, match: action.match };
    case "session/updated":
      return noteEnd(updateSession(state, toRow(action.session)), action.session);
    case "session/deleted":
      return dropSession(state, action.session);
    case "session/renaming":
      return { ...state, renaming: action.session };
    case "session/ended":
      return setFailed(state, action.session, action.hasFailed);
    case "session/live": {
      if (state.live.includes(action.session) === action.isLive) return state;
      const others = state.live.filter((session) => session !== action.session);
      return { ...state, live: action.isLive ? [...others, action.session] : others };
    }
    // Actions of other slices.
    default:
      return state;
  }
}

/** Session details have the runs, the newest first. */
function noteEnd(state: SessionsState, session: SessionListRow | SessionDetails): SessionsState {
  const latest = "runs" in session ? session.runs[0]?.status : undefined;
  return latest === undefined ? state : setFailed(state, session.session_id, latest === "error");
}

/** A list has the status of the latest run of each session. */
function noteListed(state: SessionsState, { sessions }: SessionList): SessionsState {
  return sessions.reduce(
    (after, { session_id: session, latest_status: status }) => setFailed(after, session, status === "error"),
    state,
  );
}

function setFailed(state: SessionsState, session: string, hasFailed: boolean): SessionsState {
  if (state.failed.includes(session) === hasFailed) return state;
  const others = state.failed.filter((one) => one !== session);
  return { ...state, failed: hasFailed ? [...others, session].slice(-MAX_FAILED) : others };
}

function openSession(state: SessionsState, session: string | undefined, isNew: boolean): SessionsState {
  if (session === state.current) return state;
  const root = session === undefined ? undefined : state.roots.get(session);
  const match = state.match?.session === session ? state.match : undefined;
  const opened = { ...state, current: session, isNew, match };
  return session === undefined || root === undefined ? opened : { ...opened, used: put(state.used, root, session) };
}

function updateSession(state: SessionsState, row: SessionListRow): SessionsState {
  const { session_id: session, root_id: root } = row;
  const isArchived = row.is_archived === true;
  const { list, pinned, archived } = state;
  return {
    ...state,
    list: isArchived ? dropRow(list, root) : insertRow(list, row),
    pinned: !isArchived && row.is_pinned === true ? insertRow(pinned, row) : dropRow(pinned, root),
    archived: isArchived ? insertRow(archived, row) : dropRow(archived, root),
    found: changeRow(state.found, row),
    roots: put(state.roots, session, root),
    used: session === state.current ? put(state.used, root, session) : state.used,
  };
}

/** The whole conversation was deleted. */
function dropSession(state: SessionsState, session: string): SessionsState {
  const root = state.roots.get(session) ?? findRow(state, session)?.root_id ?? session;
  const drop = (page: SessionPage): SessionPage => dropRow(page, root);
  const { list, pinned, archived, found } = state;
  return {
    ...state,
    list: drop(list),
    pinned: drop(pinned),
    archived: drop(archived),
    found: drop(found),
    live: state.live.filter((one) => one !== session),
    failed: state.failed.filter((one) => one !== session),
    roots: put(state.roots, session, undefined),
    used: put(state.used, root, undefined),
  };
}

/** Sets or removes a value. Keeps the entries changed last. */
function put(all: ReadonlyMap<string, string>, key: string, value: string | undefined): ReadonlyMap<string, string> {
  if (all.get(key) === value) return all;
  const others = [...all].filter(([name]) => name !== key);
  return new Map(value === undefined ? others : [...others.slice(-MAX_KNOWN + 1), [key, value]]);
}

/** Returns the row of the conversation that the session belongs to. */
export function findRow(state: SessionsState, session: string | undefined): SessionListRow | undefined {
  if (session === undefined) return undefined;
  const root = state.roots.get(session);
  const isIt = ({ session_id, root_id }: SessionListRow): boolean => session_id === session || root_id === root;
  for (const { rows } of [state.list, state.pinned, state.archived, state.found]) {
    const row = rows.find(isIt);
    if (row !== undefined) return row;
  }
  return undefined;
}

/** Returns the version that a row opens: the match of a search, else the last used or the newest one. */
export function findTarget({ used }: SessionsState, { session_id, root_id, match }: SessionListRow): string {
  return match === undefined ? (used.get(root_id) ?? session_id) : session_id;
}

/** Lists the known sessions of the conversation that the session belongs to. */
export function listVersions(state: SessionsState, session: string): readonly string[] {
  const root = findRow(state, session)?.root_id ?? state.roots.get(session);
  const others = [...state.roots].flatMap(([one, of]) => (of === root && one !== session ? [one] : []));
  return [session, ...others];
}

/** Lists the rows in the order in which they are shown. */
export function listShown({ query, found, list, pinned }: SessionsState): readonly SessionListRow[] {
  if (query.trim() !== "") return found.rows;
  return [...pinned.rows, ...list.rows.filter(({ is_pinned }) => is_pinned !== true)];
}
