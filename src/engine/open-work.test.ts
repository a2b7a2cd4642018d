import { describe, expect, it } from "vitest";
import { type AnyEvent, type EventRecord, Verifier } from "../protocol/index.ts";
import { MAX_CALLS, OpenWork } from "./open-work.ts";

const record = (event: AnyEvent, nodeId?: string): EventRecord => ({
  envelope: { run_id: "r", ...(nodeId === undefined ? {} : { node_id: nodeId }) },
  event,
});
const enter = (id: string, nodeId: string) => record({ type: "node_enter", id }, nodeId);
const call = (call_id: string, nodeId?: string) =>
  record({ type: "tool_call", call_id, name: "t", arguments: {} }, nodeId);
const start = (call_id: string, nodeId?: string) => record({ type: "tool_start", call_id, name: "t" }, nodeId);
const over = (call_id: string) => record({ type: "tool_end", call_id, name: "t", result: "", is_error: true });
const ask = (call_id: string, nodeId?: string, expires_at = 100) =>
  record({ type: "tool_approval", call_id, name: "t", arguments: { a: 1 }, expires_at }, nodeId);

function fold(...records: readonly EventRecord[]): OpenWork {
  const work = new OpenWork();
  for (const each of [record({ type: "run_start", run_id: "r" }), ...records]) work.add(each);
  return work;
}

