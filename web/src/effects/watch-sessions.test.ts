// What the page learns from the sessions it follows, and how many those are.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Connection } from "loom-agent/client";
import { Connections } from "./connections.ts";
import { createFakeKit, createTurn } from "./fake-kit.contract.ts";
import { watchSession } from "./watch-sessions.ts";

function setUp() {
  const kit = createFakeKit();
  const told: string[] = [];
  const asked: string[] = [];
  let troubles = 0;
  const sessions = {
    refresh: (session?: string) => void told.push(session ?? ""),
    loadDetails: async (session: string) => void asked.push(session),
  };
  let approval: string | undefined;
  const stop = watchSession(kit, "s", { sessions, findApproval: () => approval, onTrouble: () => void troubles++ });
  const setApproval = (tool: string | undefined): void => {
    approval = tool;
  };
  return {
    kit,
    told,
    asked,
    countTroubles: () => troubles,
    stop,
    setApproval,
    said: () => kit.store.getSnapshot().announcement,
  };
}

describe("watchSession", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("says that an answer is complete, not what it says", () => {
    const { kit, told, said } = setUp();
    kit.open("s");
    kit.show("s", [createTurn({ runId: "r" })]);
    expect([said(), kit.store.getSnapshot().sessions.live, told]).toEqual([undefined, ["s"], ["s"]]);
    for (let token = 0; token < 5; token++) kit.show("s", [createTurn({ runId: "r" })]);
    vi.advanceTimersByTime(1000);
    expect([said(), told.length]).toEqual([undefined, 1]);
    kit.show("s", [createTurn({ runId: "r", status: "completed" })]);
    expect(said()).toMatchObject({ count: 1, what: "complete" });
    expect([kit.store.getSnapshot().sessions.live, told.length]).toEqual([[], 2]);
  });

  it("says nothing of what is only loaded, nor of sessions that are not shown", () => {
    const { kit, told, said } = setUp();
    kit.open("s");
    const rest = { created_at: 0, updated_at: 0, first_event_id: 1, last_event_id: 0, bytes: 0, cursor: "" };
    kit.store.dispatch({ type: "session/told", session: { session_id: "s", ...rest } });
    kit.show("s", [createTurn({ runId: "r", status: "completed" })]);
    expect([said(), told]).toEqual([undefined, []]);
    kit.open("other");
    kit.show("s", [createTurn({ runId: "r2" })]);
    kit.show("s", [createTurn({ runId: "r2", status: "error", reason: "no" })]);
    expect(said()).toBeUndefined();
  });

  it("says what waits for approval, once, and why a run failed", () => {
    const { kit, said, setApproval } = setUp();
    kit.open("s");
    setApproval("write_file");
    kit.show("s", [createTurn({ runId: "r" })]);
    kit.show("s", [createTurn({ runId: "r" })]);
    expect(said()).toEqual({ count: 1, what: "approval", detail: "write_file" });
    setApproval(undefined);
    vi.advanceTimersByTime(1000);
    kit.show("s", [createTurn({ runId: "r", status: "error", reason: "the model is gone" })]);
    expect(said()).toEqual({ count: 2, what: "error", detail: "the model is gone" });
  });

  it("asks about a session that is there, once, and of one that is not nothing", () => {
    const { kit, asked, countTroubles } = setUp();
    kit.show("s", [], "failed");
    expect([asked, countTroubles()]).toEqual([[], 1]);
    for (let token = 0; token < 3; token++) kit.show("s", [createTurn({ runId: "r" })]);
    expect([asked, countTroubles()]).toEqual([["s"], 1]);
    for (const status of ["repairing", "failed", "live", "repairing"] as const)
      kit.show("s", [createTurn({ runId: "r" })], status);
    expect([asked, countTroubles()]).toEqual([["s"], 3]);
  });

  it("takes a message off the list when its run is there, and ends a stop", () => {
    const { kit } = setUp();
    const message = { commandId: "c", runId: "r", text: "", files: [], status: "sending" } as const;
    kit.store.dispatch({ type: "message/sent", session: "s", message, clearsDraft: false });
    kit.store.dispatch({ type: "run/stopping", runId: "r" });
    kit.show("s", [createTurn({ runId: "r" }), createTurn({ runId: "r2" })]);
    expect(kit.store.getSnapshot().composing.waiting.size).toBe(0);
    kit.show("s", [createTurn({ runId: "r", status: "cancelled" })]);
    expect(kit.store.getSnapshot().composing.stopping).toEqual([]);
  });

  it("says and lists what was over before it was seen to go", () => {
    const { kit, told, said } = setUp();
    const message = { commandId: "c", runId: "r", text: "", files: [], status: "sending" } as const;
    kit.open("s");
    kit.store.dispatch({ type: "message/sent", session: "s", message, clearsDraft: false });
    kit.show("s", [createTurn({ runId: "r", status: "completed" })]);
    expect([said()?.what, told]).toEqual(["complete", ["s"]]);
  });

  it("says nothing of a run that is loaded in pieces", () => {
    const { kit, said } = setUp();
    kit.open("s");
    kit.show("s", [createTurn({ runId: "r" })]);
    vi.advanceTimersByTime(50);
    kit.show("s", [createTurn({ runId: "r", status: "completed" })]);
    expect(said()).toBeUndefined();
    const message = { commandId: "c", runId: "r2", text: "", files: [], status: "sending" } as const;
    kit.store.dispatch({ type: "message/sent", session: "s", message, clearsDraft: false });
    kit.show("s", [createTurn({ runId: "r2" })]);
    kit.show("s", [createTurn({ runId: "r2", status: "completed" })]);
    expect(said()?.what).toBe("complete");
  });

  it("waits no more for a run that nobody brings", () => {
    const { kit, said } = setUp();
    kit.open("s");
    kit.show("s", [createTurn({ runId: "r" })]);
    kit.show("s", [createTurn({ runId: "r" })], "failed");
    expect([said(), kit.store.getSnapshot().sessions.live]).toEqual([undefined, []]);
  });

  it("looks no more when it is stopped", () => {
    const { kit, stop } = setUp();
    kit.show("s", [createTurn({ runId: "r" })]);
    stop();
    expect(kit.store.getSnapshot().sessions.live).toEqual([]);
    kit.show("s", [createTurn({ runId: "r2" })]);
    expect(kit.store.getSnapshot().sessions.live).toEqual([]);
  });
});

describe("Connections", () => {
  it("keeps those that were asked for last", () => {
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
