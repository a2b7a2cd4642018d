/** Lists, searches, changes, deletes and duplicates sessions, and steps through the list. */
import type { UpdateSession } from "../../../src/server/api/shapes.generated.ts";
import { ApiError } from "../api/api-error.ts";
import { createQuery, type Query } from "../api/query.ts";
import { may } from "../store/access.ts";
import { findWaiting } from "../store/composing.ts";
import type { SessionListRow } from "../store/session-rows.ts";
import { findRow, findTarget, listShown, listVersions, type SessionsAction } from "../store/sessions.ts";
import type { PageTask } from "../store/page-state.ts";
import { attempt, type EffectContext } from "./effect-context.ts";

export interface SessionEffects {
  /**
   * Reloads the first page, and the details of a session, after a short delay. Calls within the delay share one
   * request.
   */
  refresh(session?: string): void;
  loadMore(): Promise<void>;
  search(query: string): void;
  searchMore(): Promise<void>;
  /** Loads the title and the queued messages of a session. */
  loadDetails(session: string): Promise<void>;
  /** Opens a search result at its match. */
  openMatch(row: SessionListRow): void;
  /** Shows or hides the archived sessions. */
  toggleArchive(isOpen: boolean): void;
  archiveMore(): Promise<void>;
  rename(session: string, title: string): Promise<void>;
  pin(session: string, isPinned: boolean): Promise<void>;
  archive(session: string, isArchived: boolean): Promise<void>;
  /** Deletes all versions of the conversation. */
  remove(session: string): Promise<void>;
  /** Deletes all sessions of the user. Reports how many of a page are left. Resolves to whether all were deleted. */
  removeAll(onProgress: (left: number) => void): Promise<boolean>;
  /** Duplicates a session under this title and opens the copy. */
  fork(session: string, title: string): Promise<void>;
  /** 1: the next session in the list, -1: the previous one. */
  step(by: 1 | -1): void;
}

const PAGE_SIZE = 50;
const MAX_PINNED = 100;
const REFRESH_MS = 250;
const TYPING_MS = 200;

