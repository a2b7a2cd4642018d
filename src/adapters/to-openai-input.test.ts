import type { AgentInputItem } from "@openai/agents";
import OpenAI from "openai";
import type { ChatCompletionMessageParam } from "openai/resources/chat/completions";
import type { ResponseInput } from "openai/resources/responses/responses";
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from "vitest";
import { MemoryLog } from "../log/index.ts";
import type { ModelMessage } from "../models/model.ts";
import { type ProviderServer, startProviderServer } from "../../test/models/provider-server.ts";
import { conversation, ConversationHistory } from "./conversation.ts";
import { fromAsyncIterable } from "./from-async-iterable.ts";
import { record } from "./record.ts";
import type { SourceItem } from "./source.ts";
import type { OpenAIAgentsItem, OpenAIInputItem, OpenAIMessage } from "./to-openai-input.ts";

/** The same call ID in every run, as simple frameworks have it. */
async function* answer(): AsyncGenerator<SourceItem> {
  yield "I look.";
  for (const city of ["Oslo", "Bergen"])
    yield { type: "tool_call", call_id: city, name: "weather", arguments: { city } };
  yield { type: "tool_end", call_id: "Oslo", name: "weather", result: "-3", is_error: false };
  yield { type: "tool_end", call_id: "Bergen", name: "weather", result: "no such city", is_error: true };
  yield "It is cold.";
}

async function recordTwice(): Promise<ConversationHistory> {
  const log = new MemoryLog();
  for (const message of ["How cold is it?", "And now?"])
    await (
      await record(log, { sessionId: "s", message }, fromAsyncIterable(answer))
    ).ended;
  return conversation(log, "s");
}

const ODD: readonly ModelMessage[] = [
  { role: "system", content: "Be brief." },
  {
    role: "user",
    content: [
      { type: "text", text: "See:" },
      { type: "file", mediaType: "image/png", data: new Uint8Array([1, 2]) },
      { type: "file", mediaType: "application/pdf", filename: "a.pdf", data: new Uint8Array([3]) },
      { type: "attachment", blobId: "b", mediaType: "text/plain", bytes: 7, name: "notes" },
    ],
  },
  {
    role: "assistant",
    content: [
      { type: "reasoning", text: "hm" },
      { type: "tool-call", toolCallId: "x".repeat(50), toolName: "my tool!", input: { n: 1 } },
    ],
  },
  {
    role: "tool",
    content: [
      {
        type: "tool-result",
        toolCallId: "x".repeat(50),
        toolName: "my tool!",
        output: { type: "json", value: { ok: true } },
      },
    ],
  },
];

describe("a conversation for OpenAI", () => {
  let server: ProviderServer;
  let client: OpenAI;
  beforeAll(async () => {
    server = await startProviderServer();
    client = new OpenAI({ apiKey: server.key, baseURL: server.url, maxRetries: 0 });
  });
  afterAll(() => server.close());

  it("has the types of the packages", () => {
    expectTypeOf<OpenAIInputItem[]>().toExtend<ResponseInput>();
    expectTypeOf<OpenAIMessage[]>().toExtend<ChatCompletionMessageParam[]>();
    expectTypeOf<OpenAIAgentsItem[]>().toExtend<AgentInputItem[]>();
  });

  it("is accepted as input of the Responses API, with a unique ID per call", async () => {
    const input = (await recordTwice()).toOpenAIInput();
    server.script = [{ text: "Ok." }];
    for await (const event of await client.responses.create({ model: "gpt-5", input, stream: true }))
      if (event.type === "response.output_text.delta") expect(event.delta).toBe("Ok.");
    expect(input.slice(0, 6)).toEqual([
      { role: "user", content: [{ type: "input_text", text: "How cold is it?" }] },
      { role: "assistant", content: "I look." },
      { type: "function_call", call_id: "Oslo", name: "weather", arguments: '{"city":"Oslo"}' },
      { type: "function_call", call_id: "Bergen", name: "weather", arguments: '{"city":"Bergen"}' },
      { type: "function_call_output", call_id: "Oslo", output: "-3" },
      { type: "function_call_output", call_id: "Bergen", output: "no such city" },
    ]);
    const ids = input.flatMap((item) => ("type" in item && item.type === "function_call" ? [item.call_id] : []));
    expect(new Set(ids).size).toBe(4);
  });

  it("is accepted as messages of the chat completions API", async () => {
    const messages = (await recordTwice()).toOpenAIMessages();
    server.script = [{ text: "Ok." }];
    await client.chat.completions.create({ model: "gpt-5", messages, stream: true });
    const turn = ["user", "assistant", "tool", "tool", "assistant"];
    expect(messages.map(({ role }) => role)).toEqual([...turn, ...turn]);
  });

  it("includes files, describes stored ones, and repairs names and IDs", () => {
    const history = new ConversationHistory(ODD);
    const described = 'The user attached the file "notes" (text/plain, 7 bytes).';
    expect(history.toOpenAIInput()).toEqual([
      { role: "system", content: "Be brief." },
      {
        role: "user",
        content: [
          { type: "input_text", text: "See:" },
          { type: "input_image", image_url: "data:image/png;base64,AQI=", detail: "auto" },
          { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,Aw==" },
          { type: "input_text", text: described },
        ],
      },
      { type: "function_call", call_id: "call_1", name: "my_tool_", arguments: '{"n":1}' },
      { type: "function_call_output", call_id: "call_1", output: '{"ok":true}' },
    ]);
    expect(history.toOpenAIMessages()[2]).toEqual({
      role: "assistant",
      content: null,
      tool_calls: [{ id: "call_1", type: "function", function: { name: "my_tool_", arguments: '{"n":1}' } }],
    });
    expect(history.toOpenAIAgentsInput()[3]).toEqual({
      type: "function_call_result",
      callId: "call_1",
      name: "my_tool_",
      output: '{"ok":true}',
      status: "completed",
    });
  });
});
