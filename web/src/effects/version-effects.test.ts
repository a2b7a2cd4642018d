// Loading the versions of a conversation, and opening one.
import { describe, expect, it } from "vitest";
import { findOpenedRun, selectVersions } from "../store/versions.ts";
import { createFakeContext } from "../../../test/contracts/fake-context.ts";
import { createVersionEffects } from "./version-effects.ts";

const REST = { created_at: 0, updated_at: 0, first_event_id: 1, last_event_id: 8, bytes: 0, cursor: "", root_id: "s" };
const BRANCHES = {
  sessions: [
    { session_id: "s", ...REST },
    { session_id: "a", ...REST, forked_from: { session_id: "s", run_id: "r2", event_id: 4 } },
  ],
};
const run = (run_id: string, first: number) => ({
  run_id,
  status: "completed",
  first_event_id: first,
  last_event_id: first + 3,
  started_at: 0,
});
const RUNS: { readonly [session: string]: unknown } = {
  s: { runs: [run("r2", 5), run("r1", 1)] },
  a: { runs: [run("a2", 5), run("r1", 1)] },
};

function setUp(answer: (what: string, session: string) => unknown = answerAll) {
  const context = createFakeContext((what, session) => answer(what, String(session)));
  const effects = createVersionEffects(context);
  context.open("s");
  const versions = () => context.store.getSnapshot().versions;
  return { context, ...effects, versions };
}

function answerAll(what: string, session: string): unknown {
  return what === "listBranches" ? BRANCHES : RUNS[session];
}

describe("the versions of the current session", () => {
  it("are loaded with the runs, which are not needed for one version", async () => {
    const { context, loadVersions, versions } = setUp();
    await loadVersions("s");
    expect(selectVersions(versions(), "s").get("r2")).toMatchObject({ position: 1, count: 2, next: "a" });
    expect(selectVersions(versions(), "other").size).toBe(0);
    const alone = setUp(() => ({ sessions: BRANCHES.sessions.slice(0, 1) }));
    await alone.loadVersions("s");
    expect(alone.context.calls.map(([what]) => what)).toEqual(["listBranches"]);
    expect(context.calls.map(([what]) => what)).toEqual(["listBranches", "listRuns", "readQuestion", "readQuestion"]);
  });

  it("differ at the answer if the message is the same", async () => {
    const { context, loadVersions, versions } = setUp();
    await loadVersions("s");
    expect(selectVersions(versions(), "s").get("r2")).toMatchObject({ changed: "message" });
    const retried = setUp((what, session) => (what === "readQuestion" ? "Again?" : answerAll(what, session)));
    await retried.loadVersions("s");
    expect(selectVersions(retried.versions(), "s").get("r2")).toMatchObject({ changed: "answer" });
    // Messages are read once.
    await retried.loadVersions("s");
    expect(retried.context.calls.filter(([what]) => what === "readQuestion")).toEqual([
      ["readQuestion", "s", 4],
      ["readQuestion", "a", 4],
    ]);
    expect(context.store.getSnapshot().notices).toEqual([]);
  });

  it("are not loaded for another session or a share link, and a failure is not reported", async () => {
    const { context, loadVersions } = setUp();
    await loadVersions("other");
    const auth = { mode: "required", signed_in: false, kind: "share", scopes: ["read"], session_id: "s" } as const;
    context.store.dispatch({
      type: "access/loaded",
      auth: { ...auth, shared_session_ids: ["s"] },
      shared: "s",
      now: 0,
    });
    await loadVersions("s");
    expect(context.calls).toEqual([]);
    const failing = setUp(() => {
      throw new Error("offline");
    });
    await failing.loadVersions("s");
    expect(failing.context.store.getSnapshot().notices).toEqual([]);
  });

  it("of an earlier request do not replace those of a later one", async () => {
    const late = Promise.withResolvers<unknown>();
    let requests = 0;
    const { loadVersions, versions } = setUp((what, session) =>
      what === "listBranches" && ++requests === 1 ? late.promise : answerAll(what, session),
    );
    const first = loadVersions("s");
    await loadVersions("s");
    late.resolve({ sessions: [] });
    await first;
    expect(versions().byRun.size).toBe(1);
  });
});

describe("opening a version", () => {
  it("names the run where it differs once that is known, until the user opens something else", async () => {
    const { context, loadVersions, openVersion, versions } = setUp();
    await loadVersions("s");
    openVersion("a", "r2");
    expect(context.opened).toEqual(["s", "a"]);
    expect(findOpenedRun(versions(), "a")).toBeUndefined();
    await loadVersions("a");
    expect(findOpenedRun(versions(), "a")).toBe("a2");
    context.open("s");
    context.open("a");
    expect(findOpenedRun(versions(), "a")).toBeUndefined();
  });
});

describe("a fork at a checkpoint", () => {
  it("is opened, unless the user opened another session meanwhile", async () => {
    const { context, forkAt } = setUp(() => ({ session_id: "fork" }));
    expect(await forkAt("s", "c", { round: 1 })).toBeUndefined();
    expect(context.calls[0]?.slice(0, 4)).toEqual(["forkAt", "s", "c", { round: 1 }]);
    expect(context.opened).toEqual(["s", "fork"]);
    expect(await forkAt("s", "c", undefined)).toBeUndefined();
    expect(context.opened).toEqual(["s", "fork"]);
  });

  it("returns why it failed", async () => {
    const { context, forkAt } = setUp(() => {
      throw new Error("too large");
    });
    expect(await forkAt("s", "c", undefined)).toBe("too large");
    expect(context.opened).toEqual(["s"]);
  });
});
