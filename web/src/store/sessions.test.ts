// The session list: pages, updates and deletions.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SessionDetails } from "../../../src/server/api/shapes.generated.ts";
import { MAX_ROWS, type SessionListRow } from "./session-rows.ts";
import {
  findRow,
  findTarget,
  listShown,
  listVersions,
  NO_SESSIONS,
  reduceSessions,
  type SessionsState,
} from "./sessions.ts";

function row(id: string, updatedAt: number, title?: string): SessionListRow {
  const rest = { created_at: 0, first_event_id: 1, last_event_id: 0, bytes: 0, cursor: "c", root_id: id };
  return { session_id: id, updated_at: updatedAt, ...(title === undefined ? {} : { title }), ...rest };
}

const idsOf = ({ list }: SessionsState): readonly string[] => list.rows.map(({ session_id }) => session_id);

function list(state: SessionsState, sessions: readonly SessionListRow[], next?: string, isMore = false): SessionsState {
  return reduceSessions(state, {
    type: "sessions/listed",
    page: { sessions, ...(next === undefined ? {} : { next }) },
    isMore,
  });
}

describe("the session list", () => {
  it("appends pages, and keeps them when the first is reloaded", () => {
    const first = list(NO_SESSIONS, [row("a", 9), row("b", 8)], "b");
    const both = list(first, [row("c", 7), row("d", 6)], "d", true);
    expect(idsOf(both)).toEqual(["a", "b", "c", "d"]);
    const reloaded = list(both, [row("c", 10), row("a", 9)], "a");
    expect(idsOf(reloaded)).toEqual(["c", "a", "b", "d"]);
    expect(reloaded.list.next).toBe("d");
  });

  it("removes rows that the first page covers but does not list", () => {
    const before = list(NO_SESSIONS, [row("a", 9), row("b", 8), row("c", 7)]);
    expect(idsOf(list(before, [row("a", 9), row("c", 7)]))).toEqual(["a", "c"]);
    expect(idsOf(list(before, []))).toEqual([]);
  });

  it("moves a changed session to its position", () => {
    const before = list(NO_SESSIONS, [row("a", 9), row("b", 8)]);
    const after = reduceSessions(before, { type: "session/updated", session: row("b", 10, "new") });
    expect(idsOf(after)).toEqual(["b", "a"]);
    expect(findRow(after, "b")?.title).toBe("new");
  });

  it("ignores a session older than all listed ones", () => {
    const before = list(NO_SESSIONS, [row("a", 9)], "a");
    expect(reduceSessions(before, { type: "session/updated", session: row("z", 1) }).list).toBe(before.list);
  });

  it("uses only results of the latest query", () => {
    const typed = reduceSessions(NO_SESSIONS, { type: "search/typed", query: "new" });
    const late = { type: "search/found", query: "old", page: { sessions: [row("a", 1)] }, isMore: false } as const;
    expect(reduceSessions(typed, late)).toBe(typed);
    const found = reduceSessions(typed, { ...late, query: "new" });
    expect(found.found.rows).toHaveLength(1);
    expect(reduceSessions(found, { type: "search/typed", query: " " }).found.rows).toEqual([]);
  });

  it("removes a deleted session everywhere", () => {
    const before = reduceSessions(list(NO_SESSIONS, [row("a", 9)]), {
      type: "session/live",
      session: "a",
      isLive: true,
    });
    expect(before.live).toEqual(["a"]);
    const after = reduceSessions(before, { type: "session/deleted", session: "a" });
    expect([idsOf(after), after.live]).toEqual([[], []]);
  });

  it("has one row per conversation: its newest version", () => {
    const version = (id: string, at: number) => ({ ...row(id, at), created_at: at, root_id: "a" });
    const update = (state: SessionsState, session: SessionListRow): SessionsState =>
      reduceSessions(state, { type: "session/updated", session });
    const open = (state: SessionsState, session: string | undefined): SessionsState =>
      reduceSessions(state, { type: "session/opened", session });
    const first = open(list(NO_SESSIONS, [row("b", 9), { ...row("a", 8, "Title"), created_at: 8 }]), "a");
    const edited = update(update(first, { ...row("a", 8, "Title"), created_at: 8 }), version("a2", 10));
    expect(idsOf(edited)).toEqual(["a2", "b"]);
    // A new version has no title yet, and the older one is still open.
    expect([findRow(edited, "a")?.title, findRow(edited, "a2")?.title]).toEqual(["Title", "Title"]);
    expect(listShown(edited).map((one) => findTarget(edited, one))).toEqual(["a", "b"]);
    const later = update(open(edited, "a2"), { ...row("a", 12, "Renamed"), created_at: 8 });
    expect(idsOf(later)).toEqual(["a2", "b"]);
    expect(findRow(later, "a2")).toMatchObject({ session_id: "a2", title: "Renamed", updated_at: 12 });
    expect(findTarget(later, findRow(later, "a")!)).toBe("a2");
    expect(listVersions(later, "a2").toSorted()).toEqual(["a", "a2"]);
    const searched = reduceSessions(reduceSessions(later, { type: "search/typed", query: "x" }), {
      type: "search/found",
      query: "x",
      page: { sessions: [version("a3", 11), version("a2", 10)] },
      isMore: false,
    });
    expect(searched.found.rows).toHaveLength(1);
    const deleted = reduceSessions(later, { type: "session/deleted", session: "a" });
    expect([idsOf(deleted), deleted.used.size]).toEqual([["b"], 0]);
  });

  it("has pinned sessions on top, and archived ones in their own list", () => {
    const update = (state: SessionsState, session: SessionListRow): SessionsState =>
      reduceSessions(state, { type: "session/updated", session });
    const shown = (state: SessionsState) => listShown(state).map(({ session_id }) => session_id);
    const before = list(NO_SESSIONS, [row("a", 9), row("b", 8), { ...row("c", 7), is_pinned: true }]);
    expect(shown(before)).toEqual(["c", "a", "b"]);
    const pinned = update(before, { ...row("b", 8), is_pinned: true });
    expect(shown(pinned)).toEqual(["b", "c", "a"]);
    expect(shown(update(pinned, row("c", 7)))).toEqual(["b", "a", "c"]);
    const archived = update(pinned, { ...row("b", 8), is_pinned: true, is_archived: true });
    expect([shown(archived), findRow(archived, "b")?.is_archived]).toEqual([["c", "a"], true]);
    const loaded = reduceSessions(archived, {
      type: "archive/listed",
      page: { sessions: [{ ...row("b", 8), is_archived: true }] },
      isMore: false,
    });
    const both = update(loaded, { ...row("a", 9), is_archived: true });
    expect(both.archived.rows.map(({ session_id }) => session_id)).toEqual(["a", "b"]);
    expect(findRow(both, "b")?.session_id).toBe("b");
    expect(shown(update(both, row("a", 9)))).toEqual(["c", "a"]);
    // With more sessions than a page has, the pinned ones are loaded separately.
    const long = list(NO_SESSIONS, [row("a", 9)], "a");
    const page = { sessions: [{ ...row("old", 1), is_pinned: true }] };
    expect(shown(reduceSessions(long, { type: "pinned/listed", page }))).toEqual(["old", "a"]);
  });

  it("knows the sessions whose latest run failed", () => {
    const details = (id: string, ...statuses: readonly string[]): SessionDetails =>
      ({ ...row(id, 1), runs: statuses.map((status) => ({ status })) }) as unknown as SessionDetails;
    let state = list(NO_SESSIONS, [row("a", 9), row("b", 8)]);
    for (const session of [details("a", "error", "completed"), details("b", "completed", "error"), row("a", 9)])
      state = reduceSessions(state, { type: "session/updated", session });
    expect(state.failed).toEqual(["a"]);
    state = reduceSessions(state, { type: "session/ended", session: "b", hasFailed: true });
    state = reduceSessions(state, { type: "session/ended", session: "a", hasFailed: false });
    expect(state.failed).toEqual(["b"]);
    // A page that has just been opened learns it from the list.
    const rows = (["error", "completed"] as const).map((latest_status, at) => ({
      ...row(`s${at}`, 9 - at),
      latest_status,
    }));
    const listed = list(NO_SESSIONS, rows);
    expect(listed.failed).toEqual(["s0"]);
    expect(list(listed, [{ ...row("s0", 10), latest_status: "live" }]).failed).toEqual([]);
  });

  it("keeps its identity while nothing changes", () => {
    const state = list(NO_SESSIONS, [row("a", 9)]);
    expect(reduceSessions(state, { type: "session/opened", session: undefined })).toBe(state);
    expect(reduceSessions(state, { type: "session/live", session: "a", isLive: false })).toBe(state);
  });

  it("has each session once, and a bounded number of rows", () => {
    const rows = fc.array(
      fc.tuple(fc.integer({ min: 0, max: 30 }), fc.nat(50)).map(([id, at]) => row(`s${id}`, at)),
      { maxLength: 12 },
    );
    const action = fc.oneof(
      fc.tuple(rows, fc.boolean(), fc.boolean()).map(([sessions, isMore, hasNext]) => ({
        type: "sessions/listed" as const,
        page: {
          sessions: [...new Map(sessions.map((one) => [one.session_id, one])).values()],
          ...(hasNext ? { next: "n" } : {}),
        },
        isMore,
      })),
      fc.nat(30).map((id) => ({ type: "session/updated" as const, session: row(`s${id}`, id) })),
      fc.nat(30).map((id) => ({ type: "session/deleted" as const, session: `s${id}` })),
    );
    fc.assert(
      fc.property(fc.array(action, { maxLength: 20 }), (actions) => {
        const ids = idsOf(actions.reduce(reduceSessions, NO_SESSIONS));
        expect(new Set(ids).size).toBe(ids.length);
        expect(ids.length).toBeLessThanOrEqual(MAX_ROWS);
      }),
    );
  });

  it("keeps a bounded number of rows", () => {
    const many = Array.from({ length: MAX_ROWS + 5 }, (_, index) => row(`s${index}`, 5000 - index));
    const state = list(NO_SESSIONS, many, "n");
    expect([state.list.rows.length, state.list.next]).toEqual([MAX_ROWS, undefined]);
  });
});
