// Tool calls: from the first piece of their arguments to the result, and the assignment of frames to calls.
import { describe, expect, it } from "vitest";
import { ViewFeed } from "../../../test/view-feed.ts";
import type { ToolCallChunkEvent } from "../../protocol/events.generated.ts";

const feed = () => new ViewFeed().start().enter("a").enter("b").withDefaults({ node: "a" });

function chunk(arguments_delta: string, more: Partial<ToolCallChunkEvent> = {}): ToolCallChunkEvent {
  return { type: "tool_call_chunk", arguments_delta, ...more };
}

describe("a tool call", () => {
  it("shows partial arguments, and then the exact ones", () => {
    const made = feed().put(chunk('{"city": "Par', { call_id: "c", name: "weather" }));
    expect(made.call).toEqual({
      toolId: "c",
      toolName: "weather",
      arguments: { city: "Par" },
      argumentsText: '{"city": "Par',
      argumentsInvalid: false,
      status: "streaming",
      output: "",
    });
    made.put(chunk('is"')).put(chunk("}"));
    expect(made.call).toMatchObject({ status: "streaming", arguments: { city: "Paris" } });
    const given = { city: "Paris" };
    made.put({ type: "tool_call", call_id: "c", name: "weather", arguments: given, description: "asks" });
    expect(made.call).toMatchObject({ status: "ready", description: "asks", argumentsText: '{"city": "Paris"}' });
    expect(made.call.arguments).toBe(given);
    expect(made.message.toolCalls).toHaveLength(1);
    expect(made.message.parts).toEqual([{ type: "tool", key: "1", nodeKey: "a", call: made.call }]);
  });

  it("runs, reports progress, prints and ends", () => {
    const made = feed().put({ type: "tool_call", call_id: "c", name: "t", arguments: {} });
    made.put({ type: "tool_start", call_id: "c", name: "t" }, { ts: 100 });
    expect(made.call).toMatchObject({ status: "running", startedAt: 100 });
    made.put({ type: "tool_progress", call_id: "c", progress: 50, message: "half" });
    made.put({ type: "tool_output", call_id: "c", name: "t", content: "x" });
    made.put({ type: "tool_output", call_id: "c", name: "t", content: "y" });
    expect(made.call).toMatchObject({ progress: 50, progressMessage: "half", output: "xy" });
    made.put({ type: "tool_end", call_id: "c", name: "t", result: "ok", is_error: false, output: [1] }, { ts: 140 });
    expect(made.call).toMatchObject({ status: "success", result: { text: "ok", data: [1] }, durationMs: 40 });
    expect(made.call).not.toHaveProperty("error");
  });

  it("fails with the code and duration of its end event", () => {
    const made = feed().put({ type: "tool_start", call_id: "c", name: "t" });
    const end = { type: "tool_end", call_id: "c", name: "t", result: "no", is_error: true } as const;
    made.put({ ...end, error_code: "tool_timeout", duration_ms: 5 });
    expect(made.call).toMatchObject({
      status: "failed",
      error: { message: "no", code: "tool_timeout" },
      result: { text: "no" },
      durationMs: 5,
    });
  });

  it("waits for an approval and shows the decision", () => {
    const made = feed().put({ type: "tool_call", call_id: "c", name: "t", arguments: { n: 1 } });
    made.put({ type: "tool_approval", call_id: "c", name: "t", arguments: { n: 1 }, expires_at: 9 });
    expect(made.call).toMatchObject({
      status: "awaiting_approval",
      approval: { decision: "pending", arguments: { n: 1 }, expiresAt: 9 },
    });
    made.put({
      type: "tool_approval_result",
      call_id: "c",
      decision: "approved",
      arguments: { n: 2 },
      actor: "u",
      reason: "r",
    });
    expect(made.call).toMatchObject({
      status: "ready",
      arguments: { n: 2 },
      approval: { decision: "approved", arguments: { n: 2 }, expiresAt: 9, actor: "u", reason: "r" },
    });
    made.put({ type: "tool_start", call_id: "c", name: "t" });
    expect(made.call.status).toBe("running");
  });

  it.each(["rejected", "expired"] as const)("that is %s never ran", (decision) => {
    const made = feed().put({ type: "tool_approval", call_id: "c", name: "t", arguments: { n: 1 } });
    made.put({ type: "tool_approval_result", call_id: "c", decision });
    expect(made.call).toMatchObject({ status: "rejected", arguments: { n: 1 } });
    made.put({ type: "tool_end", call_id: "c", name: "t", result: "refused", is_error: true });
    expect(made.call).toMatchObject({ status: "rejected", error: { message: "refused" }, approval: { decision } });
  });

  it("infers the decision from what happens next", () => {
    const ask = () => feed().put({ type: "tool_approval", call_id: "c", name: "t", arguments: {} });
    const end = { type: "tool_end", call_id: "c", name: "t", result: "" } as const;
    const seen = (made: ViewFeed) => [made.call.status, made.call.approval?.decision];
    const begun = ask().put({ type: "tool_start", call_id: "c", name: "t" });
    expect(seen(begun)).toEqual(["running", "approved"]);
    expect(seen(begun.put({ ...end, is_error: true }))).toEqual(["failed", "approved"]);
    expect(seen(ask().put({ ...end, is_error: false }))).toEqual(["success", "approved"]);
    expect(seen(ask().put({ ...end, is_error: true }))).toEqual(["rejected", "rejected"]);
    const late = ask().put({ ...end, is_error: true, error_code: "approval_expired" });
    expect(seen(late)).toEqual(["rejected", "expired"]);
    expect(seen(ask().put({ type: "run_end", status: "cancelled" }))).toEqual(["interrupted", "expired"]);
    const after = feed().put({ ...end, is_error: false });
    after.put({ type: "tool_approval", call_id: "c", name: "t", arguments: {} }).reply("x");
    expect(seen(after)).toEqual(["success", "expired"]);
  });

  it("is interrupted by the end of the run in any state", () => {
    const made = feed().put(chunk("{", { call_id: "1", name: "t" }));
    made.put({ type: "tool_call", call_id: "2", name: "t", arguments: {} });
    made.put({ type: "tool_start", call_id: "3", name: "t" });
    made.put({ type: "tool_end", call_id: "4", name: "t", result: "", is_error: false });
    made.put({ type: "run_end", status: "cancelled" });
    expect(made.message.toolCalls.map(({ status }) => status)).toEqual([
      "interrupted",
      "interrupted",
      "interrupted",
      "success",
    ]);
  });

  it("reports arguments that are not a JSON object", () => {
    expect(feed().put(chunk("[1", { call_id: "c" })).call).toMatchObject({ argumentsInvalid: true, arguments: {} });
    expect(feed().put(chunk("{]", { call_id: "c" })).call).toMatchObject({ argumentsInvalid: true });
    const made = feed().put(chunk("{oops", { call_id: "c", name: "t" }));
    made.put({ type: "tool_call", call_id: "c", name: "t", arguments: {}, raw_arguments: "{oops" });
    expect(made.call).toMatchObject({ argumentsInvalid: true, argumentsText: "{oops", arguments: {}, status: "ready" });
  });

  it("does not treat `__proto__` specially", () => {
    const made = feed();
    for (const call_id of ["__proto__", "constructor", "toString"]) {
      made.put(chunk('{"a":', { call_id, name: "__proto__" })).put(chunk("1}"));
      made.put({ type: "tool_end", call_id, name: "__proto__", result: "", is_error: false });
    }
    expect(made.message.toolCalls).toMatchObject([
      { toolId: "__proto__", arguments: { a: 1 }, status: "success" },
      { toolId: "constructor", arguments: { a: 1 } },
      { toolId: "toString", arguments: { a: 1 } },
    ]);
  });
});

