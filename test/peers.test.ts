// The comparison in the README: the same three faults given to our receiver and to the clients of AI SDK, assistant-ui
// and LangGraph. If a newer version of one of them behaves better, the test fails and the table has to change.
import { Client } from "@langchain/langgraph-sdk";
import { AbstractChat, type ChatInit, type ChatState, DefaultChatTransport, type UIMessage } from "ai";
import { AssistantMessageAccumulator, DataStreamDecoder } from "assistant-stream";
import { describe, expect, it } from "vitest";
import { createReceiver } from "../src/client/index.ts";

/** A `fetch` whose response has these lines and then ends cleanly, as a proxy ends a stream it has lost. */
function respondWith(lines: readonly string[]): typeof fetch {
  return () => Promise.resolve(new Response(lines.join(""), { headers: { "content-type": "text/event-stream" } }));
}

async function readAll<T>(source: AsyncIterable<T> | Iterable<T>): Promise<T[]> {
  const values: T[] = [];
  for await (const value of source) values.push(value);
  return values;
}

const toSse = (data: unknown, event = ""): string => `${event}data: ${JSON.stringify(data)}\n\n`;

describe("our receiver", () => {
  const frame = (event_id: number, event: object): string =>
    JSON.stringify({ session_id: "s", run_id: "r", event_id, ts: 0, ...event });
  const start = frame(1, { type: "run_start", run_id: "r", message: "6*7?", contiguous: true });
  const first = frame(2, { type: "message_chunk", content: "It is ", id: "think" });
  const second = frame(3, { type: "message_chunk", content: "42.", id: "think" });
  const end = [frame(4, { type: "run_end", status: "completed" }), frame(5, { reply: "It is 42." })];

  function receive(frames: readonly string[]): readonly (string | undefined)[] {
    const receiver = createReceiver();
    const source = receiver.open();
    for (const text of frames) source.push(text);
    source.end();
    const [session] = receiver.getSnapshot().sessions;
    return [session?.state.status, session?.turns[0]?.messages[1]?.mainContent];
  }

  it("reports a cut stream as truncated", () => {
    expect(receive([start, first])).toEqual(["truncated", "It is "]);
  });

  it("drops a repeated event", () => {
    expect(receive([start, first, first, second, ...end])).toEqual(["complete", "It is 42."]);
  });

  it("accepts an unknown event type", () => {
    const unknown = frame(3, { type: "weather", sky: "blue" });
    const rest = [
      frame(4, { type: "message_chunk", content: "42.", id: "think" }),
      frame(5, { type: "run_end", status: "completed" }),
      frame(6, { reply: "It is 42." }),
    ];
    expect(receive([start, first, unknown, ...rest])).toEqual(["complete", "It is 42."]);
  });
});

class Chat extends AbstractChat<UIMessage> {}

describe("AI SDK", () => {
  const start = [
    { type: "start", messageId: "m" },
    { type: "text-start", id: "1" },
  ];
  const first = { type: "text-delta", id: "1", delta: "It is " };
  const end = [{ type: "text-delta", id: "1", delta: "42." }, { type: "text-end", id: "1" }, { type: "finish" }];

  async function receive(chunks: readonly object[]): Promise<readonly unknown[]> {
    const state: ChatState<UIMessage> = {
      status: "ready",
      error: undefined,
      messages: [],
      pushMessage: (message) => (state.messages = [...state.messages, message]),
      popMessage: () => (state.messages = state.messages.slice(0, -1)),
      replaceMessage: (index, message) => (state.messages = state.messages.with(index, message)),
      snapshot: (value) => structuredClone(value),
    };
    const transport = new DefaultChatTransport({ fetch: respondWith(chunks.map((chunk) => toSse(chunk))) });
    const init: ChatInit<UIMessage> & { state: ChatState<UIMessage> } = { state, transport };
    const chat = new Chat(init);
    await chat.sendMessage({ text: "6*7?" });
    const [part] = chat.lastMessage?.parts ?? [];
    return [chat.status, part?.type === "text" ? part.text : part];
  }

  it("reports a cut stream as ready", async () => {
    expect(await receive([...start, first])).toEqual(["ready", "It is "]);
  });

  it("shows a repeated event twice", async () => {
    expect(await receive([...start, first, first, ...end])).toEqual(["ready", "It is It is 42."]);
  });

  it("fails on an unknown event type", async () => {
    expect(await receive([...start, first, { type: "weather" }, ...end])).toEqual(["error", "It is "]);
  });
});

describe("assistant-ui", () => {
  async function receive(lines: readonly string[]): Promise<readonly unknown[]> {
    const { body } = await respondWith(lines)("http://localhost");
    const messages = body?.pipeThrough(new DataStreamDecoder()).pipeThrough(new AssistantMessageAccumulator());
    const last = (await readAll(messages ?? [])).at(-1);
    const [part] = last?.parts ?? [];
    return [last?.status?.type, part?.type === "text" ? part.text : part];
  }

  it("reports a cut stream as complete", async () => {
    expect(await receive(['0:"It is "\n'])).toEqual(["complete", "It is "]);
  });

  it("shows a repeated event twice", async () => {
    expect(await receive(['0:"It is "\n', '0:"It is "\n', '0:"42."\n'])).toEqual(["complete", "It is It is 42."]);
  });
});

describe("LangGraph SDK", () => {
  it("ends a cut stream without an error", async () => {
    const metadata = toSse({ run_id: "r" }, "event: metadata\n");
    const chunk = toSse([{ id: "m", type: "AIMessageChunk", content: "It is " }, {}], "event: messages\n");
    const callerOptions = { fetch: respondWith([metadata, chunk]), maxRetries: 0 };
    const client = new Client({ apiUrl: "http://127.0.0.1:9", callerOptions });
    const stream = client.runs.stream("thread", "agent", { input: {}, streamMode: ["messages-tuple"] });
    expect((await readAll(stream)).map(({ event }) => event)).toEqual(["metadata", "messages"]);
  });
});
