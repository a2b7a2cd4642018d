// Types of frames: what a dialect can send compiles, and a wrong type or payload does not.
import { describe, expect, it } from "vitest";
import type { DialectFrames } from "./index.ts";
import type { EngineFrame } from "./engine/frames.generated.ts";
import type { LoomFrame } from "./dialect-frames.ts";
import type { LumineFrame } from "./lumine/frames.generated.ts";
import type { StreamEventFrame } from "./stream-event/frames.generated.ts";

const metadata = { request_id: "r", timestamp: 1, sequence: 1 };
const base = {
  id: "1",
  role: "assistant",
  session_id: "s",
  conversation_id: null,
  tool_use_id: null,
  toolName: null,
  args: null,
  result: null,
  error: null,
} as const;

describe("frame types", () => {
  it("accept frames of their dialect", () => {
    const engine: EngineFrame = { type: "thinking", data: { content: "x", stage: "planning" }, metadata };
    const lumine: LumineFrame = { ...base, type: "reasoning", content: "x", status: "done" };
    const event: StreamEventFrame = { type: "text_delta", ts: 1, source: "stream", content: "x" };
    const loom: readonly LoomFrame[] = [
      { type: "message_chunk", content: "x", id: "think", session_id: "s", node_id: "run-think-1", event_id: 2 },
      { type: "got_expand", node_id: "a", nodes_added: 1, edges_added: 0, span_node_id: "run-plan-1" },
      { reply: "x", session_id: "s", event_id: 3 },
    ];
    const legacy: DialectFrames["engine"] = { type: "token", data: "x" };
    expect([engine, lumine, event, ...loom, legacy]).toHaveLength(7);
  });

  it("are distinguished by type", () => {
    const read = (frame: LoomFrame): string => {
      if (frame.type === undefined) return frame.reply;
      return frame.type === "message_chunk" ? frame.content : frame.type;
    };
    expect([read({ reply: "a" }), read({ type: "message_chunk", content: "b", id: "n" })]).toEqual(["a", "b"]);
  });

  it("reject wrong types and payloads", () => {
    // @ts-expect-error an unknown type
    const engine: EngineFrame = { type: "thoughts", data: { content: "x" }, metadata };
    // @ts-expect-error the status of another type
    const lumine: LumineFrame = { ...base, type: "reasoning", content: "x", status: "running" };
    // @ts-expect-error the field of another type
    const event: StreamEventFrame = { type: "text_delta", ts: 1, source: "stream", input: "x" };
    // @ts-expect-error a missing field
    const chunk: LoomFrame = { type: "message_chunk", content: "x" };
    // @ts-expect-error a reply has no type of an event
    const reply: LoomFrame = { type: "replies", reply: "x" };
    expect([engine, lumine, event, chunk, reply]).toHaveLength(5);
  });
});
