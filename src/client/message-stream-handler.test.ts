import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { DIALECT_NAMES, DIALECTS, type DialectName } from "../dialects/index.ts";
import type { LoomEvent } from "../protocol/index.ts";
import { MessageStreamHandler, type SSEEvent } from "./message-stream-handler.ts";
import type { MessageState } from "./view.ts";

function createRequest(request_id = "req-1", sequence = 0) {
  let next = sequence;
  return <T extends SSEEvent["type"]>(type: T, data: Extract<SSEEvent, { type: T }>["data"]): SSEEvent =>
    ({ type, data, metadata: { request_id, timestamp: 1000 + next, sequence: next++ } }) as unknown as SSEEvent;
}

/** A run whose process died while it wrote its answer, with the node run of each event. */
const RESTARTED: readonly (readonly [event: LoomEvent, nodeId?: string])[] = [
  [{ type: "run_start", run_id: "r", message: "6*7?", agent: "react" }],
  [{ type: "node_enter", id: "think" }, "a"],
  [{ type: "message_chunk", content: "Let me see. ", id: "think" }, "a"],
  [{ type: "tool_call", call_id: "c", name: "calculator", arguments: { expression: "6*7" } }, "a"],
  [{ type: "node_exit", id: "think", result: "Ok" }, "a"],
  [{ type: "node_enter", id: "act" }, "b"],
  [{ type: "tool_start", call_id: "c", name: "calculator" }, "b"],
  [{ type: "tool_end", call_id: "c", name: "calculator", result: "42", is_error: false }, "b"],
  [{ type: "node_exit", id: "act", result: "Ok" }, "b"],
  [{ type: "node_enter", id: "think" }, "d"],
  [{ type: "message_chunk", content: "It i", id: "think" }, "d"],
  [{ type: "node_exit", id: "think", result: { Err: "interrupted" } }, "d"],
  [
    {
      type: "error",
      message: "The process ended",
      code: "interrupted",
      stage: "interrupted",
      recoverable: true,
      attempt: 2,
    },
  ],
  [{ type: "node_enter", id: "think", supersedes: "d", attempt: 2 }, "e"],
  [{ type: "message_chunk", content: "It is ", id: "think" }, "e"],
  [{ type: "message_chunk", content: "42.", id: "think" }, "e"],
  [{ type: "node_exit", id: "think", result: "Ok" }, "e"],
  [{ type: "run_end", status: "completed" }],
  [{ type: "reply", reply: "It is 42." }, "e"],
];

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

  function readRestarted(dialect: DialectName): MessageStreamHandler {
    const handler = new MessageStreamHandler(undefined, { dialect });
    const encoder = DIALECTS[dialect].createEncoder();
    for (const [i, [event, node_id]] of RESTARTED.entries()) {
      const stamp = { session_id: "s", run_id: "r", event_id: i + 1, ts: 1000 + i };
      const envelope = node_id === undefined ? stamp : { ...stamp, node_id };
      for (const frame of encoder.encode({ envelope, event })) handler.handleEvent(frame);
    }
    handler.end();
    return handler;
  }

  // A chat chunk cannot take back text, so its last chunk has the reply.
  it("shows only the reply of a restarted run in openai-chat", () => {
    const { message, state } = readRestarted("openai-chat");
    expect([message.mainContent, message.hasError, state.status]).toEqual(["It is 42.", false, "complete"]);
  });

  const marking = DIALECT_NAMES.filter((dialect) => dialect !== "openai-chat");
  it.each(marking)("shows only the final answer of a restarted run in %s", (dialect) => {
    const handler = readRestarted(dialect);
    const { mainContent, hasError, toolCalls, parts } = handler.message;
    expect([mainContent, hasError]).toEqual(["Let me see. It is 42.", false]);
    expect(toolCalls).toMatchObject([{ toolId: "c", status: "success" }]);
    const old = parts.filter(({ supersededBy }) => supersededBy !== undefined);
    expect(old).toMatchObject([{ type: "text", text: "It i", supersededBy: 2 }]);
    expect(handler.state.status).toBe("complete");
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
    handler.handleEvent(JSON.stringify({ ...frame, type: "session_id" }));
    handler.handleEvent(JSON.stringify({ ...frame, type: "chunk", content: "Hi" }));
    expect(handler.message.mainContent).toBe("Hi");
  });

  it("has the current message after handleEvent, before the callback is called", () => {
    const event = createRequest();
    const onChange = vi.fn<(message: MessageState) => void>();
    const handler = new MessageStreamHandler(onChange, { notify: { everyMs: 60_000 } });
    handler.handleEvent(event("session_start", { session_id: "s", request_id: "req-1" }));
    for (const [content, whole] of [
      ["One", "One"],
      [" two", "One two"],
    ] as const) {
      handler.handleEvent(event("content", { content }));
      expect(handler.message.mainContent).toBe(whole);
    }
    expect(onChange).not.toHaveBeenCalled();
    handler.end();
    expect(onChange.mock.calls.at(-1)?.[0].mainContent).toBe("One two");
  });

  it("shows what it has at session_end although an event is missing, and says so", () => {
    const event = createRequest();
    const handler = new MessageStreamHandler();
    handler.handleEvent(event("session_start", { session_id: "s", request_id: "req-1" }));
    event("content", { content: "lost" });
    handler.handleEvent(event("content", { content: "kept" }));
    expect(handler.message.mainContent).toBe("");
    handler.handleEvent(event("session_end", { status: "completed" }));
    expect(handler.message).toMatchObject({ mainContent: "kept", isStreaming: false });
    expect(handler.state).toMatchObject({ status: "gap", reason: { code: "frames_missing" }, verified: false });
    handler.end();
    expect(handler.state).toMatchObject({ status: "gap" });
  });

  it("puts events that arrive after session_end in their place", () => {
    const event = createRequest();
    const handler = new MessageStreamHandler();
    const start = event("session_start", { session_id: "s", request_id: "req-1" });
    const [one, two, three, four] = ["1", "2", "3", "4"].map((content) => event("content", { content })) as [
      SSEEvent,
      SSEEvent,
      SSEEvent,
      SSEEvent,
    ];
    for (const each of [start, two, four, event("session_end", { status: "completed" })]) handler.handleEvent(each);
    expect(handler.message).toMatchObject({ mainContent: "24", isStreaming: false });
    handler.handleEvent(three);
    expect([handler.message.mainContent, handler.state.status]).toEqual(["234", "gap"]);
    handler.handleEvent(one);
    expect(handler.message).toMatchObject({ mainContent: "1234", isStreaming: false });
    expect(handler.state).toEqual({ status: "complete", verified: true, undetectable: [] });
  });

  it("shows the same message for any order of arrival", () => {
    const event = createRequest();
    const sent = [
      event("session_start", { session_id: "s", request_id: "req-1" }),
      ...["1", "2", "3", "4", "5"].map((content) => event("content", { content })),
      event("session_end", { status: "completed" }),
    ];
    const orders = fc.shuffledSubarray(sent, { minLength: sent.length });
    fc.assert(
      fc.property(orders, (order) => {
        const handler = new MessageStreamHandler();
        for (const each of order) handler.handleEvent(each);
        handler.end();
        expect(handler.message).toMatchObject({ mainContent: "12345", isStreaming: false });
        expect(handler.state).toMatchObject({ status: "complete", verified: true });
      }),
    );
  });

  it("waits for a missing event for gapMs, 2 s by default", () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    for (const [options, waits] of [
      [{}, 2000],
      [{ gapMs: 50 }, 50],
    ] as const) {
      const event = createRequest();
      const seen: string[] = [];
      const handler = new MessageStreamHandler(({ mainContent }) => seen.push(mainContent), {
        ...options,
        notify: "sync",
      });
      handler.handleEvent(event("session_start", { session_id: "s", request_id: "req-1" }));
      const late = event("content", { content: "One" });
      handler.handleEvent(event("content", { content: " two" }));
      vi.advanceTimersByTime(waits - 1);
      handler.handleEvent(late);
      expect(handler.message.mainContent).toBe("One two");
      expect([handler.state.status, vi.getTimerCount()]).toEqual(["live", 0]);
      event("content", { content: " lost" });
      handler.handleEvent(event("content", { content: " three" }));
      vi.advanceTimersByTime(waits - 1);
      expect(handler.message.mainContent).toBe("One two");
      vi.advanceTimersByTime(1);
      expect(seen.at(-1)).toBe("One two three");
      expect(handler.state).toMatchObject({ status: "gap", reason: { code: "frames_missing" } });
      handler.handleEvent(event("content", { content: " four" }));
      expect(handler.message.mainContent).toBe("One two three four");
      handler.end();
      expect(vi.getTimerCount()).toBe(0);
    }
  });

  it("shows a stream that it joins in the middle, and all of it if the start arrives later", () => {
    const event = createRequest();
    const start = event("session_start", { session_id: "s", request_id: "req-1" });
    const first = event("content", { content: "One" });
    const handler = new MessageStreamHandler();
    handler.handleEvent(event("content", { content: " two" }));
    expect(handler.message.mainContent).toBe(" two");
    handler.handleEvent(event("content", { content: " three" }));
    expect(handler.message).toMatchObject({ mainContent: " two three", isStreaming: true });
    expect(handler.state).toMatchObject({ status: "gap", reason: { code: "frames_missing" } });
    handler.handleEvent(first);
    handler.handleEvent(start);
    expect(handler.message.mainContent).toBe("One two three");
    handler.handleEvent(event("session_end", { status: "completed" }));
    expect(handler.state).toEqual({ status: "complete", verified: true, undetectable: [] });
    handler.end();
  });

  it("joins in the middle and stays incomplete to the end, with more events than it may hold", () => {
    const event = createRequest("req-1", 7);
    const handler = new MessageStreamHandler(undefined, { limits: { maxHeldFrames: 2 } });
    for (const content of ["a", "b", "c", "d"]) handler.handleEvent(event("content", { content }));
    handler.handleEvent(event("session_end", { status: "completed" }));
    handler.end();
    expect(handler.message).toMatchObject({ mainContent: "abcd", isStreaming: false });
    expect(handler.state).toMatchObject({ status: "gap", verified: false });
  });

  it("has no error if only a tool failed and the run went on", () => {
    const event = createRequest();
    const handler = new MessageStreamHandler();
    handler.handleEvent(event("session_start", { session_id: "s", request_id: "req-1" }));
    handler.handleEvent(event("tool_call_start", { tool_id: "t", tool_name: "add", arguments: {} }));
    handler.handleEvent(event("tool_call_end", { tool_id: "t", status: "failed", error: { message: "no" } }));
    const failure = { error_type: "execution", message: "no", recoverable: true, stage: "tool_execute" } as const;
    handler.handleEvent(event("error", failure));
    expect(handler.message).toMatchObject({ hasError: false, toolCalls: [{ status: "failed" }] });
    expect(handler.message).not.toHaveProperty("errorMessage");
    handler.handleEvent(event("error", { error_type: "execution", message: "model failed", stage: "llm_stream" }));
    expect(handler.message).toMatchObject({ hasError: true, errorMessage: "model failed" });
  });

  it("has no error if a tool failed and a sender of 003 reports that as recoverable", () => {
    const event = createRequest();
    const handler = new MessageStreamHandler();
    handler.handleEvent(event("session_start", { session_id: "s", request_id: "req-1" }));
    handler.handleEvent(event("tool_call_start", { tool_id: "t", tool_name: "add", description: "", arguments: {} }));
    const error = { message: "db refused", code: "DB" };
    handler.handleEvent(event("tool_call_end", { tool_id: "t", status: "failed", error }));
    handler.handleEvent(event("error", { error_type: "execution", message: "db refused", recoverable: true }));
    handler.handleEvent(event("session_end", { status: "completed" }));
    expect(handler.message).toMatchObject({ hasError: false, toolCalls: [{ status: "failed" }] });
  });

  it("accepts old types whose data is a text", () => {
    const handler = new MessageStreamHandler();
    handler.handleEvent({ type: "token", data: "Hel" });
    handler.handleEvent({ type: "token", data: "lo" });
    handler.handleEvent('{"type":"thinking","data":"Greeting"}');
    expect(handler.message).toMatchObject({ mainContent: "Hello", thinkingContent: "Greeting" });
    handler.handleEvent({ type: "final_answer", data: "Hello!" });
    handler.handleEvent({ type: "done" });
    handler.end();
    expect(handler.message.mainContent).toBe("Hello!");
  });

  it("does not compile with a wrong type or payload", () => {
    const metadata = { request_id: "r", timestamp: 1, sequence: 1 };
    const handler = new MessageStreamHandler();
    const wrong: readonly (() => void)[] = [
      // @ts-expect-error an unknown type
      () => handler.handleEvent({ type: "contents", data: { content: "x" }, metadata }),
      // @ts-expect-error the payload of another type
      () => handler.handleEvent({ type: "content", data: { tool_id: "t", progress: 1 }, metadata }),
      // @ts-expect-error a field of the wrong type
      () => handler.handleEvent({ type: "content", data: { content: 7 }, metadata }),
      // @ts-expect-error no metadata
      () => handler.handleEvent({ type: "content", data: { content: "x" } }),
    ];
    expect(wrong).toHaveLength(4);
  });
});
