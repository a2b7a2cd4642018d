// A turn: messages, its end, and everything that is not a message.
import { describe, expect, it } from "vitest";
import { ViewFeed } from "../../../test/view-feed.ts";

describe("a turn", () => {
  it("begins with the user's message and an empty one of the assistant", () => {
    const made = new ViewFeed().put({ type: "run_start", run_id: "r", message: "hi", agent: "react", request_id: "q" });
    const metadata = { requestId: "q", startTime: 10 };
    const empty = { thinkingContent: "", toolCalls: [], dataBlocks: [], hasError: false, metadata };
    expect(made.turn).toEqual({
      key: "r",
      runId: "r",
      requestId: "q",
      agent: "react",
      status: "running",
      startedAt: 10,
      verified: true,
      isPartial: false,
      messages: [
        {
          ...empty,
          messageId: "r:user",
          role: "user",
          mainContent: "hi",
          isStreaming: false,
          parts: [{ type: "text", key: "1", text: "hi", format: "markdown", isComplete: true }],
        },
        { ...empty, messageId: "r:assistant", role: "assistant", mainContent: "", isStreaming: true, parts: [] },
      ],
      nodes: [],
      usage: { promptTokens: 0, completionTokens: 0, totalTokens: 0 },
      modelCalls: [],
      checkpoints: [],
      compressions: [],
      others: [],
      omitted: 0,
    });
  });

  it("has the attachments of the user's message, also without text", () => {
    const attachments = [{ blob_id: "b", media_type: "image/png", bytes: 3 }];
    const { messages } = new ViewFeed().put({ type: "run_start", run_id: "r", attachments }).turn;
    expect(messages).toMatchObject([{ role: "user", mainContent: "", attachments, parts: [] }, { role: "assistant" }]);
  });

  it("has no user message if there was none", () => {
    expect(new ViewFeed().start().turn.messages).toMatchObject([{ role: "assistant", metadata: { requestId: "r" } }]);
    const bare = new ViewFeed().start("hi", { run: null, ts: null });
    expect(bare.message.metadata).toEqual({ requestId: "#1", startTime: 0 });
  });

  it("is completed by its reply, not by the preceding run_end", () => {
    const made = new ViewFeed().start("hi").writeText("a");
    made.put({ type: "run_end", status: "completed", summary: { duration_ms: 5 } });
    expect([made.turn.status, made.message.isStreaming, made.fold.liveRuns]).toEqual(["running", true, 1]);
    made.reply("a");
    expect(made.turn).toMatchObject({ status: "completed", endedAt: 40, durationMs: 5 });
    expect(made.message).toMatchObject({ isStreaming: false, metadata: { startTime: 10, endTime: 40 } });
    expect(made.fold.liveRuns).toBe(0);
  });

  it.each(["error", "cancelled"] as const)("ends with run_end if its status is %s", (status) => {
    const made = new ViewFeed().start("hi").enter("a").writeText("half", "a");
    made.put({ type: "llm_start", llm_call_id: "l" }, { node: "a" });
    made.put({ type: "run_end", status, reason: "because", code: "cancelled" });
    expect(made.turn).toMatchObject({ status, reason: "because", code: "cancelled", endedAt: 50, durationMs: 40 });
    expect(made.turn.nodes).toMatchObject([{ status: "interrupted" }]);
    expect(made.turn.modelCalls).toMatchObject([{ status: "interrupted" }]);
    expect(made.message).toMatchObject({ hasError: status === "error", parts: [{ text: "half", isComplete: true }] });
    expect(made.message.errorMessage).toBe(status === "error" ? "because" : undefined);
  });

  it("sums its usage, and uses the summary if there is none", () => {
    const usage = { type: "usage", prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } as const;
    const summary = { total_tokens: 50, prompt_tokens: 20 };
    const reported = new ViewFeed()
      .start()
      .put(usage)
      .put(usage)
      .put({ type: "run_end", status: "cancelled", summary });
    expect(reported.turn.usage).toEqual({ promptTokens: 2, completionTokens: 4, totalTokens: 6 });
    const silent = new ViewFeed().start().put({ type: "run_end", status: "cancelled", summary });
    expect(silent.turn.usage).toEqual({ promptTokens: 20, completionTokens: 0, totalTokens: 50 });
  });

  it("shows model calls", () => {
    const made = new ViewFeed().start();
    made.put({ type: "llm_start", llm_call_id: "1", model: "m", attempt: 0 }, { ts: 100 });
    made.put({ type: "llm_start", llm_call_id: "2" }, { ts: 100 });
    made.put({ type: "llm_end", llm_call_id: "1", finish_reason: "stop" }, { ts: 130 });
    made.put({ type: "llm_end", llm_call_id: "2", error: "e", model: "n", duration_ms: 7 });
    made.put({ type: "llm_end", llm_call_id: "3" });
    expect(made.turn.modelCalls).toEqual([
      { id: "1", model: "m", attempt: 0, status: "ok", finishReason: "stop", startedAt: 100, durationMs: 30 },
      { id: "2", model: "n", status: "failed", error: "e", startedAt: 100, durationMs: 7 },
      { id: "3", status: "ok" },
    ]);
  });

  it("keeps the latest state, checkpoints without state, compressions and unknown events", () => {
    const made = new ViewFeed()
      .start()
      .put({ type: "values", state: { n: 1 } })
      .put({ type: "values", state: { n: 2 } });
    made.put({ type: "checkpoint", checkpoint_id: "c", timestamp: "t", step: 0, state: { big: 1 } });
    made.put({ type: "checkpoint", checkpoint_id: "d", timestamp: "t", step: 1, state: 0, checkpoint_ns: "sub" });
    made.put({ type: "compression_applied", before_tokens: 9, after_tokens: 3 });
    made.put({ type: "custom", value: 1 }).put({ type: "foreign", dialect: "d", frame: {} }).put({ type: "x_new" });
    expect(made.turn).toMatchObject({
      values: { n: 2 },
      checkpoints: [
        { id: "c", step: 0, ns: "", timestamp: "t" },
        { id: "d", step: 1, ns: "sub", timestamp: "t" },
      ],
      compressions: [{ beforeTokens: 9, afterTokens: 3 }],
      others: [{ type: "custom" }, { type: "foreign" }, { type: "x_new" }],
    });
    expect(made.turn.checkpoints[0]).not.toHaveProperty("state");
  });
});
