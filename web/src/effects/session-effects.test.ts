// What is done with sessions as a whole.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ApiError } from "../api/api-error.ts";
import { findRow } from "../store/sessions.ts";
import { createFakeKit } from "./fake-kit.contract.ts";
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
  cursor: "",
});

function setUp(answer?: (what: string, ...values: unknown[]) => unknown) {
  const kit = createFakeKit(answer);
  const effects = createSessionEffects(kit);
  const titleOf = (session: string) => findRow(kit.store.getSnapshot().sessions, session)?.title;
  return { kit, effects, titleOf };
}

describe("the list", () => {
  it("is asked for once by those who ask at once, and says when it cannot be had", async () => {
    const { kit, effects } = setUp(() => {
      throw new ApiError("connection_lost", "no");
    });
    effects.refresh();
    effects.refresh();
    await vi.advanceTimersByTimeAsync(1000);
    expect(kit.asked).toHaveLength(1);
    expect(kit.store.getSnapshot().sessions.list.status).toBe("failed");
  });

  it("is searched when one stops typing", async () => {
    const { kit, effects } = setUp(() => ({ sessions: [row("a", "graph")] }));
    for (const query of ["g", "gr", "gra "]) effects.search(query);
    await vi.advanceTimersByTimeAsync(1000);
    expect(kit.asked).toMatchObject([["listSessions", { q: "gra" }]]);
    expect(kit.store.getSnapshot().sessions.found.rows).toHaveLength(1);
  });

  it("is gone through up and down", () => {
    const { kit, effects } = setUp();
    const sessions = [row("a", "", 3), row("b", "", 2), row("c", "", 1)];
    kit.store.dispatch({ type: "sessions/listed", page: { sessions }, isMore: false });
    effects.step(1);
    effects.step(1);
    effects.step(-1);
    effects.step(-1);
    kit.open(undefined);
    effects.step(-1);
    expect(kit.opened).toEqual(["a", "b", "a", undefined, "c"]);
  });
});