describe("the call of a frame", () => {
  it("is that of the last chunk of the same node run", () => {
    const made = feed()
      .put(chunk("1", { call_id: "x", name: "t" }))
      .put(chunk("2", { call_id: "y" }), { node: "b" });
    made.put(chunk("3")).put(chunk("4"), { node: "b" });
    expect(made.message.toolCalls.map(({ argumentsText }) => argumentsText)).toEqual(["13", "24"]);
  });

  it("is found by index for parallel calls", () => {
    const made = feed()
      .put(chunk("1", { call_id: "x", index: 0 }))
      .put(chunk("2", { call_id: "y", index: 1 }));
    made
      .put(chunk("3", { index: 0 }))
      .put(chunk("4", { index: 1 }))
      .put(chunk("5", { call_id: "x", index: 0 }));
    expect(made.message.toolCalls.map(({ argumentsText }) => argumentsText)).toEqual(["135", "24"]);
    const unnamed = feed()
      .put(chunk("1", { name: "t", index: 0 }))
      .put(chunk("2", { name: "t", index: 1 }));
    unnamed.put(chunk("3", { index: 0 })).put({ type: "tool_call", name: "t", arguments: { n: 2 }, index: 1 });
    unnamed.put({ type: "tool_call", name: "t", arguments: { n: 1 }, index: 0 });
    expect(unnamed.message.toolCalls).toMatchObject([
      { argumentsText: "13", arguments: { n: 1 } },
      { argumentsText: "2", arguments: { n: 2 } },
    ]);
  });

  it("is found by name, oldest first, without an ID", () => {
    const made = feed();
    for (const n of [1, 2]) made.put({ type: "tool_call", name: "t", arguments: { n } });
    for (const _ of [1, 2]) made.put({ type: "tool_start", name: "t" });
    made.put({ type: "tool_end", name: "t", result: "first", is_error: false });
    made.put({ type: "tool_output", name: "t", content: "second" });
    expect(made.message.toolCalls).toMatchObject([
      { toolId: "t#1", arguments: { n: 1 }, status: "success", result: { text: "first" } },
      { toolId: "t#2", arguments: { n: 2 }, status: "running", output: "second" },
    ]);
  });

  it("is joined with arguments streamed without an ID", () => {
    for (const name of ["t", undefined]) {
      for (const call_id of ["c", undefined]) {
        const made = feed()
          .put(chunk('{"n"', name === undefined ? {} : { name }))
          .put(chunk(":1}"));
        made.put({ type: "tool_call", name: "t", arguments: { n: 1 }, ...(call_id === undefined ? {} : { call_id }) });
        expect(made.message.toolCalls).toMatchObject([
          { toolId: call_id ?? "t#1", toolName: "t", argumentsText: '{"n":1}', status: "ready" },
        ]);
      }
    }
  });

  it("is a new one when an ID is reused", () => {
    const made = feed();
    for (const n of [1, 2]) {
      made.put(chunk(`{${n}`, { call_id: "c", name: "t" }));
      made.put({ type: "tool_call", call_id: "c", name: "t", arguments: { n } });
      made.put({ type: "tool_end", call_id: "c", name: "t", result: `${n}`, is_error: false });
    }
    expect(made.message.toolCalls).toMatchObject([
      { argumentsText: "{1", result: { text: "1" } },
      { argumentsText: "{2", result: { text: "2" } },
    ]);
  });
});
