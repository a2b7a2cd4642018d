import { describe, expect, it } from "vitest";
import { ViewFeed } from "../../../test/view-feed.ts";
import { LONG } from "../../../test/sampling.ts";

/** About 130 ms are needed. */
const MAX_CPU_MS = 600;

const INTERRUPTED = { type: "error", message: "The process ended", code: "interrupted", recoverable: true } as const;

/** A run whose process dies while `think` writes its answer, after a tool has run. */
function feedCrash(): ViewFeed {
  const feed = new ViewFeed().start("2 + 2?");
  feed.enter("think-1").writeText("Let me calculate. ", "think-1").exit("think-1").enter("act-1");
  feed.put({ type: "tool_call", call_id: "c1", name: "calculate", arguments: {} }, { node: "act-1" });
  feed.put({ type: "tool_start", call_id: "c1", name: "calculate" }, { node: "act-1" });
  feed.put({ type: "tool_end", call_id: "c1", name: "calculate", result: "4", is_error: false }, { node: "act-1" });
  feed.exit("act-1").enter("think-2");
  feed.put({ type: "reasoning_chunk", content: "Hm", id: "think" }, { node: "think-2" });
  return feed.writeText("The ans", "think-2");
}

/** The records of the process that takes over. */
function takeOver(feed: ViewFeed, attempt: number, dead: string, node: string): ViewFeed {
  return feed
    .put({ type: "node_exit", id: "think", result: { Err: "interrupted" } }, { node: dead })
    .put({ ...INTERRUPTED, attempt })
    .put({ type: "node_enter", id: "think", attempt, supersedes: dead }, { node });
}

function finish(feed: ViewFeed, reply: string, node?: string): ViewFeed {
  return feed.put({ type: "run_end", status: "completed" }).reply(reply, { node });
}

