// What `LoomChatTransport` adds to a transport of the AI SDK: stop, history, refusals, and the types of messages.
import { useChat } from "@ai-sdk/react";
import type { UIMessage } from "ai";
import { describe, expect, expectTypeOf, it, vi } from "vitest";
import { type LoomChatTransportOptions, LoomChatTransport, type LoomUIMessage } from "../../src/ai-sdk/index.ts";
import { startChatServer } from "./chat-fixture.ts";

const QUESTION: LoomUIMessage = { id: "u1", role: "user", parts: [{ type: "text", text: "Hi" }] };

async function send(options: LoomChatTransportOptions, abortSignal?: AbortSignal) {
  const transport = new LoomChatTransport(options);
  const stream = await transport.sendMessages({
    trigger: "submit-message",
    chatId: "c",
    messageId: undefined,
    messages: [QUESTION],
    abortSignal,
  });
  return { transport, reader: stream.getReader() };
}

const STALLED = [{ text: "Never ends", fault: { kind: "stall", after: 1 } }] as const;

describe("LoomChatTransport", () => {
  it("cancels the run, and the stream ends", async () => {
    const { api, log } = await startChatServer(STALLED);
    const { transport, reader } = await send({ api });
    await reader.read();
    await transport.stop("c");
    const types: string[] = [];
    for (let read = await reader.read(); !read.done; read = await reader.read()) types.push(read.value.type);
    expect(types.slice(-2)).toEqual(["abort", "finish"]);
    expect((await log.listRuns("c"))[0]?.status).toBe("cancelled");
    expect((await transport.loadMessages("c")).map(({ role }) => role)).toEqual(["user", "assistant"]);
  });

  it.each([true, false])("cancels the run when it is aborted only if requested: %s", async (cancelsOnAbort) => {
    const { api, log } = await startChatServer(STALLED);
    const stop = new AbortController();
    const { reader } = await send({ api, cancelsOnAbort }, stop.signal);
    await reader.read();
    stop.abort();
    await expect(reader.read().then(() => reader.read())).rejects.toThrow(/abort/i);
    if (cancelsOnAbort)
      await vi.waitFor(async () => expect((await log.listRuns("c"))[0]?.status).toBe("cancelled"), { timeout: 20_000 });
    else expect((await log.listRuns("c"))[0]?.status).toBe("live");
  });

  it("rejects with the server's reason, and does not repeat such a request", async () => {
    const { api } = await startChatServer([]);
    const requests: unknown[] = [];
    const counted: typeof fetch = (...request) => {
      requests.push(request);
      return fetch(...request);
    };
    await expect(send({ api, agent: "unknown", fetch: counted })).rejects.toThrow(/agent/i);
    expect(requests).toHaveLength(1);
  });

  it("repeats a request that does not reach the server", async () => {
    const { api, log } = await startChatServer([{ text: "Hello." }]);
    let failures = 2;
    const flaky: typeof fetch = (...request) =>
      failures-- > 0 ? Promise.reject(new TypeError("fetch failed")) : fetch(...request);
    const { reader } = await send({ api, fetch: flaky });
    expect((await reader.read()).value?.type).toBe("start");
    await reader.cancel();
    expect(await log.listRuns("c")).toHaveLength(1);
  });
});

describe("LoomUIMessage", () => {
  it("fits useChat and knows the data parts", () => {
    expectTypeOf<LoomUIMessage>().toExtend<UIMessage>();
    expectTypeOf(useChat<LoomUIMessage>).returns.toHaveProperty("messages");
    type TodoPart = Extract<LoomUIMessage["parts"][number], { type: "data-loom-todo-list" }>;
    expectTypeOf<TodoPart["data"]["items"][number]["completed"]>().toEqualTypeOf<boolean>();
    type WaitingPart = Extract<LoomUIMessage["parts"][number], { type: "data-loom-waiting" }>;
    expectTypeOf<WaitingPart["data"]["call_ids"]>().toEqualTypeOf<readonly string[]>();
  });
});
