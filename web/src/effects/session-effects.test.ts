// Effects on whole sessions.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ApiError } from "../api/api-error.ts";
import { findRow } from "../store/sessions.ts";
import { createFakeContext } from "../../../test/contracts/fake-context.ts";
import { createSessionEffects } from "./session-effects.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const row = (id: string, title: string, updatedAt = 1) => ({
  session_id: id,
  title,
  created_at: 0,
  updated_at: updatedAt,
  first_event_id: 1,
  last_event_id: 0,
  bytes: 0,
  root_id: id,
  cursor: "",
});

function setUp(answer?: (what: string, ...values: unknown[]) => unknown) {
  const context = createFakeContext(answer);
  const effects = createSessionEffects(context);
  const titleOf = (session: string) => findRow(context.store.getSnapshot().sessions, session)?.title;
  return { context, effects, titleOf };
}

describe("the session list", () => {
  it("is requested once for concurrent calls, and reports a failure", async () => {
    const { context, effects } = setUp(() => {
      throw new ApiError("connection_lost", "no");
    });
    effects.refresh();
    effects.refresh();
    await vi.advanceTimersByTimeAsync(1000);
    // The list, and whether there are archived sessions.
    expect(context.calls).toMatchObject([
      ["listSessions", { archived: false }],
      ["listSessions", { archived: true }],
    ]);
    expect(context.store.getSnapshot().sessions.list.status).toBe("failed");
  });

  it("is searched after a pause in typing", async () => {
    const { context, effects } = setUp(() => ({ sessions: [row("a", "graph")] }));
    for (const query of ["g", "gr", "gra "]) effects.search(query);
    await vi.advanceTimersByTimeAsync(1000);
    expect(context.calls).toMatchObject([["listSessions", { q: "gra" }]]);
    expect(context.store.getSnapshot().sessions.found.rows).toHaveLength(1);
  });

  it("is stepped through in both directions", () => {
    const { context, effects } = setUp();
    const sessions = [row("a", "", 3), row("b", "", 2), row("c", "", 1)];
    context.store.dispatch({ type: "sessions/listed", page: { sessions }, isMore: false });
    effects.step(1);
    effects.step(1);
    effects.step(-1);
    effects.step(-1);
    context.open(undefined);
    effects.step(-1);
    expect(context.opened).toEqual(["a", "b", "a", undefined, "c"]);
  });
});

