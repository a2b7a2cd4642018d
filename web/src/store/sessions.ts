/** The list of sessions, what was searched for in it, and what is known of the session that is open. */
import type { SessionDetails, SessionList } from "loom-agent/server";

export type SessionRow = SessionList["sessions"][number];
export type Loading = "idle" | "loading" | "ready" | "failed";

export interface SessionPage {
  readonly rows: readonly SessionRow[];
  /** `after` of the next page. */
  readonly next: string | undefined;
  readonly status: Loading;
}

export interface SessionsState {
  /** Undefined: a session that its first message will make. */
  readonly current: string | undefined;
  /** Where that one has its name from this page: the server hears of it with its first message or file. */
  readonly isUnmade: boolean;
  readonly list: SessionPage;
  readonly query: string;
  readonly found: SessionPage;
  /** Of those that are connected: where a run is going. */
  readonly live: readonly string[];
  readonly renaming: string | undefined;
}

export type SessionsAction =
  | { readonly type: "session/opened"; readonly session: string | undefined; readonly isUnmade?: boolean }
  | { readonly type: "sessions/asked" }
  /** `isMore`: the page after those that are there; else the first. */
  | { readonly type: "sessions/listed"; readonly page: SessionList; readonly isMore: boolean }
  | { readonly type: "sessions/failed" }
  | { readonly type: "search/typed"; readonly query: string }
  | { readonly type: "search/found"; readonly query: string; readonly page: SessionList; readonly isMore: boolean }
  | { readonly type: "search/failed"; readonly query: string }
  | { readonly type: "session/told"; readonly session: SessionRow | SessionDetails }
  | { readonly type: "session/deleted"; readonly session: string }
  | { readonly type: "session/renaming"; readonly session: string | undefined }
  | { readonly type: "session/live"; readonly session: string; readonly isLive: boolean };

/** More rows are not kept; what is older is found by searching. */
export const MAX_ROWS = 1000;

const NO_ROWS: SessionPage = { rows: [], next: undefined, status: "idle" };

export const NO_SESSIONS: SessionsState = {
  current: undefined,
  isUnmade: false,
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
      return { ...state, current: action.session, isUnmade: action.isUnmade ?? false };
    case "sessions/asked":
      return state.list.status === "ready" ? state : { ...state, list: { ...state.list, status: "loading" } };
    case "sessions/listed":
      return { ...state, list: takePage(state.list, action.page, action.isMore) };
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
      return { ...state, found: takePage(state.found, action.page, action.isMore) };
    case "search/failed":
      return action.query === state.query ? { ...state, found: { ...NO_ROWS, status: "failed" } } : state;
    case "session/told":
      return { ...state, list: putRow(state.list, action.session), found: changeRow(state.found, action.session) };
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
    // What concerns others.
    default:
      return state;
  }
}

/**
 * The first page anew leaves the further ones that are there: whoever has scrolled down keeps what they see. What the page
 * reaches down to and does not name is gone.
 */
function takePage(before: SessionPage, { sessions, next }: SessionList, isMore: boolean): SessionPage {
  const ids = new Set(sessions.map(({ session_id }) => session_id));
  const last = sessions.at(-1);
  const others = before.rows.filter(({ session_id }) => !ids.has(session_id));
  if (isMore) return limitRows({ rows: [...others, ...sessions], next, status: "ready" });
  const below = last === undefined || next === undefined ? [] : others.filter((row) => isBelow(row, last));
  const isFurther = below.length > 0;
  return limitRows({ rows: [...sessions, ...below], next: isFurther ? before.next : next, status: "ready" });
}

function isBelow(row: SessionRow, last: SessionRow): boolean {
  return row.updated_at < last.updated_at;
}

function limitRows(page: SessionPage): SessionPage {
  return page.rows.length <= MAX_ROWS ? page : { ...page, rows: page.rows.slice(0, MAX_ROWS), next: undefined };
}

function toRow(told: SessionRow | SessionDetails): SessionRow {
  const { session_id, title, created_at, updated_at, first_event_id, last_event_id, bytes, cursor } = told;
  const named = title === undefined ? {} : { title };
  return { session_id, ...named, created_at, updated_at, first_event_id, last_event_id, bytes, cursor };
}

/** In its place, which is by the time it last changed. */
function putRow(page: SessionPage, told: SessionRow | SessionDetails): SessionPage {
  const row = toRow(told);
  const others = page.rows.filter(({ session_id }) => session_id !== row.session_id);
  const at = others.findIndex(({ updated_at }) => updated_at <= row.updated_at);
  const rows = at === -1 ? [...others, row] : others.toSpliced(at, 0, row);
  // One that is older than all that were listed is on a page that has not come.
  if (at === -1 && page.next !== undefined && others.length === page.rows.length) return page;
  return limitRows({ ...page, rows });
}

function changeRow(page: SessionPage, told: SessionRow | SessionDetails): SessionPage {
  if (!page.rows.some(({ session_id }) => session_id === told.session_id)) return page;
  const change = (row: SessionRow): SessionRow =>
    row.session_id === told.session_id ? { ...row, ...toRow(told) } : row;
  return { ...page, rows: page.rows.map(change) };
}

function dropRow(page: SessionPage, session: string): SessionPage {
  return { ...page, rows: page.rows.filter(({ session_id }) => session_id !== session) };
}

export function findRow(state: SessionsState, session: string | undefined): SessionRow | undefined {
  if (session === undefined) return undefined;
  const isIt = ({ session_id }: SessionRow): boolean => session_id === session;
  return state.list.rows.find(isIt) ?? state.found.rows.find(isIt);
}
