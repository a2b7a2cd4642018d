import { describe, expect, it } from "vitest";
import type { LogLimits } from "../log/log-limits.ts";
import { createLog, expectValid, SESSION, typesOf, wrapLog } from "../../test/contracts/sender.ts";
import { openSession } from "./session.ts";

async function setUp(limits: Partial<LogLimits> = {}) {
  const log = wrapLog(await createLog({ limits }));
  const session = await openSession(log, SESSION, { onError: () => undefined });
  return { log, run: await session.startRun() };
}

const custom = (value: string) => ({ type: "custom", value }) as const;
const call = { call_id: "c", name: "t" };
const end = { type: "tool_end", ...call, result: "", is_error: false } as const;

describe("a unit of events", () => {
  it("writes events before and after node_exit in one append", async () => {
    const { log, run } = await setUp({ maxBatchRecords: 4 });
    const node = run.enter("a");
    void node.emit(custom("x"));
    void node.emit(custom("y"));
    const { lastId } = node.commit({ before: [custom("before"), custom("more")], after: [custom("after")] });
    await run.settled();
    expect(lastId).toBe(8);
    expect(log.appends.map(({ entries }) => entries.length)).toEqual([1, 3, 4]);
    const records = await expectValid(log);
    expect(records.slice(-4).map(({ envelope, event }) => [envelope.node_id, event.type])).toEqual([
      ["run-a-1", "custom"],
      ["run-a-1", "custom"],
      ["run-a-1", "node_exit"],
      [undefined, "custom"],
    ]);
    // Only the first exit counts.
    expect(await node.fail("late")).toBe(8);
    run.postUnit([custom("one"), custom("two")]);
    await run.settled();
    expect(log.appends.at(-1)?.entries).toHaveLength(2);
  });

  it("leaves the node run open if one of its events is rejected", async () => {
    const { log, run } = await setUp({ maxEventBytes: 500 });
    const node = run.enter("a");
    const refused = [
      ["invalid_event", [custom("fine"), { type: "tool_end", ...call, result: "", is_error: false }]],
      ["invalid_event", [custom("fine"), { type: "node_exit", id: "a", result: "Ok" }]],
      ["invalid_event", [{ type: "usage" }]],
      ["event_too_large", [custom("fine"), custom("x".repeat(500))]],
    ] as const;
    for (const [code, before] of refused)
      expect(() => node.commit({ before })).toThrow(expect.objectContaining({ code }));
    expect(run.status).toBe("live");
    await node.done();
    expect(() => node.commit({})).toThrow(expect.objectContaining({ code: "invalid_event" }));
    expect(typesOf(await expectValid(log))).toEqual(["run_start", "node_enter", "node_exit"]);
  });

  it("can take a call through several states", async () => {
    const { log, run } = await setUp();
    const node = run.enter("a");
    node.commit({ before: [{ type: "tool_call", ...call, arguments: {} }, { type: "tool_start", ...call }, end] });
    await run.finish({ reply: "" });
    await expectValid(log);
  });
});

describe("a node run", () => {
  it("tracks answer text and ended calls", async () => {
    const { run } = await setUp();
    const node = run.enter("a");
    void node.write("aloud", { channel: "thought" });
    void node.write("");
    expect([node.hasAnswered, node.endedCalls.size]).toEqual([false, 0]);
    void node.write("word");
    run.postUnit(
      [
        { type: "tool_call", ...call, arguments: {} },
        { type: "tool_start", ...call },
      ],
      node,
    );
    void node.emit(end);
    expect(node.hasAnswered).toBe(true);
    expect(node.endedCalls.get("c")).toEqual(end);
  });
});

describe("closeCalls", () => {
  it("ends only the named calls, in any state", async () => {
    const { log, run } = await setUp();
    const node = run.enter("a");
    for (const call_id of ["called", "started", "other"])
      void node.emit({ type: "tool_call", call_id, name: "t", arguments: {} });
    void node.emit({ type: "tool_start", call_id: "started", name: "t" });
    const asked = run.requestApproval({ callId: "asked", name: "t", arguments: {} }, node);
    run.closeCalls(["called", "started", "asked", "unknown"], { reason: "stopped", code: "cancelled" });
    expect(await asked).toMatchObject({ decision: "rejected", reason: "stopped" });
    expect([...run.work.calls].map(({ callId }) => callId)).toEqual(["other"]);
    expect([...run.work.spans]).toHaveLength(1);
    const records = await expectValid(log);
    const ends = records.flatMap(({ event }) => (event.type === "tool_end" ? [event] : []));
    expect(ends).toMatchObject([
      { call_id: "called", result: "stopped before it started", error_code: "cancelled" },
      { call_id: "started", result: "stopped while it was running: its outcome is unknown" },
      { call_id: "asked" },
    ]);
  });
});