describe("a session", () => {
  it("has its new title at once, and the old one back where the server says no", async () => {
    let isRefused = false;
    const { kit, effects, titleOf } = setUp((_what, _session, title) => {
      if (isRefused) throw new ApiError("forbidden", "no");
      return row("a", title as string);
    });
    kit.store.dispatch({ type: "session/told", session: row("a", "old") });
    const renamed = effects.rename("a", "new");
    expect(titleOf("a")).toBe("new");
    await renamed;
    isRefused = true;
    await effects.rename("a", "third");
    expect([titleOf("a"), kit.store.getSnapshot().notices.length]).toEqual(["new", 1]);
    await effects.rename("a", "  ");
    expect(kit.asked).toHaveLength(2);
  });

  it("that was deleted is left, also where somebody else was quicker", async () => {
    const { kit, effects } = setUp(() => {
      throw new ApiError("unknown_session", "gone");
    });
    kit.open("a");
    kit.store.dispatch({ type: "session/told", session: row("a", "old") });
    await effects.remove("a");
    const { sessions, notices } = kit.store.getSnapshot();
    expect([sessions.current, sessions.list.rows, notices]).toEqual([undefined, [], []]);
    expect(kit.asked.at(-1)).toEqual(["disconnect", "a"]);
  });

  it("that cannot be deleted stays, and it is said", async () => {
    const { kit, effects, titleOf } = setUp(() => {
      throw new ApiError("forbidden", "no");
    });
    kit.store.dispatch({ type: "session/told", session: row("a", "old") });
    await effects.remove("a");
    expect([titleOf("a"), kit.store.getSnapshot().notices[0]?.task]).toEqual(["old", "delete"]);
  });

  it("is copied, and the copy is opened", async () => {
    const { kit, effects } = setUp(() => row("b", "Copy of old"));
    await effects.fork("a", "Copy of old");
    expect(kit.asked[0]?.slice(0, 3)).toEqual(["copySession", "a", "Copy of old"]);
    expect(kit.opened).toEqual(["b"]);
  });

  it("is copied without calling back who has gone elsewhere", async () => {
    const { kit, effects, titleOf } = setUp(() => row("b", "Copy of old"));
    kit.open("a");
    const copied = effects.fork("a", "Copy of old");
    kit.open("c");
    await copied;
    expect([kit.store.getSnapshot().sessions.current, titleOf("b")]).toEqual(["c", "Copy of old"]);
  });

  it("that was deleted does not come back by an answer from before", async () => {
    const answers = [[row("a", "old")], []].map((sessions) => ({ page: { sessions }, ...Promise.withResolvers() }));
    let lists = 0;
    const { kit, effects, titleOf } = setUp((what) =>
      what === "listSessions" ? answers[lists++]?.promise : undefined,
    );
    kit.store.dispatch({ type: "session/told", session: row("a", "old") });
    effects.refresh();
    await vi.advanceTimersByTimeAsync(300);
    await effects.remove("a");
    for (const { page, resolve } of answers) resolve(page);
    await vi.advanceTimersByTimeAsync(300);
    expect([lists, titleOf("a"), kit.store.getSnapshot().sessions.list.status]).toEqual([2, undefined, "ready"]);
  });

  it("is asked about once by those who ask at once", async () => {
    const { kit, effects } = setUp((what) => (what === "listSessions" ? { sessions: [] } : row("a", "t")));
    for (let batch = 0; batch < 20; batch++) effects.refresh("a");
    await vi.advanceTimersByTimeAsync(1000);
    expect(kit.asked.map(([what]) => what)).toEqual(["listSessions", "getSession"]);
  });

  it("keeps a message that was sent while it was asked what waits, and asks again", async () => {
    const details = (...runIds: string[]) => {
      const queued = runIds.map((id) => ({ command_id: `c-${id}`, run_id: id, message: id, created_at: 0 }));
      return { ...row("a", "t"), runs: [], is_busy: true, queued };
    };
    const answers = [details("gone"), details("new")];
    const first = Promise.withResolvers();
    const { kit, effects } = setUp((what) => {
      if (what === "listSessions") return { sessions: [] };
      return answers.length === 2 ? first.promise.then(() => answers.shift()) : answers[0];
    });
    const loaded = effects.loadDetails("a");
    const message = { commandId: "c-new", runId: "new", text: "new", files: [], status: "queued" } as const;
    kit.store.dispatch({ type: "message/sent", session: "a", message, clearsDraft: false });
    first.resolve(undefined);
    await loaded;
    const waiting = () =>
      kit.store
        .getSnapshot()
        .composing.waiting.get("a")
        ?.map(({ runId }) => runId);
    expect(waiting()).toEqual(["new"]);
    await vi.advanceTimersByTimeAsync(1000);
    expect([waiting(), kit.asked.filter(([what]) => what === "getSession").length]).toEqual([["new"], 2]);
  });

  it("takes the answer to the last question alone", async () => {
    const answers = ["old", "new"].map((title) => ({ title, ...Promise.withResolvers() }));
    let asked = 0;
    const { effects, titleOf } = setUp(() => answers[asked++]?.promise);
    const both = [effects.loadDetails("a"), effects.loadDetails("a")];
    for (const { title, resolve } of answers.toReversed()) resolve({ ...row("a", title), runs: [], is_busy: false });
    await Promise.all(both);
    expect(titleOf("a")).toBe("new");
  });

  it("tells what waits in it", async () => {
    const queued = [{ command_id: "c", run_id: "r", message: "later", created_at: 0 }];
    const { kit, effects } = setUp(() => ({ ...row("a", "t"), runs: [], is_busy: true, queued }));
    await effects.loadDetails("a");
    expect(kit.store.getSnapshot().composing.waiting.get("a")).toMatchObject([{ text: "later", status: "queued" }]);
  });
});
