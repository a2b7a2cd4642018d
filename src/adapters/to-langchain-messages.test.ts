import { type BaseMessageLike, coerceMessageLikeToMessage } from "@langchain/core/messages";
import { describe, expect, expectTypeOf, it } from "vitest";
import { MemoryLog } from "../log/index.ts";
import type { ModelMessage } from "../models/model.ts";
import { conversation, ConversationHistory } from "./conversation.ts";
import { fromLangGraph } from "./from-langgraph.ts";
import { createScriptedAgent } from "../../test/contracts/play-script.ts";
import { record } from "./record.ts";
import type { LangChainMessage } from "./to-langchain-messages.ts";

const CALL = { toolCallId: "c1", toolName: "weather" };
const MESSAGES: readonly ModelMessage[] = [
  { role: "system", content: "Be brief." },
  {
    role: "user",
    content: [
      { type: "text", text: "How cold is it?" },
      { type: "attachment", blobId: "b", mediaType: "image/png", bytes: 3, name: "sky.png" },
    ],
  },
  {
    role: "assistant",
    content: [
      { type: "reasoning", text: "Hm." },
      { type: "text", text: "I look." },
      { type: "tool-call", ...CALL, input: { city: "Oslo" } },
      { type: "tool-call", toolCallId: "c2", toolName: "weather", input: {} },
    ],
  },
  {
    role: "tool",
    content: [
      { type: "tool-result", ...CALL, output: { type: "text", value: "-3" } },
      { type: "tool-result", ...CALL, toolCallId: "c2", output: { type: "error-text", value: "no city" } },
    ],
  },
  { role: "assistant", content: [{ type: "text", text: "Cold." }] },
];

describe("toLangChainMessages", () => {
  it("has messages that LangChain accepts", () => {
    expectTypeOf<LangChainMessage>().toExtend<BaseMessageLike>();
  });

  it("converts every kind of message, and LangChain reads all of it", () => {
    const read = new ConversationHistory(MESSAGES).toLangChainMessages().map(coerceMessageLikeToMessage);
    expect(read.map(({ type }) => type)).toEqual(["system", "human", "ai", "tool", "tool", "ai"]);
    expect(read).toMatchObject([
      { content: "Be brief." },
      { content: 'How cold is it?\n\nThe user attached the file "sky.png" (image/png, 3 bytes).' },
      {
        content: "I look.",
        tool_calls: [
          { id: "c1", name: "weather", args: { city: "Oslo" } },
          { id: "c2", name: "weather", args: {} },
        ],
      },
      { content: "-3", tool_call_id: "c1", name: "weather", status: "success" },
      { content: "no city", tool_call_id: "c2", status: "error" },
      { content: "Cold.", tool_calls: [] },
    ]);
  });

  it("gives a recorded run back as the input of the next turn", async () => {
    const log = new MemoryLog();
    const turns = [{ text: ["I look."], cities: ["Oslo"] }, { text: ["It is cold."] }];
    const request = { sessionId: "s", message: "How cold is it?" };
    const first = await record(log, request, fromLangGraph(createScriptedAgent({ turns }), { messages: ["Hi"] }));
    await first.ended;
    const messages = (await conversation(log, "s")).toLangChainMessages();
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
    const graph = createScriptedAgent({ turns: [{ text: ["Still cold."] }] });
    const config = { configurable: { thread_id: "1" } };
    const { messages: all } = await graph.invoke({ messages: [...messages, "And now?"] }, config);
    expect(all.map(({ type }) => type)).toEqual(["human", "ai", "tool", "ai", "human", "ai"]);
  });
});