describe("a run that continues after its process died", () => {
  it("marks the interrupted texts and their node run, and shows no error", () => {
    const feed = takeOver(feedCrash(), 2, "think-2", "think-3").writeText("The answer is 4.", "think-3");
    expect(feed.turn).toMatchObject({ status: "running", attempt: 2 });
    finish(feed.exit("think-3"), "The answer is 4.", "think-3");
    const { turn, message } = feed;
    expect(turn).toMatchObject({ status: "completed", attempt: 2 });
    expect(turn.nodes.map(({ status, attempt, supersededBy }) => [status, attempt, supersededBy])).toEqual([
      ["ok", undefined, undefined],
      ["ok", undefined, undefined],
      ["interrupted", undefined, 2],
      ["ok", 2, undefined],
    ]);
    expect(message.parts.map(({ type, supersededBy }) => [type, supersededBy])).toEqual([
      ["text", undefined],
      ["tool", undefined],
      ["thinking", 2],
      ["text", 2],
      ["text", undefined],
    ]);
    expect(message).toMatchObject({ hasError: false, thinkingContent: "", isStreaming: false });
    expect(message.mainContent).toBe("Let me calculate. The answer is 4.");
    expect(message.toolCalls).toMatchObject([{ toolId: "c1", status: "success" }]);
  });

  it("changes only the superseded objects", () => {
    const feed = feedCrash();
    const before = feed.view.turns[0];
    const after = takeOver(feed, 2, "think-2", "think-3").turn;
    const isSame = (a: readonly unknown[] = [], b: readonly unknown[] = []) => a.map((each, i) => each === b[i]);
    expect(isSame(before?.messages.at(-1)?.parts, after.messages.at(-1)?.parts)).toEqual([true, true, false, false]);
    expect(isSame(before?.nodes, after.nodes)).toEqual([true, true, false]);
    expect(before?.messages.at(-1)?.toolCalls).toBe(after.messages.at(-1)?.toolCalls);
    expect(before?.messages[0]).toBe(after.messages[0]);
  });

  it("marks each attempt by the one that repeats it", () => {
    const feed = takeOver(feedCrash(), 2, "think-2", "think-3").writeText("The answer", "think-3");
    takeOver(feed, 3, "think-3", "think-4").writeText("Four.", "think-4");
    finish(feed.exit("think-4"), "Four.", "think-4");
    expect(feed.turn.attempt).toBe(3);
    expect(feed.message.mainContent).toBe("Let me calculate. Four.");
    expect(feed.message.parts.map(({ supersededBy }) => supersededBy)).toEqual([
      undefined,
      undefined,
      2,
      2,
      3,
      undefined,
    ]);
  });

  it("hides calls that had not started, and keeps a started one whose outcome is unknown", () => {
    const feed = new ViewFeed().start("Go").enter("a");
    feed.put({ type: "tool_call", call_id: "ran", name: "send", arguments: {} }, { node: "a" });
    feed.put({ type: "tool_start", call_id: "ran", name: "send" }, { node: "a" });
    feed.put({ type: "tool_call_chunk", call_id: "half", name: "search", arguments_delta: '{"q' }, { node: "a" });
    const end = { type: "tool_end", result: "interrupted", is_error: true, error_code: "interrupted" } as const;
    feed.put({ ...end, call_id: "ran", name: "send" }, { node: "a" });
    feed.put({ ...end, call_id: "half", name: "search" }, { node: "a" });
    takeOver(feed, 2, "a", "b");
    expect(feed.message.toolCalls.map(({ toolId, status }) => [toolId, status])).toEqual([["ran", "failed"]]);
    expect(feed.message.parts.map(({ supersededBy }) => supersededBy)).toEqual([undefined, 2]);
    feed.put({ type: "tool_call", call_id: "next", name: "search", arguments: {} }, { node: "b" });
    feed.put({ type: "tool_start", call_id: "next", name: "search" }, { node: "b" });
    expect(feed.message.toolCalls.map(({ toolId, status }) => [toolId, status])).toEqual([
      ["ran", "failed"],
      ["next", "running"],
    ]);
  });

  it("hides a call that was neither started nor ended, once the run has ended", () => {
    const feed = new ViewFeed().start("Go").enter("a");
    feed.put({ type: "tool_call", call_id: "c", name: "send", arguments: {} }, { node: "a" });
    takeOver(feed, 2, "a", "b").writeText("Done", "b");
    expect(feed.message.toolCalls).toHaveLength(1);
    expect(finish(feed.exit("b"), "Done", "b").message.toolCalls).toEqual([]);
    expect(feed.message.parts.map(({ type, supersededBy }) => [type, supersededBy])).toEqual([
      ["tool", 2],
      ["text", undefined],
    ]);
  });

  it("keeps a call that the next attempt executes", () => {
    const feed = new ViewFeed().start("Go").enter("a");
    feed.put({ type: "tool_call", call_id: "c", name: "send", arguments: {} }, { node: "a" });
    feed.put({ type: "tool_approval", call_id: "c", name: "send", arguments: {} }, { node: "a" });
    takeOver(feed, 2, "a", "b");
    expect(feed.call).toMatchObject({ toolId: "c", status: "awaiting_approval" });
    feed.put({ type: "tool_start", call_id: "c", name: "send" }, { node: "b" });
    feed.put({ type: "tool_end", call_id: "c", name: "send", result: "sent", is_error: false }, { node: "b" });
    expect(feed.call).toMatchObject({ toolId: "c", status: "success" });
    expect(feed.message.parts).toMatchObject([{ call: { toolId: "c" } }]);
    expect(feed.message.parts[0]?.supersededBy).toBeUndefined();
  });

  it("supersedes the texts since the last tool call if the sender has no node runs", () => {
    const feed = new ViewFeed().start("Go").writeText("First. ");
    feed.put({ type: "tool_call", call_id: "c", name: "send", arguments: {} });
    feed.put({ type: "tool_end", call_id: "c", name: "send", result: "sent", is_error: false });
    feed.put({ type: "reasoning_chunk", content: "Hm" }).writeText("Half an ans");
    const { recoverable: _unknown, ...bare } = INTERRUPTED;
    feed.put(bare);
    expect(feed.message.mainContent).toBe("First. Half an ans");
    feed.writeText("The answer.");
    expect(feed.turn.attempt).toBe(2);
    expect(feed.message).toMatchObject({ mainContent: "First. The answer.", thinkingContent: "", hasError: false });
    // Decoders of such dialects may count the superseded text as part of the reply.
    finish(feed, "First. Half an ansThe answer.");
    expect(feed.message.mainContent).toBe("First. The answer.");
    expect(feed.outline).toEqual(["text:First. ", "tool", "thinking:Hm", "text:Half an ans", "text:The answer."]);
  });

  it("uses the stage if the dialect has no codes", () => {
    const feed = new ViewFeed().start("Go").writeText("Half");
    feed.put({ type: "error", message: "The process ended", stage: "interrupted" }).writeText("Whole");
    expect(finish(feed, "Whole").message).toMatchObject({ mainContent: "Whole", hasError: false });
  });
});