/** `onDetails` is called when the details of a session were loaded: it was opened, or a run has begun or ended. */
export function createSessionEffects(
  context: EffectContext,
  onDetails: (session: string) => void = () => undefined,
): SessionEffects {
  const { api, store } = context;
  const listed = createQuery();
  const searched = createQuery();
  /** Sessions whose details the next refresh loads. */
  const changed = new Set<string>();
  const details = new Map<string, Query>();
  /** Sessions being deleted; their details are no longer loaded. */
  const deleting = new Set<string>();
  const change = (action: SessionsAction): void => {
    listed.change();
    store.dispatch(action);
  };
  /** Marks of the sidebar: archived sessions have their own list. */
  const marks = { versions: "newest", archived: false } as const;

  const list = async (after?: string): Promise<void> => {
    const isMore = after !== undefined;
    try {
      const { page, pinned } = await listed.fresh(async () => {
        const page = await api.listSessions({ ...marks, limit: PAGE_SIZE, after });
        // Otherwise the page has them all.
        const hasMore = !isMore && page.next !== undefined;
        const pinned = hasMore ? await api.listSessions({ ...marks, pinned: true, limit: MAX_PINNED }) : undefined;
        return { page, pinned };
      });
      store.dispatch({ type: "sessions/listed", page, isMore });
      if (pinned !== undefined) store.dispatch({ type: "pinned/listed", page: pinned });
    } catch {
      // The list shows the failure itself, with a retry button.
      store.dispatch({ type: "sessions/failed" });
    }
  };
  const listArchived = async (after?: string): Promise<void> => {
    try {
      const page = await listed.fresh(() => api.listSessions({ ...marks, archived: true, limit: PAGE_SIZE, after }));
      store.dispatch({ type: "archive/listed", page, isMore: after !== undefined });
    } catch {
      store.dispatch({ type: "archive/failed" });
    }
  };
  const find = async (query: string, after?: string): Promise<void> => {
    try {
      const page = await searched.latest((signal) =>
        api.listSessions({ limit: PAGE_SIZE, q: query.trim(), after, signal }),
      );
      if (page !== undefined) store.dispatch({ type: "search/found", query, page, isMore: after !== undefined });
    } catch {
      store.dispatch({ type: "search/failed", query });
    }
  };

  const refresh = (session?: string): void => {
    if (session !== undefined) changed.add(session);
    // Users of a share link have no session list.
    const mayList = may(store.getSnapshot().access, "read");
    if (mayList) store.dispatch({ type: "sessions/loading" });
    listed.schedule(REFRESH_MS, () => {
      if (mayList) void list();
      // A closed archive is only known to be there or not.
      const { isArchiveOpen, archived } = store.getSnapshot().sessions;
      if (mayList && (isArchiveOpen || archived.rows.length === 0)) void listArchived();
      for (const one of changed) void loadDetails(one);
      changed.clear();
    });
  };

  /** Only the latest response counts. Its queue is ignored if messages were sent or removed meanwhile. */
  const loadDetails = async (session: string): Promise<void> => {
    if (deleting.has(session)) return;
    const query = details.get(session) ?? createQuery();
    details.set(session, query);
    const waiting = findWaiting(store.getSnapshot().composing, session);
    try {
      const loaded = await query.latest((signal) => api.getSession(session, signal));
      if (loaded === undefined || deleting.has(session)) return;
      store.dispatch({ type: "session/updated", session: loaded });
      onDetails(session);
      if (findWaiting(store.getSnapshot().composing, session) === waiting)
        store.dispatch({ type: "queue/loaded", session, queued: loaded.queued ?? [] });
      else refresh(session);
    } catch (error) {
      // The session does not exist yet, or was deleted. Its stream reports which.
      if (!(error instanceof ApiError)) throw error;
    }
  };

  /** Optimistic update, reverted if the request fails. */
  const update = async (session: string, task: PageTask, changed: UpdateSession): Promise<void> => {
    const before = findRow(store.getSnapshot().sessions, session);
    if (before !== undefined) change({ type: "session/updated", session: { ...before, ...changed } });
    const updated = await attempt(context, task, () => api.updateSession(session, changed));
    const now = updated ?? before;
    if (now !== undefined) change({ type: "session/updated", session: now });
    if (updated !== undefined) context.notifyTabs();
  };

  /** Returns false if it failed, which a notice reports. */
  const remove = async (session: string): Promise<boolean> => {
    deleting.add(session);
    const isDone = await attempt(context, "delete", async () => {
      try {
        await api.deleteConversation(session);
      } catch (error) {
        // Another client deleted it first.
        if (!(error instanceof ApiError) || error.code !== "unknown_session") throw error;
      }
      return true;
    });
    deleting.delete(session);
    if (isDone !== true) return false;
    const { sessions } = store.getSnapshot();
    const versions = listVersions(sessions, session);
    if (sessions.current !== undefined && versions.includes(sessions.current)) context.open(undefined);
    for (const version of versions) {
      changed.delete(version);
      context.disconnect(version);
      details.get(version)?.cancel();
      details.delete(version);
      change({ type: "session/deleted", session: version });
    }
    context.notifyTabs();
    return true;
  };

  return {
    refresh,
    async loadMore() {
      const { next } = store.getSnapshot().sessions.list;
      if (next !== undefined) await list(next);
    },
    search(query) {
      searched.cancel();
      store.dispatch({ type: "search/typed", query });
      if (query.trim() !== "") searched.schedule(TYPING_MS, () => void find(query));
    },
    async searchMore() {
      const { query, found } = store.getSnapshot().sessions;
      if (found.next !== undefined) await find(query, found.next);
    },
    loadDetails,
    openMatch(row) {
      const { session_id: session, match } = row;
      const { query } = store.getSnapshot().sessions;
      store.dispatch({ type: "match/opened", match: { session, runId: match?.run_id, query } });
      context.open(session);
    },
    toggleArchive(isOpen) {
      store.dispatch({ type: "archive/toggled", isOpen });
      if (isOpen) void listArchived();
    },
    async archiveMore() {
      const { next } = store.getSnapshot().sessions.archived;
      if (next !== undefined) await listArchived(next);
    },
    async rename(session, given) {
      const title = given.trim();
      store.dispatch({ type: "session/renaming", session: undefined });
      if (title === "" || title === findRow(store.getSnapshot().sessions, session)?.title) return;
      await update(session, "rename", { title });
    },
    pin: (session, isPinned) => update(session, "change", { is_pinned: isPinned }),
    archive: (session, isArchived) => update(session, "change", { is_archived: isArchived }),
    async remove(session) {
      await remove(session);
    },
    async removeAll(onProgress) {
      for (;;) {
        const page = await attempt(context, "delete", () => api.listSessions({ limit: PAGE_SIZE }));
        if (page === undefined) return false;
        const { sessions, next } = page;
        for (const [index, { session_id }] of sessions.entries()) {
          onProgress(sessions.length - index);
          if (!(await remove(session_id))) return false;
        }
        if (next === undefined) return true;
      }
    },
    async fork(session, title) {
      const before = store.getSnapshot().sessions.current;
      const created = await attempt(context, "fork", () => api.copySession(session, title, context.createId()));
      if (created === undefined) return;
      change({ type: "session/updated", session: created });
      context.notifyTabs();
      // Do not navigate if the user opened another session meanwhile.
      if (store.getSnapshot().sessions.current === before) context.open(created.session_id);
    },
    step(by) {
      const { sessions } = store.getSnapshot();
      const rows = listShown(sessions);
      const root = findRow(sessions, sessions.current)?.root_id;
      const at = rows.findIndex(({ root_id }) => root_id === root);
      const next = rows[at === -1 ? (by === 1 ? 0 : rows.length - 1) : at + by];
      if (next !== undefined) context.open(findTarget(sessions, next));
    },
  };
}
