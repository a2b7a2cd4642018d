/**
 * Clients that read a response with server-sent events, one per chunk of the body, up to the state that a page shows.
 * Each returns how many states it made, and the last text.
 */
import type { EventRecord } from "../src/protocol/index.ts";

export interface Received {
  readonly states: number;
  readonly text: string;
}

export type ReceiveFrames = (chunks: readonly Uint8Array[]) => Promise<Received>;

const respond = (chunks: readonly Uint8Array[]): Response => {
  let next = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const chunk = chunks[next++];
      if (chunk === undefined) controller.close();
      else controller.enqueue(chunk.slice());
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
};

/** The same run as frames of a dialect. */
export async function encodeFrames(
  dialect: "ag-ui" | "ai-sdk",
  records: readonly EventRecord[],
): Promise<Uint8Array[]> {
  const { DIALECTS } = await import("../src/dialects/index.ts");
  const { encodeSse } = await import("../src/framing/index.ts");
  const encoder = DIALECTS[dialect].createEncoder();
  const utf8 = new TextEncoder();
  const frames = records.flatMap((record) => encoder.encode(record as Parameters<typeof encoder.encode>[0]));
  if (dialect === "ai-sdk") frames.push("[DONE]");
  return frames.map((data) => utf8.encode(encodeSse({ data })));
}

export const receiveLoom =
  (dialect: "ag-ui" | "ai-sdk"): ReceiveFrames =>
  async (chunks) => {
    const { createReceiver } = await import("../src/client/index.ts");
    const { createSseDecoder, readFrames } = await import("../src/framing/index.ts");
    const receiver = createReceiver({ notify: "sync" });
    const source = receiver.open({ dialect });
    let states = 0;
    receiver.subscribe(() => {
      receiver.getSnapshot();
      states++;
    });
    for await (const frames of readFrames(respond(chunks).body ?? new ReadableStream(), createSseDecoder()))
      for (const frame of frames) if (frame.ok && frame.text !== "[DONE]") source.push(frame.text);
    const [turn] = receiver.getSnapshot().sessions[0]?.turns ?? [];
    return { states, text: JSON.stringify(turn) };
  };

/** Keeps the text of the deltas, in a new state for each. */
export const receivePlainly: ReceiveFrames = async (chunks) => {
  const { createSseDecoder, readFrames } = await import("../src/framing/index.ts");
  let state = { text: "" };
  let states = 0;
  for await (const frames of readFrames(respond(chunks).body ?? new ReadableStream(), createSseDecoder()))
    for (const frame of frames) {
      if (!frame.ok || frame.text === "[DONE]") continue;
      const { delta } = JSON.parse(frame.text) as { readonly delta?: unknown };
      if (typeof delta !== "string") continue;
      state = { text: state.text + delta };
      states++;
    }
  return { states, text: state.text };
};

export const receiveAgUi: ReceiveFrames = async (chunks) => {
  const { HttpAgent } = await import("@ag-ui/client");
  const agent = new HttpAgent({ url: "http://localhost", fetch: () => Promise.resolve(respond(chunks)) });
  agent.addMessage({ id: "u", role: "user", content: "Hello" });
  let states = 0;
  await agent.runAgent({}, { onMessagesChanged: () => void states++ });
  return { states, text: JSON.stringify(agent.messages.at(-1)) };
};

export const receiveTanStack: ReceiveFrames = async (chunks) => {
  const { ChatClient, fetchServerSentEvents } = await import("@tanstack/ai-client");
  const fetchClient = (() => Promise.resolve(respond(chunks))) as typeof fetch;
  let states = 0;
  const client = new ChatClient({
    connection: fetchServerSentEvents("http://localhost", { fetchClient }),
    onMessagesChange: () => states++,
  });
  await client.sendMessage("Hello");
  const text = JSON.stringify(client.getMessages().at(-1));
  client.dispose();
  return { states, text };
};

export const receiveAssistantUi: ReceiveFrames = async (chunks) => {
  const { AssistantMessageAccumulator, UIMessageStreamDecoder } = await import("assistant-stream");
  const body = respond(chunks).body as ReadableStream<Uint8Array<ArrayBuffer>>;
  let states = 0;
  let last: unknown;
  for await (const message of body
    .pipeThrough(new UIMessageStreamDecoder())
    .pipeThrough(new AssistantMessageAccumulator())) {
    states++;
    last = message;
  }
  return { states, text: JSON.stringify(last) };
};

/** The state of the hook `useChat` with its own transport. */
export const receiveUseChat: ReceiveFrames = async (chunks) => {
  const { Chat } = await import("@ai-sdk/react");
  const { DefaultChatTransport } = await import("ai");
  const chat = new Chat({ transport: new DefaultChatTransport({ fetch: () => Promise.resolve(respond(chunks)) }) });
  let states = 0;
  chat["~registerMessagesCallback"](() => void states++);
  await chat.sendMessage({ text: "Hello" });
  return { states, text: JSON.stringify(chat.messages.at(-1)) };
};
