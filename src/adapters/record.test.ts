import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createSseDecoder } from "../framing/index.ts";
import { MemoryLog } from "../log/index.ts";
import type { JsonObject } from "../protocol/index.ts";
import { conversation } from "./conversation.ts";
import { fromAsyncIterable } from "./from-async-iterable.ts";
import { record } from "./record.ts";
import type { SourceItem } from "./source.ts";

const REQUEST = { sessionId: "chat-7", message: "How cold is it?" };

async function readTexts(response: Response): Promise<string[]> {
  const decoder = createSseDecoder();
  const texts: string[] = [];
  for await (const bytes of response.body ?? [])
    for (const outcome of decoder.push(bytes)) if (outcome.ok) texts.push(outcome.text);
  return texts;
}

describe("record", () => {
  it("records text and events, and streams them to the end", async () => {
    const log = new MemoryLog();
    const source = fromAsyncIterable(async function* (): AsyncGenerator<SourceItem> {
      yield { type: "node_enter", id: "step", node: "1" };
      yield { type: "reasoning_chunk", content: "hmm", node: "1" };
      yield { type: "tool_call", call_id: "c1", name: "weather", arguments: { city: "Oslo" }, node: "1" };
      await setTimeout(5);
      yield { type: "tool_end", call_id: "c1", name: "weather", result: "-3", is_error: false, node: "1" };
      yield { type: "node_exit", node: "1" };
      yield "It is ";
      yield "cold.";
    });
    const run = await record(log, REQUEST, source);
    const texts = await readTexts(run.toResponse());
    const types = texts.map((text) => (JSON.parse(text) as { type?: string }).type);
    expect(types).toEqual([
      "run_start",
      "node_enter",
      "reasoning_chunk",
      "tool_call",
      "tool_start",
      "tool_end",
      "node_exit",
      "node_enter",
      "message_chunk",
      "message_chunk",
      "node_exit",
      "run_end",
      undefined,
    ]);
    expect(texts.at(-1)).toContain('"reply":"It is cold."');
    await expect(run.ended).resolves.toMatchObject({ status: "completed" });
    const { messages } = await conversation(log, "chat-7");
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
  });

  it("names the log that is missing", async () => {
    const source = fromAsyncIterable(["Hello"]);
    await expect(record({} as never, { sessionId: "s", message: "Hi" }, source)).rejects.toMatchObject({
      code: "invalid_arguments",
      message: expect.stringContaining("openSqliteLog") as string,
    });
  });

  it("gives calls with a repeated ID a new one", async () => {
    const log = new MemoryLog();
    const source = fromAsyncIterable(async function* (): AsyncGenerator<SourceItem> {
      for (const result of ["-3", "-4"]) {
        yield { type: "tool_call_chunk", call_id: "0", name: "weather", arguments_delta: "{}" };
        yield { type: "tool_call", call_id: "0", name: "weather", arguments: {} };
        yield { type: "tool_end", call_id: "0", name: "weather", result, is_error: false };
      }
    });
    const run = await record(log, REQUEST, source);
    await expect(run.ended).resolves.toMatchObject({ status: "completed" });
    const { messages } = await conversation(log, "chat-7");
    expect(messages.filter(({ role }) => role === "tool")).toMatchObject([
      { content: [{ toolCallId: "0", output: { value: "-3" } }] },
      { content: [{ output: { value: "-4" } }] },
    ]);
  });

  it("records custom data, states and foreign frames outside the node runs", async () => {
    const log = new MemoryLog();
    const source = fromAsyncIterable([
      { type: "custom", value: 1 },
      { type: "foreign", dialect: "x", frame: {} },
      { type: "values", state: {} },
    ]);
    await (
      await record(log, REQUEST, source)
    ).ended;
    const { records } = await log.read("chat-7", { after: 0 });
    const types = records.map(({ event }) => event.type);
    expect(types).toEqual(["run_start", "custom", "foreign", "values", "run_end", "reply"]);
  });

  it("aborts the source when the run is cancelled, even if it hangs", async () => {
    const log = new MemoryLog();
    let reason: unknown;
    const source = fromAsyncIterable(async function* ({ signal }) {
      yield "Wait";
      signal.addEventListener("abort", () => {
        reason = signal.reason;
      });
      await new Promise(() => undefined);
    });
    const run = await record(log, REQUEST, source);
    run.cancel("enough");
    await expect(run.ended).resolves.toMatchObject({ status: "cancelled", reason: "enough" });
    expect(reason).toMatchObject({ code: "cancelled" });
  });

  it("keeps the process of a serverless platform alive until the run has ended", async () => {
    const kept: Promise<unknown>[] = [];
    const context = { get: () => ({ waitUntil: (work: Promise<unknown>) => void kept.push(work) }) };
    const name = Symbol.for("@vercel/request-context");
    const platform = globalThis as { [name: symbol]: unknown };
    platform[name] = context;
    try {
      const run = await record(new MemoryLog(), REQUEST, fromAsyncIterable(["Hi"]));
      expect(kept).toHaveLength(1);
      await kept[0];
      await expect(run.ended).resolves.toMatchObject({ status: "completed" });
    } finally {
      delete platform[name];
    }
  });

  it.each([
    [
      "throws",
      async function* (): AsyncGenerator<SourceItem> {
        yield "Hm";
        throw new Error("secret");
      },
      "run_failed",
    ],
    [
      "hangs",
      async function* (): AsyncGenerator<SourceItem> {
        yield "Hm";
        await new Promise(() => undefined);
      },
      "source_timeout",
    ],
  ] as const)("fails the run when the source %s", async (_what, items, code) => {
    const log = new MemoryLog();
    const run = await record(log, { ...REQUEST, maxIdleMs: 50, onError: () => undefined }, fromAsyncIterable(items));
    await expect(run.ended).resolves.toMatchObject({ status: "error", code });
    expect((await readTexts(run.toResponse())).join("")).not.toContain("secret");
  });

  it("records what is too large for an event as left out, and goes on", async () => {
    const log = new MemoryLog();
    const big = "x".repeat(2 * 1024 * 1024);
    const source = fromAsyncIterable(async function* (): AsyncGenerator<SourceItem> {
      yield { type: "custom", value: { big } };
      yield { type: "tool_call", call_id: "c1", name: "read", arguments: { big } };
      yield { type: "tool_end", call_id: "c1", name: "read", result: big, is_error: false };
      yield "Done.";
    });
    const run = await record(log, REQUEST, source);
    await expect(run.ended).resolves.toMatchObject({ status: "completed" });
    const texts = (await readTexts(run.toResponse())).map((text) => JSON.parse(text) as JsonObject);
    expect(texts.filter(({ type }) => type === "foreign").map(({ frame }) => frame)).toMatchObject([
      { type: "left_out", event: "custom", bytes: expect.any(Number) as number },
      { type: "left_out", event: "tool_call", call_id: "c1", name: "read" },
      { type: "left_out", event: "tool_end", call_id: "c1", is_error: false },
    ]);
    expect(texts.find(({ type }) => type === "tool_end")?.["result"]).toMatch(/^2097\d+ bytes were left out/);
  });

  it("refuses an unknown dialect or framing before there is a response", async () => {
    const run = await record(new MemoryLog(), REQUEST, fromAsyncIterable(["Hi"]));
    const wrong = expect.objectContaining({ code: "invalid_arguments" }) as Error;
    expect(() => run.toResponse({ dialect: "aisdk" as never })).toThrow(wrong);
    expect(() => run.toResponse({ framing: "json" as never })).toThrow(wrong);
  });
});
