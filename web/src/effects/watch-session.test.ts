// Announcements and refreshes of watched sessions, and the limit of open connections.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Connection } from "loom-agent/client";
import { Connections } from "./connections.ts";
import { createFakeContext, createTurn } from "../../../test/contracts/fake-context.ts";
import { watchSession } from "./watch-session.ts";

function setUp() {
  const context = createFakeContext();
  const refreshed: string[] = [];
  const loaded: string[] = [];
  let failures = 0;
  let runChanges = 0;
  const sessions = {
    refresh: (session?: string) => void refreshed.push(session ?? ""),
    loadDetails: async (session: string) => void loaded.push(session),
  };
  let approval: string | undefined;
  const alerted: string[] = [];
  const stop = watchSession(context, "s", {
    sessions,
    alerts: {
      alert: ({ session, kind, detail }) => void alerted.push([session, kind, detail].join(" ").trim()),
      clear: (session) => void alerted.push(`${session} cleared`),
    },
    findApproval: () => approval,
    onRunChange: () => void runChanges++,
    onStreamFailure: () => void failures++,
  });
  const setApproval = (tool: string | undefined): void => {
    approval = tool;
  };
  return {
    context,
    refreshed,
    loaded,
    alerted,
    countFailures: () => failures,
    countRunChanges: () => runChanges,
    stop,
    setApproval,
    announced: () => context.store.getSnapshot().announcement,
  };
}

