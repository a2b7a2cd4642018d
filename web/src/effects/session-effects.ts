/** What is done with sessions as a whole: list, search, rename, delete, fork, and go from one to the next. */
import { ApiError } from "../api/api-error.ts";
import { findRow } from "../store/sessions.ts";
import { attempt, type Kit } from "./kit.ts";

export interface SessionEffects {
  /** The first page anew, in a moment: those who ask many times at once are answered once. */
  refresh(): void;
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

  const list = async (after?: string): Promise<void> => {
    try {
      const page = await api.listSessions({ limit: PAGE, after });
      store.dispatch({ type: "sessions/listed", page, isMore: after !== undefined });
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

  return {
    refresh() {
      if (refreshTimer !== undefined) return;
      store.dispatch({ type: "sessions/asked" });
      refreshTimer = setTimeout(() => {
        refreshTimer = undefined;
        void list();
      }, REFRESH_MS);
    },
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
    async loadDetails(session) {
      try {
        const details = await api.getSession(session);
        store.dispatch({ type: "session/told", session: details });
        store.dispatch({ type: "queue/told", session, queued: details.queued ?? [] });
      } catch (error) {
        // One that its first message will make, or that is gone: the stream tells which.
        if (!(error instanceof ApiError)) throw error;
      }
    },
    async rename(session, title) {
      store.dispatch({ type: "session/renaming", session: undefined });
      const before = findRow(store.getSnapshot().sessions, session);
      if (title.trim() === "" || title === before?.title) return;
      // At once, and back where the server says no.
      if (before !== undefined) store.dispatch({ type: "session/told", session: { ...before, title } });
      const told = await attempt(kit, "rename", () => api.renameSession(session, title.trim()));
      const now = told ?? before;
      if (now !== undefined) store.dispatch({ type: "session/told", session: now });
    },
    async remove(session) {
      const isDone = await attempt(kit, "delete", async () => {
        try {
          await api.deleteSession(session);
        } catch (error) {
          // Somebody else was quicker.
          if (!(error instanceof ApiError) || error.code !== "unknown_session") throw error;
        }
        return true;
      });
      if (isDone !== true) return;
      if (store.getSnapshot().sessions.current === session) kit.open(undefined);
      kit.disconnect(session);
      store.dispatch({ type: "session/deleted", session });
    },
    async fork(session, title) {
      const made = await attempt(kit, "fork", async () => {
        try {
          return await api.copySession(session, title, kit.createId());
        } catch (error) {
          // Nothing was said in it yet: a new one is the same.
          if (error instanceof ApiError && error.code === "unknown_checkpoint") return "nothing";
          throw error;
        }
      });
      if (made === "nothing") kit.open(undefined);
      if (made === undefined || made === "nothing") return;
      store.dispatch({ type: "session/told", session: made });
      kit.open(made.session_id);
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
