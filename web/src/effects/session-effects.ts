/** What is done with sessions as a whole: list, search, rename, delete, fork, and go from one to the next. */
import { ApiError } from "../api/api-error.ts";
import { may } from "../store/access.ts";
import { findWaiting } from "../store/composing.ts";
import { findRow, type SessionsAction } from "../store/sessions.ts";
import { attempt, type Kit } from "./kit.ts";

export interface SessionEffects {
  /** The first page anew, and what is known of this session, in a moment: who asks many times is answered once. */
  refresh(session?: string): void;
  loadMore(): Promise<void>;
  search(query: string): void;
  searchMore(): Promise<void>;
  /** What the server knows of the session: its title, and what waits in it. */
  loadDetails(session: string): Promise<void>;
  rename(session: string, title: string): Promise<void>;
  remove(session: string): Promise<void>;
  /** Goes to a copy of it, which is called so. */
  fork(session: string, title: string): Promise<void>;
  /** 1: the one below in the list, -1: the one above. */
  step(by: 1 | -1): void;
}

const PAGE = 50;
const REFRESH_MS = 250;
const TYPING_MS = 200;

export function createSessionEffects(kit: Kit): SessionEffects {
  const { api, store } = kit;
  let refreshTimer: ReturnType<typeof setTimeout> | undefined;
  let searchTimer: ReturnType<typeof setTimeout> | undefined;
  let searching = new AbortController();

  /** Sessions to look at with the next refresh. */
  const changed = new Set<string>();
  /** The last question about each session that is not answered. */
  const asks = new Map<string, symbol>();
  /** Being deleted: nothing is asked about them any more. */
  const leaving = new Set<string>();
  /** What was done to the list here: an answer to a question from before it knows nothing of that. */
  let changes = 0;
  const note = (action: SessionsAction): void => {
    changes++;
    store.dispatch(action);
  };

  const list = async (after?: string): Promise<void> => {
    try {
      for (let asked = -1; asked !== changes;) {
        asked = changes;
        const page = await api.listSessions({ limit: PAGE, after });
        if (asked === changes) store.dispatch({ type: "sessions/listed", page, isMore: after !== undefined });
      }
    } catch {
      // Said in the list itself, with a button to try again.
      store.dispatch({ type: "sessions/failed" });
    }
  };
  const find = async (query: string, after?: string): Promise<void> => {
    searching.abort();
    searching = new AbortController();
    const { signal } = searching;
    try {
      const page = await api.listSessions({ limit: PAGE, q: query.trim(), after, signal });
      store.dispatch({ type: "search/found", query, page, isMore: after !== undefined });
    } catch {
      if (!signal.aborted) store.dispatch({ type: "search/failed", query });
    }
  };

  const refresh = (session?: string): void => {
    if (session !== undefined) changed.add(session);
    if (refreshTimer !== undefined) return;
    // Whoever has a link to one session sees no others.
    const mayList = may(store.getSnapshot().access, "read");
    if (mayList) store.dispatch({ type: "sessions/asked" });
    refreshTimer = setTimeout(() => {
      refreshTimer = undefined;
      if (mayList) void list();
      for (const one of changed) void loadDetails(one);
      changed.clear();
    }, REFRESH_MS);
  };

  /** Only the answer to the last question counts, and of what waits only where nothing was sent or taken back since. */
  const loadDetails = async (session: string): Promise<void> => {
    if (leaving.has(session)) return;
    const ask = Symbol(session);
    asks.set(session, ask);
    const waiting = findWaiting(store.getSnapshot().composing, session);
    try {
      const details = await api.getSession(session);
      if (asks.get(session) !== ask) return;
      store.dispatch({ type: "session/told", session: details });
      if (findWaiting(store.getSnapshot().composing, session) === waiting)
        store.dispatch({ type: "queue/told", session, queued: details.queued ?? [] });
      else refresh(session);
    } catch (error) {
      // One that its first message will make, or that is gone: the stream tells which.
      if (!(error instanceof ApiError)) throw error;
    } finally {
      if (asks.get(session) === ask) asks.delete(session);
    }
  };

  return {
    refresh,
    async loadMore() {
      const { next } = store.getSnapshot().sessions.list;
      if (next !== undefined) await list(next);
    },
    search(query) {
      clearTimeout(searchTimer);
      searching.abort();
      store.dispatch({ type: "search/typed", query });
      if (query.trim() !== "") searchTimer = setTimeout(() => void find(query), TYPING_MS);
    },
    async searchMore() {
      const { query, found } = store.getSnapshot().sessions;
      if (found.next !== undefined) await find(query, found.next);
    },
    loadDetails,
    async rename(session, title) {
      store.dispatch({ type: "session/renaming", session: undefined });
      const before = findRow(store.getSnapshot().sessions, session);
      if (title.trim() === "" || title === before?.title) return;
      // At once, and back where the server says no.
      if (before !== undefined) note({ type: "session/told", session: { ...before, title } });
      const told = await attempt(kit, "rename", () => api.renameSession(session, title.trim()));
      const now = told ?? before;
      if (now !== undefined) note({ type: "session/told", session: now });
    },
    async remove(session) {
      leaving.add(session);
      const isDone = await attempt(kit, "delete", async () => {
        try {
          await api.deleteSession(session);
        } catch (error) {
          // Somebody else was quicker.
          if (!(error instanceof ApiError) || error.code !== "unknown_session") throw error;
        }
        return true;
      });
      leaving.delete(session);
      if (isDone !== true) return;
      changed.delete(session);
      if (store.getSnapshot().sessions.current === session) kit.open(undefined);
      kit.disconnect(session);
      asks.delete(session);
      note({ type: "session/deleted", session });
    },
    async fork(session, title) {
      const before = store.getSnapshot().sessions.current;
      const made = await attempt(kit, "fork", () => api.copySession(session, title, kit.createId()));
      if (made === undefined) return;
      note({ type: "session/told", session: made });
      // Who has gone elsewhere meanwhile is not called back.
      if (store.getSnapshot().sessions.current === before) kit.open(made.session_id);
    },
    step(by) {
      const { current, query, list: all, found } = store.getSnapshot().sessions;
      const { rows } = query.trim() === "" ? all : found;
      const at = rows.findIndex(({ session_id }) => session_id === current);
      const next = rows[at === -1 ? (by === 1 ? 0 : rows.length - 1) : at + by];
      if (next !== undefined) kit.open(next.session_id);
    },
  };
}