describe("watchSession", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("does not take the past for the present", () => {
    const { context, announced, countRunChanges } = setUp();
    context.show("s", [createTurn({ runId: "r", status: "running" })], "live", true);
    vi.advanceTimersByTime(5000);
    context.show("s", [createTurn({ runId: "r", status: "completed" })], "complete", true);
    expect([announced(), countRunChanges()]).toEqual([undefined, 0]);
    expect(context.store.getSnapshot().sessions.live).toEqual([]);
    context.show("s", [createTurn({ runId: "r", status: "completed" })], "complete");
    expect([announced(), countRunChanges()]).toEqual([undefined, 1]);
  });

  it("announces that an answer is complete, without its text", () => {
    const { context, refreshed, announced, countRunChanges } = setUp();
    context.open("s");
    context.show("s", [createTurn({ runId: "r" })]);
    expect([announced(), context.store.getSnapshot().sessions.live, refreshed]).toEqual([undefined, ["s"], ["s"]]);
    for (let token = 0; token < 5; token++) context.show("s", [createTurn({ runId: "r" })]);
    vi.advanceTimersByTime(1000);
    expect([announced(), refreshed.length]).toEqual([undefined, 1]);
    context.show("s", [createTurn({ runId: "r", status: "completed" })]);
    expect(announced()).toMatchObject({ count: 1, kind: "complete" });
    expect([context.store.getSnapshot().sessions.live, refreshed.length, countRunChanges()]).toEqual([[], 2, 2]);
  });

  it("loads the title again after the first answer, because the model may write one", () => {
    const { context, refreshed, stop } = setUp();
    const answer = (...runIds: readonly string[]): number => {
      const ended = runIds.slice(0, -1).map((runId) => createTurn({ runId, status: "completed" }));
      const last = { runId: runIds.at(-1) ?? "" };
      context.show("s", [...ended, createTurn(last)]);
      vi.advanceTimersByTime(1000);
      context.show("s", [...ended, createTurn({ ...last, status: "completed" })]);
      return refreshed.length;
    };
    const first = answer("r");
    vi.advanceTimersByTime(60_000);
    expect(refreshed.length).toBeGreaterThan(first);
    const second = answer("r", "r2");
    vi.advanceTimersByTime(60_000);
    expect(refreshed.length).toBe(second);
    stop();
    const other = setUp();
    other.context.show("s", [createTurn({ runId: "r" })]);
    vi.advanceTimersByTime(1000);
    other.context.show("s", [createTurn({ runId: "r", status: "completed" })]);
    other.stop();
    const before = other.refreshed.length;
    vi.advanceTimersByTime(60_000);
    expect(other.refreshed.length).toBe(before);
  });

  it("announces neither loaded runs nor sessions that are not shown", () => {
    const { context, refreshed, announced } = setUp();
    context.open("s");
    const rest = {
      created_at: 0,
      updated_at: 0,
      first_event_id: 1,
      last_event_id: 0,
      bytes: 0,
      cursor: "",
      root_id: "s",
    };
    context.store.dispatch({ type: "session/updated", session: { session_id: "s", ...rest } });
    context.show("s", [createTurn({ runId: "r", status: "completed" })]);
    expect([announced(), refreshed]).toEqual([undefined, []]);
    context.open("other");
    context.show("s", [createTurn({ runId: "r2" })]);
    context.show("s", [createTurn({ runId: "r2", status: "error", reason: "no" })]);
    expect(announced()).toBeUndefined();
  });

  it("alerts the user about runs of every session, and takes back an approval that was answered", () => {
    const { context, alerted, setApproval } = setUp();
    context.open("other");
    context.show("s", [createTurn({ runId: "r" })]);
    setApproval("write_file");
    context.show("s", [createTurn({ runId: "r" })]);
    expect(alerted).toEqual(["s approval write_file"]);
    setApproval(undefined);
    context.show("s", [createTurn({ runId: "r" })]);
    vi.advanceTimersByTime(1000);
    context.show("s", [createTurn({ runId: "r", status: "completed" })]);
    expect(alerted.slice(1)).toEqual(["s cleared", "s complete"]);
  });

  it("announces an approval once, and why a run failed", () => {
    const { context, announced, setApproval } = setUp();
    context.open("s");
    setApproval("write_file");
    context.show("s", [createTurn({ runId: "r" })]);
    context.show("s", [createTurn({ runId: "r" })]);
    expect(announced()).toEqual({ count: 1, kind: "approval", detail: "write_file" });
    setApproval(undefined);
    vi.advanceTimersByTime(1000);
    context.show("s", [createTurn({ runId: "r", status: "error", reason: "model failed" })]);
    expect(announced()).toEqual({ count: 2, kind: "error", detail: "model failed" });
  });

  it("announces each restart of a run once, and none of a loaded run", () => {
    const { context, announced } = setUp();
    context.open("s");
    context.show("s", [createTurn({ runId: "old", attempt: 2 })]);
    expect(announced()).toBeUndefined();
    context.show("s", [createTurn({ runId: "r" })]);
    for (const attempt of [2, 2, 3, 3]) context.show("s", [createTurn({ runId: "r", attempt })]);
    expect(announced()).toMatchObject({ count: 2, kind: "restarted" });
  });

  it("loads details once a session has turns, and reports each stream failure", () => {
    const { context, loaded, countFailures } = setUp();
    context.show("s", [], "failed");
    expect([loaded, countFailures()]).toEqual([[], 1]);
    for (let token = 0; token < 3; token++) context.show("s", [createTurn({ runId: "r" })]);
    expect([loaded, countFailures()]).toEqual([["s"], 1]);
    for (const status of ["repairing", "failed", "live", "repairing"] as const)
      context.show("s", [createTurn({ runId: "r" })], status);
    expect([loaded, countFailures()]).toEqual([["s"], 3]);
  });

  it("removes a pending message when its run appears, and ends stopping", () => {
    const { context } = setUp();
    const message = { commandId: "c", runId: "r", text: "", files: [], status: "sending" } as const;
    context.store.dispatch({ type: "message/sent", session: "s", message, clearsDraft: false });
    context.store.dispatch({ type: "run/stopping", runId: "r" });
    context.show("s", [createTurn({ runId: "r" }), createTurn({ runId: "r2" })]);
    expect(context.store.getSnapshot().composing.waiting.size).toBe(0);
    context.show("s", [createTurn({ runId: "r", status: "cancelled" })]);
    expect(context.store.getSnapshot().composing.stopping).toEqual([]);
  });

  it("drops a sent system prompt when its run appears, because the log has it then", () => {
    const { context } = setUp();
    const { store } = context;
    store.dispatch({ type: "instructions/sent", from: "s", session: "s", text: "Be brief.", runId: "r2" });
    context.show("s", [createTurn({ runId: "r", status: "completed" })]);
    expect(store.getSnapshot().instructions.get("s")?.text).toBe("Be brief.");
    context.show("s", [createTurn({ runId: "r", status: "completed" }), createTurn({ runId: "r2" })]);
    expect(store.getSnapshot().instructions.has("s")).toBe(false);
  });

  it("announces and lists a run that ended before it was seen live", () => {
    const { context, refreshed, announced } = setUp();
    const message = { commandId: "c", runId: "r", text: "", files: [], status: "sending" } as const;
    context.open("s");
    context.store.dispatch({ type: "message/sent", session: "s", message, clearsDraft: false });
    context.show("s", [createTurn({ runId: "r", status: "completed" })]);
    expect([announced()?.kind, refreshed]).toEqual(["complete", ["s"]]);
  });

  it("does not announce a run that is loaded in pieces", () => {
    const { context, announced } = setUp();
    context.open("s");
    context.show("s", [createTurn({ runId: "r" })]);
    vi.advanceTimersByTime(50);
    context.show("s", [createTurn({ runId: "r", status: "completed" })]);
    expect(announced()).toBeUndefined();
    const message = { commandId: "c", runId: "r2", text: "", files: [], status: "sending" } as const;
    context.store.dispatch({ type: "message/sent", session: "s", message, clearsDraft: false });
    context.show("s", [createTurn({ runId: "r2" })]);
    context.show("s", [createTurn({ runId: "r2", status: "completed" })]);
    expect(announced()?.kind).toBe("complete");
  });

  it("does not treat a run as live after its stream failed", () => {
    const { context, announced } = setUp();
    context.open("s");
    context.show("s", [createTurn({ runId: "r" })]);
    context.show("s", [createTurn({ runId: "r" })], "failed");
    expect([announced(), context.store.getSnapshot().sessions.live]).toEqual([undefined, []]);
  });

  it("does nothing after it was stopped", () => {
    const { context, stop } = setUp();
    context.show("s", [createTurn({ runId: "r" })]);
    stop();
    expect(context.store.getSnapshot().sessions.live).toEqual([]);
    context.show("s", [createTurn({ runId: "r2" })]);
    expect(context.store.getSnapshot().sessions.live).toEqual([]);
  });
});

describe("Connections", () => {
  it("keeps the most recently used", () => {
    const closed: string[] = [];
    const made: string[] = [];
    const connections = new Connections({
      max: 2,
      isBusy: (session) => session.startsWith("busy"),
      connect(session) {
        made.push(session);
        return { close: () => void closed.push(`${session}!`) } as unknown as Connection;
      },
      onClose: (session) => void closed.push(session),
    });
    for (const session of ["a", "b", "a", "c"]) connections.get(session);
    expect([made, closed]).toEqual([
      ["a", "b", "c"],
      ["b!", "b"],
    ]);
    connections.close("gone");
    connections.close("a");
    expect([connections.has("a"), connections.has("c")]).toEqual([false, true]);
    closed.length = 0;
    for (const session of ["busy1", "busy2", "d"]) connections.get(session);
    expect(closed).toEqual(["c!", "c"]);
    for (const session of ["busy3", "busy4", "busy5"]) connections.get(session);
    expect(closed.filter((name) => !name.endsWith("!"))).toEqual(["c", "d", "busy1"]);
  });
});