describe("a run that ends after its process died", () => {
  it("shows the interruption as its error, and keeps the text", () => {
    const feed = feedCrash().put(INTERRUPTED);
    expect(feed.message.hasError).toBe(false);
    feed.put({ type: "node_exit", id: "think", result: { Err: "interrupted" } }, { node: "think-2" });
    feed.put({ type: "run_end", status: "error", code: "interrupted", reason: "The process ended" });
    expect(feed.turn).toMatchObject({ status: "error", code: "interrupted" });
    expect(feed.turn.attempt).toBeUndefined();
    expect(feed.message).toMatchObject({ hasError: true, errorMessage: "The process ended" });
    expect(feed.message.mainContent).toBe("Let me calculate. The ans");
    expect(feed.message.parts.at(-1)).toMatchObject({ type: "error", code: "interrupted" });
  });

  it("shows only too_many_attempts, and keeps the text of the last attempt", () => {
    const feed = takeOver(feedCrash(), 2, "think-2", "think-3").writeText("The", "think-3");
    feed.put({ type: "node_exit", id: "think", result: { Err: "interrupted" } }, { node: "think-3" });
    const failure = { code: "too_many_attempts", message: "Interrupted too often" };
    feed.put({ type: "error", ...failure, recoverable: false });
    feed.put({ type: "run_end", status: "error", code: failure.code, reason: failure.message });
    expect(feed.message.mainContent).toBe("Let me calculate. The");
    expect(feed.message.parts.filter(({ type }) => type === "error")).toMatchObject([{ code: failure.code }]);
  });

  it("shows no interruption if the run is cancelled before it continues", () => {
    const feed = feedCrash().put({ ...INTERRUPTED, attempt: 2 });
    feed.put({ type: "run_end", status: "cancelled" });
    expect(feed.turn).toMatchObject({ status: "cancelled" });
    expect(feed.message).toMatchObject({ hasError: false });
  });
});

describe("many interruptions", () => {
  it.runIf(LONG)("cost linear time", () => {
    const feed = new ViewFeed({ maxItems: 100_000 }).start("Go");
    const start = process.threadCpuUsage();
    for (let i = 0; i < 20_000; i++) {
      feed.put({ type: "data", data_type: "custom", data: {} }).put(INTERRUPTED);
    }
    for (let i = 0; i < 20_000; i++) feed.writeText("x").put(INTERRUPTED);
    expect(feed.writeText("end").message.mainContent).toBe("end");
    // CPU time of this thread, because the wall time depends on the load of the machine.
    const { user } = process.threadCpuUsage(start);
    expect(user / 1000).toBeLessThan(MAX_CPU_MS);
  });
});