describe("OpenWork", () => {
  it("closes approvals first and node runs last, from the inside out", () => {
    const records = [
      enter("outer", "run-outer-1"),
      enter("inner", "run-inner-2"),
      enter("beside", "run-beside-3"),
      record({ type: "llm_start", llm_call_id: "m" }, "run-inner-2"),
      record({ type: "tool_call_chunk", call_id: "streamed", name: "t", arguments_delta: "{" }, "run-inner-2"),
      record({ type: "tool_call_chunk", call_id: "nameless", arguments_delta: "{" }, "run-inner-2"),
      call("called", "run-inner-2"),
      call("started", "run-inner-2"),
      start("started", "run-inner-2"),
      call("asked", "run-outer-1"),
      ask("asked", "run-outer-1", 100),
      call("late", "run-outer-1"),
      ask("late", "run-outer-1", 10),
      call("delegated", "run-inner-2"),
      record({ type: "tool_start", call_id: "delegated", name: "t", executor: "client" }, "run-inner-2"),
      call("over", "run-inner-2"),
      record({ type: "tool_end", call_id: "over", name: "t", result: "", is_error: true }, "run-inner-2"),
    ];
    const work = fold(...records);
    const closings = work.listClosings({ reason: "cancelled", code: "cancelled", now: 50 });
    expect(closings.map(({ event, nodeId }) => [event.type, "call_id" in event ? event.call_id : "", nodeId])).toEqual([
      ["tool_approval_result", "asked", "run-outer-1"],
      ["tool_approval_result", "late", "run-outer-1"],
      ["llm_end", "", "run-inner-2"],
      ["tool_end", "streamed", "run-inner-2"],
      ["tool_end", "called", "run-inner-2"],
      ["tool_end", "started", "run-inner-2"],
      ["tool_end", "asked", "run-outer-1"],
      ["tool_end", "late", "run-outer-1"],
      ["tool_end", "delegated", "run-inner-2"],
      ["node_exit", "", "run-beside-3"],
      ["node_exit", "", "run-inner-2"],
      ["node_exit", "", "run-outer-1"],
    ]);
    const texts = closings.flatMap(({ event }) => (event.type === "tool_end" ? [event.result] : []));
    expect(texts[1]).toBe("cancelled before it started");
    expect(texts[2]).toContain("outcome is unknown");
    const decisions = closings.flatMap(({ event }) => (event.type === "tool_approval_result" ? [event.decision] : []));
    expect(decisions).toEqual(["rejected", "expired"]);

    const verifier = new Verifier();
    const whole = [
      record({ type: "run_start", run_id: "r" }),
      ...records,
      ...closings.map(({ event, nodeId }) => record(event, nodeId)),
      record({ type: "run_end", status: "cancelled" }),
    ];
    expect(whole.flatMap((each) => verifier.check(each)).filter(({ level }) => level === "error")).toEqual([]);
  });

  it("closes a call outside a node run that has ended", () => {
    const work = fold(
      enter("n", "run-n-1"),
      call("c", "run-n-1"),
      record({ type: "node_exit", id: "n", result: "Ok" }, "run-n-1"),
    );
    expect(work.listClosings({ reason: "x", code: "interrupted", now: 0 })).toMatchObject([{ nodeId: undefined }]);
  });

  it("keeps calls open that match `keep`", () => {
    const work = fold(call("a"), call("b"));
    const closings = work.listClosings({
      reason: "x",
      code: "interrupted",
      now: 0,
      keep: ({ callId }) => callId === "a",
    });
    expect(closings.map(({ event }) => event)).toMatchObject([{ type: "tool_end", call_id: "b" }]);
  });

  it("reads calls without IDs from other writers", () => {
    const work = fold(
      record({ type: "tool_call", name: "t", arguments: {} }),
      record({ type: "tool_call", name: "t", arguments: {} }),
      record({ type: "tool_start", name: "t" }),
      record({ type: "tool_end", name: "t", result: "", is_error: false }),
      record({ type: "node_enter", id: "n" }),
    );
    const closings = work.listClosings({ reason: "x", code: "interrupted", now: 0 });
    expect(closings).toMatchObject([
      { event: { type: "tool_end", name: "t" } },
      { nodeId: undefined, event: { type: "node_exit", id: "n" } },
    ]);
  });

  it("is fresh until there is something that must not be repeated", () => {
    const text = (content: string, channel?: "thought") =>
      record({ type: "message_chunk", content, id: "n", ...(channel === undefined ? {} : { channel }) }, "run-n-1");
    expect(fold(enter("n", "run-n-1"), text(""), text("x", "thought")).isFresh).toBe(true);
    expect(fold(enter("n", "run-n-1"), text("x")).isFresh).toBe(false);
    expect(fold(record({ type: "tool_start", name: "t", call_id: "c" })).isFresh).toBe(false);
    const checkpoint = {
      type: "checkpoint",
      checkpoint_id: "c",
      timestamp: "2026-01-01T00:00:00Z",
      step: 0,
      state: {},
    };
    expect(fold(record(checkpoint)).isFresh).toBe(false);
  });

  it("links a node run to the interrupted one that it repeats, in the same place", () => {
    const exit = (nodeId: string, id: string, Err = "interrupted") =>
      record({ type: "node_exit", id, result: { Err } }, nodeId);
    const child = record({ type: "node_enter", id: "c", parent: "run-p-1" }, "run-c-2");
    const work = fold(enter("p", "run-p-1"), child, exit("run-c-2", "c"), exit("run-p-1", "p"));
    work.add(record({ type: "error", message: "x", code: "interrupted", attempt: 2 }));
    expect(work.linkRepeat({ type: "node_enter", id: "c" })).toEqual({ type: "node_enter", id: "c" });
    const again = work.linkRepeat({ type: "node_enter", id: "p" });
    expect(again).toEqual({ type: "node_enter", id: "p", supersedes: "run-p-1", attempt: 2 });
    work.add(record(again, "run-p-3"));
    // The process dies once more before the child was entered.
    work.add(exit("run-p-3", "p"));
    work.add(record({ type: "error", message: "x", code: "interrupted", attempt: 3 }));
    work.add(record(work.linkRepeat({ type: "node_enter", id: "p" }), "run-p-4"));
    expect(work.linkRepeat({ type: "node_enter", id: "c", parent: "run-p-4" })).toEqual({
      type: "node_enter",
      id: "c",
      parent: "run-p-4",
      supersedes: "run-c-2",
      attempt: 3,
    });
    expect(work.linkRepeat({ type: "node_enter", id: "p" })).toEqual({ type: "node_enter", id: "p" });
  });

  it("links parallel node runs of one name in the order in which they were entered", () => {
    const exit = (nodeId: string) => record({ type: "node_exit", id: "p", result: { Err: "interrupted" } }, nodeId);
    const entered = [enter("p", "run-p-1"), enter("p", "run-p-2"), enter("p", "run-p-3")];
    // Recovery closes the last one first.
    const work = fold(...entered, exit("run-p-3"), exit("run-p-2"), exit("run-p-1"));
    const repeated = ["run-p-4", "run-p-5", "run-p-6"].map((nodeId) => {
      const again = work.linkRepeat({ type: "node_enter", id: "p" });
      work.add(record(again, nodeId));
      return again.supersedes;
    });
    expect(repeated).toEqual(["run-p-1", "run-p-2", "run-p-3"]);
  });

  it.each<[string, readonly EventRecord[], EventRecord]>([
    ["a node run that is not open", [], record({ type: "custom", value: 1 }, "run-n-1")],
    ["a call without an id", [], record({ type: "tool_call", name: "t", arguments: {} })],
    ["a first chunk without an id", [], record({ type: "tool_call_chunk", arguments_delta: "" })],
    ["a chunk after the call", [call("c")], record({ type: "tool_call_chunk", call_id: "c", arguments_delta: "" })],
    ["a second call", [call("c")], call("c")],
    ["a second start", [call("c"), start("c")], start("c")],
    ["a start while an approval is open", [call("c"), ask("c")], start("c")],
    [
      "a start after a rejection",
      [call("c"), ask("c"), record({ type: "tool_approval_result", call_id: "c", decision: "rejected" })],
      start("c"),
    ],
    ["output before the start", [call("c")], record({ type: "tool_output", call_id: "c", name: "t", content: "" })],
    ["progress of an unknown call", [], record({ type: "tool_progress", call_id: "c", progress: 1 })],
    [
      "the end of an unknown call",
      [],
      record({ type: "tool_end", call_id: "c", name: "t", result: "", is_error: true }),
    ],
    ["another tool name", [call("c")], record({ type: "tool_start", call_id: "c", name: "u" })],
    ["an approval request after the start", [call("c"), start("c")], ask("c")],
    ["a second approval request", [call("c"), ask("c")], ask("c")],
    [
      "an answer without an approval request",
      [call("c")],
      record({ type: "tool_approval_result", call_id: "c", decision: "approved" }),
    ],
    [
      "a model call twice",
      [record({ type: "llm_start", llm_call_id: "m" })],
      record({ type: "llm_start", llm_call_id: "m" }),
    ],
    ["the id of an ended call", [call("c"), over("c")], call("c")],
    ["a second end", [call("c"), over("c")], over("c")],
    ["the end of an unknown model call", [], record({ type: "llm_end", llm_call_id: "m" })],
  ])("rejects %s", (_name, before, next) => {
    const work = fold(...before);
    expect(() => work.assertNext(next.event, next.envelope.node_id)).toThrow(
      expect.objectContaining({ code: "invalid_event" }),
    );
  });

  it("limits the number of calls", () => {
    const work = fold();
    for (let index = 0; index < MAX_CALLS; index++) work.add(call(`c${index}`));
    expect(() => work.assertNext(call("one more").event, undefined)).toThrow(
      expect.objectContaining({ code: "too_many_open" }),
    );
  });
});