describe("a session", () => {
  it("shows its new title at once, and the old one if the rename fails", async () => {
    let isRefused = false;
    const { context, effects, titleOf } = setUp((_what, _session, changes) => {
      if (isRefused) throw new ApiError("forbidden", "no");
      return row("a", (changes as { readonly title: string }).title);
    });
    context.store.dispatch({ type: "session/updated", session: row("a", "old") });
    const renamed = effects.rename("a", "new");
    expect(titleOf("a")).toBe("new");
    await renamed;
    isRefused = true;
    await effects.rename("a", "third");
    expect([titleOf("a"), context.store.getSnapshot().notices.length]).toEqual(["new", 1]);
    await effects.rename("a", "  ");
    expect(context.calls).toHaveLength(2);
  });

  it("is closed after deletion, also if another client deleted it first", async () => {
    const { context, effects } = setUp(() => {
      throw new ApiError("unknown_session", "gone");
    });
    context.open("a");
    context.store.dispatch({ type: "session/updated", session: row("a", "old") });
    await effects.remove("a");
    const { sessions, notices } = context.store.getSnapshot();
    expect([sessions.current, sessions.list.rows, notices]).toEqual([undefined, [], []]);
    expect(context.calls.at(-1)).toEqual(["disconnect", "a"]);
  });

  it("stays with a notice if it cannot be deleted", async () => {
    const { context, effects, titleOf } = setUp(() => {
      throw new ApiError("forbidden", "no");
    });
    context.store.dispatch({ type: "session/updated", session: row("a", "old") });
    await effects.remove("a");
    expect([titleOf("a"), context.store.getSnapshot().notices[0]?.task]).toEqual(["old", "delete"]);
  });

  it("is deleted with all others, page by page, until one cannot be deleted", async () => {
    const pages = [{ sessions: [row("a", ""), row("b", "")], next: "b" }, { sessions: [row("c", "")] }];
    const { context, effects } = setUp((what) => (what === "listSessions" ? pages.shift() : undefined));
    const left: number[] = [];
    expect(await effects.removeAll((count) => left.push(count))).toBe(true);
    expect(left).toEqual([2, 1, 1]);
    const deleted = context.calls.filter(([what]) => what === "deleteConversation");
    expect(deleted.map(([, session]) => session)).toEqual(["a", "b", "c"]);
    const failing = setUp((what) => {
      if (what === "listSessions") return { sessions: [row("a", ""), row("b", "")] };
      throw new ApiError("forbidden", "no");
    });
    expect(await failing.effects.removeAll(() => undefined)).toBe(false);
    expect(failing.context.calls.filter(([what]) => what === "deleteConversation")).toHaveLength(1);
  });

  it("is duplicated, and the copy is opened", async () => {
    const { context, effects } = setUp(() => row("b", "Copy of old"));
    await effects.fork("a", "Copy of old");
    expect(context.calls[0]?.slice(0, 3)).toEqual(["copySession", "a", "Copy of old"]);
    expect(context.opened).toEqual(["b"]);
  });

  it("is duplicated without navigating away from another session", async () => {
    const { context, effects, titleOf } = setUp(() => row("b", "Copy of old"));
    context.open("a");
    const copied = effects.fork("a", "Copy of old");
    context.open("c");
    await copied;
    expect([context.store.getSnapshot().sessions.current, titleOf("b")]).toEqual(["c", "Copy of old"]);
  });

  it("is not restored by a list requested before its deletion", async () => {
    const answers = [[row("a", "old")], []].map((sessions) => ({ page: { sessions }, ...Promise.withResolvers() }));
    let lists = 0;
    const { context, effects, titleOf } = setUp((what, query) => {
      if (what !== "listSessions") return undefined;
      return (query as { archived: boolean }).archived ? { sessions: [] } : answers[lists++]?.promise;
    });
    context.store.dispatch({ type: "session/updated", session: row("a", "old") });
    effects.refresh();
    await vi.advanceTimersByTimeAsync(300);
    await effects.remove("a");
    for (const { page, resolve } of answers) resolve(page);
    await vi.advanceTimersByTimeAsync(300);
    expect([lists, titleOf("a"), context.store.getSnapshot().sessions.list.status]).toEqual([2, undefined, "ready"]);
  });

  it("has its details requested once for concurrent calls", async () => {
    const { context, effects } = setUp((what) => (what === "listSessions" ? { sessions: [] } : row("a", "t")));
    for (let batch = 0; batch < 20; batch++) effects.refresh("a");
    await vi.advanceTimersByTimeAsync(1000);
    expect(context.calls.map(([what]) => what)).toEqual(["listSessions", "listSessions", "getSession"]);
  });

  it("keeps a message sent while details load, and loads them again", async () => {
    const details = (...runIds: string[]) => {
      const queued = runIds.map((id) => ({ command_id: `c-${id}`, run_id: id, message: id, created_at: 0 }));
      return { ...row("a", "t"), runs: [], is_busy: true, queued };
    };
    const answers = [details("gone"), details("new")];
    const first = Promise.withResolvers();
    const { context, effects } = setUp((what) => {
      if (what === "listSessions") return { sessions: [] };
      return answers.length === 2 ? first.promise.then(() => answers.shift()) : answers[0];
    });
    const loaded = effects.loadDetails("a");
    const message = { commandId: "c-new", runId: "new", text: "new", files: [], status: "queued" } as const;
    context.store.dispatch({ type: "message/sent", session: "a", message, clearsDraft: false });
    first.resolve(undefined);
    await loaded;
    const waiting = () =>
      context.store
        .getSnapshot()
        .composing.waiting.get("a")
        ?.map(({ runId }) => runId);
    expect(waiting()).toEqual(["new"]);
    await vi.advanceTimersByTimeAsync(1000);
    expect([waiting(), context.calls.filter(([what]) => what === "getSession").length]).toEqual([["new"], 2]);
  });

  it("uses only the latest details response", async () => {
    const answers = ["old", "new"].map((title) => ({ title, ...Promise.withResolvers() }));
    let asked = 0;
    const { effects, titleOf } = setUp(() => answers[asked++]?.promise);
    const both = [effects.loadDetails("a"), effects.loadDetails("a")];
    for (const { title, resolve } of answers.toReversed()) resolve({ ...row("a", title), runs: [], is_busy: false });
    await Promise.all(both);
    expect(titleOf("a")).toBe("new");
  });

  it("lists its queued messages", async () => {
    const queued = [{ command_id: "c", run_id: "r", message: "later", created_at: 0 }];
    const { context, effects } = setUp(() => ({ ...row("a", "t"), runs: [], is_busy: true, queued }));
    await effects.loadDetails("a");
    expect(context.store.getSnapshot().composing.waiting.get("a")).toMatchObject([{ text: "later", status: "queued" }]);
  });
});
