import { describe, expect, it } from "vitest";
import { MessageStreamHandler } from "./message-stream-handler.ts";
import type { MessageState } from "./view.ts";

function createRequest(request_id = "req-1") {
  let sequence = 0;
  return (type: string, data: object): { type: string; data: object; metadata: object } => ({
    type,
    data,
    metadata: { request_id, timestamp: 1000 + sequence, sequence: sequence++ },
  });
}

describe("MessageStreamHandler", () => {
  it("provides every field of 003 §3.1", () => {
    const event = createRequest();
    const handler = new MessageStreamHandler();
    expect(handler.message).toMatchObject({ role: "assistant", mainContent: "", isStreaming: true });
    for (const each of [
      event("session_start", { session_id: "s", request_id: "req-1" }),
      event("thinking", { content: "Let me see", stage: "planning" }),
      event("tool_call_start", { tool_id: "t", tool_name: "add", description: "Adds", arguments: { a: 1 } }),
      event("tool_call_progress", { tool_id: "t", progress: 50, message: "half" }),
      event("tool_call_end", { tool_id: "t", status: "success", result: { sum: 3 } }),
      event("data", { data_type: "dataframe", data: { name: "n", columns: [], rows: [] } }),
      event("content", { content: "It is ", format: "markdown" }),
      event("content", { content: "3.", is_complete: true }),
      event("error", { error_type: "timeout", message: "slow", recoverable: true }),
    ])
      handler.handleEvent(each);
    expect(handler.message).toMatchObject({
      messageId: "req-1:assistant",
      role: "assistant",
      thinkingContent: "Let me see",
      mainContent: "It is 3.",
      toolCalls: [{ toolId: "t", toolName: "add", status: "success", progress: 50, result: { data: { sum: 3 } } }],
      dataBlocks: [{ dataType: "dataframe", data: { name: "n", columns: [], rows: [] } }],
      isStreaming: true,
      hasError: true,
      errorMessage: "slow",
      metadata: { requestId: "req-1", startTime: 1000 },
    });
    handler.handleEvent(event("session_end", { status: "completed" }));
    handler.end();
    expect(handler.message).toMatchObject({ isStreaming: false, metadata: { endTime: 1009 } });
    expect(handler.state).toEqual({ status: "complete", verified: true, undetectable: [] });
  });

  it("accepts JSON text, and the old types of 003 §6", () => {
    const handler = new MessageStreamHandler();
    handler.handleEvent('{"type":"token","content":"Hel"}');
    handler.handleEvent({ type: "token", data: { content: "lo" } });
    handler.handleEvent({ type: "final_answer", content: "Hello!" });
    handler.handleEvent({ type: "done" });
    handler.end();
    expect(handler.message.mainContent).toBe("Hello!");
    expect(handler.state).toMatchObject({ status: "complete", verified: false });
  });

  it("calls back only when the message or its state changes", () => {
    const event = createRequest();
    const calls: [string, string][] = [];
    const handler = new MessageStreamHandler((message, { status }) => calls.push([message.mainContent, status]), {
      notify: "sync",
    });
    const start = event("session_start", { session_id: "s", request_id: "req-1" });
    const content = event("content", { content: "Hi" });
    for (const each of [start, content, content, start]) handler.handleEvent(each);
    handler.end();
    expect(calls).toEqual([
      ["", "live"],
      ["Hi", "live"],
      ["Hi", "truncated"],
    ]);
  });

  it("shows the latest request", () => {
    const [first, second] = [createRequest("a"), createRequest("b")];
    const seen: MessageState[] = [];
    const handler = new MessageStreamHandler((message) => seen.push(message), { notify: "sync" });
    handler.handleEvent(first("session_start", { session_id: "s", request_id: "a" }));
    handler.handleEvent(first("session_end", { status: "completed" }));
    handler.handleEvent(second("session_start", { session_id: "s", request_id: "b" }));
    expect(seen.at(-1)?.messageId).toBe("b:assistant");
  });

  it("receives other dialects", () => {
    const handler = new MessageStreamHandler(undefined, { dialect: "lumine" });
    const frame = { id: "", role: "assistant", session_id: "s", conversation_id: null };
    handler.handleEvent({ ...frame, type: "session_id" });
    handler.handleEvent({ ...frame, type: "chunk", content: "Hi" });
    expect(handler.message.mainContent).toBe("Hi");
  });
});
