/** The session list, its search results and the current session. */
import type { SessionDetails, SessionList } from "loom-agent/server";

export type SessionListRow = SessionList["sessions"][number];
export type LoadStatus = "idle" | "loading" | "ready" | "failed";

export interface SessionPage {
  readonly rows: readonly SessionListRow[];
  /** `after` parameter of the next page. */
  readonly next: string | undefined;
  readonly status: LoadStatus;
}

export interface SessionsState {
  /** Undefined: a new session, created by its first message. */
  readonly current: string | undefined;
  /** The current session has an ID, but the server does not know it yet. */
  readonly isNew: boolean;
  readonly list: SessionPage;
  readonly query: string;
  readonly found: SessionPage;
  /** Connected sessions with a live run. */
  readonly live: readonly string[];
  readonly renaming: string | undefined;
}

export type SessionsAction =
  | { readonly type: "session/opened"; readonly session: string | undefined; readonly isNew?: boolean }
  | { readonly type: "sessions/loading" }
  /** `isMore`: a further page; false: the first page. */
  | { readonly type: "sessions/listed"; readonly page: SessionList; readonly isMore: boolean }
  | { readonly type: "sessions/failed" }
  | { readonly type: "search/typed"; readonly query: string }
  | { readonly type: "search/found"; readonly query: string; readonly page: SessionList; readonly isMore: boolean }
  | { readonly type: "search/failed"; readonly query: string }
  | { readonly type: "session/updated"; readonly session: SessionListRow | SessionDetails }
  | { readonly type: "session/deleted"; readonly session: string }
  | { readonly type: "session/renaming"; readonly session: string | undefined }
  | { readonly type: "session/live"; readonly session: string; readonly isLive: boolean };

/** Rows kept. Older sessions are found by search. */
export const MAX_ROWS = 1000;

const NO_ROWS: SessionPage = { rows: [], next: undefined, status: "idle" };

export const NO_SESSIONS: SessionsState = {
  current: undefined,
  isNew: false,
  list: NO_ROWS,
  query: "",
  found: NO_ROWS,
  live: [],
  renaming: undefined,
};

export function reduceSessions(state: SessionsState, action: SessionsAction): SessionsState {
  switch (action.type) {
    case "session/opened":
      if (action.session === state.current) return state;
      return { ...state, current: action.session, isNew: action.isNew ?? false };
    case "sessions/loading":
      return state.list.status === "ready" ? state : { ...state, list: { ...state.list, status: "loading" } };
    case "sessions/listed":
      return { ...state, list: mergePage(state.list, action.page, action.isMore) };
    case "sessions/failed":
      return { ...state, list: { ...state.list, status: "failed" } };
    case "search/typed":
      return {
        ...state,
        query: action.query,
        found: action.query.trim() === "" ? NO_ROWS : { ...state.found, status: "loading" },
      };
    case "search/found":
      if (action.query !== state.query) return state;
      return { ...state, found: mergePage(state.found, action.page, action.isMore) };
    case "search/failed":
      return action.query === state.query ? { ...state, found: { ...NO_ROWS, status: "failed" } } : state;
    case "session/updated":
      return { ...state, list: insertRow(state.list, action.session), found: changeRow(state.found, action.session) };
    case "session/deleted":
      return {
        ...state,
        list: dropRow(state.list, action.session),
        found: dropRow(state.found, action.session),
        live: state.live.filter((session) => session !== action.session),
      };
    case "session/renaming":
      return { ...state, renaming: action.session };
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

/**
 * Merges a page of the list. A reloaded first page keeps the rows below it, so the scroll position stays. Rows that the
 * page covers but does not list are removed.
 */
function mergePage(before: SessionPage, { sessions, next }: SessionList, isMore: boolean): SessionPage {
  const ids = new Set(sessions.map(({ session_id }) => session_id));
  const last = sessions.at(-1);
  const others = before.rows.filter(({ session_id }) => !ids.has(session_id));
  if (isMore) return limitRows({ rows: [...others, ...sessions], next, status: "ready" });
  const below = last === undefined || next === undefined ? [] : others.filter((row) => isBelow(row, last));
  const isFurther = below.length > 0;
  return limitRows({ rows: [...sessions, ...below], next: isFurther ? before.next : next, status: "ready" });
}

function isBelow(row: SessionListRow, last: SessionListRow): boolean {
  return row.updated_at < last.updated_at;
}

function limitRows(page: SessionPage): SessionPage {
  return page.rows.length <= MAX_ROWS ? page : { ...page, rows: page.rows.slice(0, MAX_ROWS), next: undefined };
}

function toRow(session: SessionListRow | SessionDetails): SessionListRow {
  const { session_id, title, created_at, updated_at, first_event_id, last_event_id, bytes, cursor } = session;
  const { forked_from, root_id } = session;
  const named = title === undefined ? {} : { title };
  const origin = forked_from === undefined ? {} : { forked_from };
  const row = { session_id, ...named, created_at, updated_at, first_event_id, last_event_id, bytes, cursor };
  return { ...row, ...origin, root_id };
}

/** Inserts a row, ordered by last change. */
function insertRow(page: SessionPage, session: SessionListRow | SessionDetails): SessionPage {
  const row = toRow(session);
  const others = page.rows.filter(({ session_id }) => session_id !== row.session_id);
  const at = others.findIndex(({ updated_at }) => updated_at <= row.updated_at);
  const rows = at === -1 ? [...others, row] : others.toSpliced(at, 0, row);
  // Older than all listed rows: it belongs to a page that is not loaded.
  if (at === -1 && page.next !== undefined && others.length === page.rows.length) return page;
  return limitRows({ ...page, rows });
}

function changeRow(page: SessionPage, session: SessionListRow | SessionDetails): SessionPage {
  if (!page.rows.some(({ session_id }) => session_id === session.session_id)) return page;
  const change = (row: SessionListRow): SessionListRow =>
    row.session_id === session.session_id ? { ...row, ...toRow(session) } : row;
  return { ...page, rows: page.rows.map(change) };
}

function dropRow(page: SessionPage, session: string): SessionPage {
  return { ...page, rows: page.rows.filter(({ session_id }) => session_id !== session) };
}

export function findRow(state: SessionsState, session: string | undefined): SessionListRow | undefined {
  if (session === undefined) return undefined;
  const isIt = ({ session_id }: SessionListRow): boolean => session_id === session;
  return state.list.rows.find(isIt) ?? state.found.rows.find(isIt);
}
