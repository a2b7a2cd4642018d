import { getEventListeners } from "node:events";
import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { LoomError } from "../protocol/index.ts";
import { callModel } from "./call-model.ts";
import type { LanguageModel } from "./model.ts";
import { FINISH, modelOf, read, request } from "../../test/contracts/play-parts.ts";
import { recordListener } from "../../test/contracts/record-listener.ts";
import { ScriptedModel } from "./scripted-model.ts";
import type { StreamPart } from "./stream-part.ts";

afterEach(() => {
  vi.useRealTimers();
});

describe("the answer", () => {
  it("keeps provider metadata of starts, deltas and ends", async () => {
    const { result } = await read([
      { type: "reasoning-start", id: "r", providerMetadata: { anthropic: { redactedData: "x" } } },
      { type: "reasoning-delta", id: "r", delta: "Hm" },
      { type: "reasoning-delta", id: "r", delta: "", providerMetadata: { anthropic: { signature: "s" } } },
      { type: "reasoning-end", id: "r", providerMetadata: { openai: { itemId: "rs", nothing: undefined } } },
      { type: "text-delta", id: "t", delta: "Yes" },
      { type: "text-end", id: "t", providerMetadata: { openai: { itemId: "msg" } } },
      {
        type: "tool-call",
        toolCallId: "c",
        toolName: "f",
        input: "{}",
        providerMetadata: { openai: { itemId: "fc" } },
      },
      FINISH,
    ]);
    expect(result.content).toEqual([
      {
        type: "reasoning",
        text: "Hm",
        providerOptions: { anthropic: { redactedData: "x", signature: "s" }, openai: { itemId: "rs" } },
      },
      { type: "text", text: "Yes", providerOptions: { openai: { itemId: "msg" } } },
      {
        type: "tool-call",
        toolCallId: "c",
        toolName: "f",
        input: {},
        providerOptions: { openai: { itemId: "fc" } },
      },
    ]);
  });

  it("drops blank texts and empty reasoning", async () => {
    const { result } = await read([
      { type: "text-delta", id: "1", delta: " \n" },
      { type: "reasoning-start", id: "2" },
      { type: "reasoning-end", id: "2" },
      { type: "reasoning-start", id: "3", providerMetadata: { openai: { encrypted: "e" } } },
      FINISH,
    ]);
    expect(result.text).toBe(" \n");
    expect(result.content).toEqual([{ type: "reasoning", text: "", providerOptions: { openai: { encrypted: "e" } } }]);
  });

  it("separates blocks that reuse an id", async () => {
    const { result } = await read([
      { type: "text-start", id: "0" },
      { type: "text-delta", id: "0", delta: "a" },
      { type: "text-end", id: "0" },
      { type: "tool-call", toolCallId: "c", toolName: "f", input: "{}" },
      { type: "text-start", id: "0" },
      { type: "text-delta", id: "0", delta: "b" },
      FINISH,
    ]);
    expect(result.content.map(({ type }) => type)).toEqual(["text", "tool-call", "text"]);
    expect(result.text).toBe("ab");
  });

  it.each([
    [
      "v2",
      { finishReason: "tool-calls", usage: { inputTokens: 3, outputTokens: 4, totalTokens: 9, cachedInputTokens: 2 } },
      9,
    ],
    [
      "v3",
      {
        finishReason: { unified: "stop" },
        usage: { inputTokens: { total: 3, cacheRead: 2 }, outputTokens: { total: 4 } },
      },
      7,
    ],
  ])("reads the finish part of %s", async (_version, finish, totalTokens) => {
    const call = { type: "tool-call", toolCallId: "c", toolName: "f", input: "{}" };
    const { result } = await read([call, { type: "finish", ...finish }]);
    expect(result.finishReason).toBe("tool_calls");
    expect(result.usage).toEqual({ promptTokens: 3, completionTokens: 4, totalTokens, cachedTokens: 2 });
  });

  it.each(["constructor", "toString", undefined, null, { unified: Object.create(null) as unknown }])(
    'maps an unknown finish reason to "other": %o',
    async (finishReason) => {
      const { result } = await read([{ type: "finish", finishReason }]);
      expect(result.finishReason).toBe("other");
    },
  );

  it("ends open reasoning before other output", async () => {
    const reasoning = { type: "reasoning-delta", id: "r", delta: "Hm" };
    const call = { type: "tool-call", toolCallId: "c", toolName: "f", input: "{}" };
    for (const next of [{ type: "text-delta", id: "t", delta: "Yes" }, call, FINISH]) {
      const { recorded } = await read([reasoning, next, FINISH]);
      expect(recorded.slice(1, 3)).toEqual([["reasoning", "Hm"], ["reasoningEnd"]]);
    }
  });

  it("stays complete if the connection breaks after the finish part", async () => {
    let sent = false;
    const stream = new ReadableStream({
      pull(controller) {
        if (sent) controller.error(new Error("reset"));
        else controller.enqueue(FINISH);
        sent = true;
      },
    });
    const model: LanguageModel = { ...modelOf([]), doStream: async () => ({ stream }) };
    expect(await callModel(model, request, recordListener().listener)).toMatchObject({ finishReason: "stop" });
  });

  it("reports the model that answered", async () => {
    const { result } = await read([{ type: "response-metadata", modelId: "m-2025" }, FINISH]);
    expect(result.modelId).toBe("m-2025");
  });

  it("rejects models of specification v1", async () => {
    const old = { ...modelOf([]), specificationVersion: "v1" };
    await expect(callModel(old, request, recordListener().listener)).rejects.toMatchObject({ code: "unknown_model" });
  });
});

describe("tool calls", () => {
  it("are reported when they come without deltas", async () => {
    const { recorded } = await read([{ type: "tool-call", toolCallId: "c", toolName: "f", input: '{"a":1}' }, FINISH]);
    const call = { callId: "c", name: "f", index: 0, input: { a: 1 }, rawInput: '{"a":1}' };
    expect(recorded).toEqual([
      ["start", 0],
      ["call", call],
    ]);
  });

  it("are completed from their deltas if their end is missing", async () => {
    const { result, recorded } = await read([
      { type: "tool-input-start", id: "c", toolName: "f" },
      { type: "tool-input-delta", id: "c", delta: '{"a":' },
      { type: "tool-input-delta", id: "c", delta: "1}" },
      FINISH,
    ]);
    expect(result.calls).toMatchObject([{ callId: "c", input: { a: 1 } }]);
    expect(recorded.at(-1)).toEqual(["call", result.calls[0]]);
    expect(result.finishReason).toBe("tool_calls");
  });

  it("get ids if they have none", async () => {
    const start = { type: "tool-input-start", id: "", toolName: "f" };
    const whole = { type: "tool-call", toolCallId: "", toolName: "f", input: "" };
    const { result } = await read([start, whole, start, whole, { ...whole, toolCallId: undefined }, FINISH]);
    expect(new Set(result.calls.map(({ callId }) => callId)).size).toBe(3);
    for (const { callId, input } of result.calls) {
      expect(callId).toMatch(/^[a-zA-Z0-9_-]{5,40}$/);
      expect(input).toEqual({});
    }
  });

  it("of the provider's own tools are ignored", async () => {
    const { result, recorded } = await read([
      { type: "tool-input-start", id: "s", toolName: "web_search", providerExecuted: true },
      { type: "tool-input-delta", id: "s", delta: "{}" },
      { type: "tool-input-end", id: "s" },
      { type: "tool-call", toolCallId: "s", toolName: "web_search", input: "{}", providerExecuted: true },
      { type: "tool-result", toolCallId: "s", toolName: "web_search", result: [] },
      { type: "source", url: "http://x" },
      { type: "text-delta", id: "0", delta: "Found" },
      { type: "finish", finishReason: "tool-calls" },
    ]);
    expect(result).toMatchObject({ calls: [], text: "Found", finishReason: "stop" });
    expect(recorded.map(([what]) => what)).toEqual(["start", "text"]);
  });

  it("with non-JSON deltas are reported only when complete", async () => {
    const { recorded } = await read([
      { type: "tool-input-start", id: "c", toolName: "f", inputEncoding: "text" },
      { type: "tool-input-delta", id: "c", delta: "raw" },
      { type: "tool-call", toolCallId: "c", toolName: "f", input: '"raw"' },
      FINISH,
    ]);
    expect(recorded.slice(1)).toEqual([["call", expect.objectContaining({ input: undefined, rawInput: '"raw"' })]]);
  });

  it("nested too deeply for the log have no input", async () => {
    const input = `{"a":${"[".repeat(400)}${"]".repeat(400)}}`;
    const { result } = await read([{ type: "tool-call", toolCallId: "c", toolName: "f", input }, FINISH]);
    expect(result.calls[0]?.input).toBeUndefined();
  });
});

describe("any stream", () => {
  const id = fc.constantFrom("0", "1", "");
  const delta = fc.string({ maxLength: 3 });
  const part: fc.Arbitrary<StreamPart> = fc.oneof(
    fc.record({ type: fc.constantFrom("text-start", "text-end", "reasoning-start", "reasoning-end"), id }),
    fc.record({ type: fc.constantFrom("text-delta", "reasoning-delta", "tool-input-delta"), id, delta }),
    fc.record({ type: fc.constant("tool-input-start"), id, toolName: fc.constantFrom("f", "g") }),
    fc.record({ type: fc.constant("tool-call"), toolCallId: id, toolName: fc.constantFrom("f", "g"), input: delta }),
    fc.record({ type: fc.constantFrom("raw", "source", "stream-start", "of-tomorrow") }),
  );

  it("reports and collects the same output", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 40 }), async (parts) => {
        const { recorded, result } = await read([...parts, FINISH]);
        const join = (what: string): string =>
          recorded.flatMap(([kind, text]) => (kind === what ? [text as string] : [])).join("");
        const all = (type: string): string =>
          parts.flatMap((one) => (one.type === type ? [one.delta as string] : [])).join("");
        expect(result.text).toBe(join("text"));
        expect(result.text).toBe(all("text-delta"));
        expect(join("reasoning")).toBe(all("reasoning-delta"));
        const calls = recorded.flatMap(([kind, call]) =>
          kind === "call" ? [call as { readonly callId: string }] : [],
        );
        expect(calls.toSorted((a, b) => (a.callId < b.callId ? -1 : 1))).toEqual(
          result.calls.toSorted((a, b) => (a.callId < b.callId ? -1 : 1)),
        );
        expect(new Set(calls.map(({ callId }) => callId)).size).toBe(calls.length);
        expect(calls.length).toBeGreaterThanOrEqual(parts.filter(({ type }) => type === "tool-input-start").length);
        expect(result.content.filter(({ type }) => type === "tool-call")).toHaveLength(calls.length);
        expect(JSON.parse(JSON.stringify(result.content))).toEqual(result.content);
      }),
    );
  });

  it("that is cut anywhere fails, and the reported text is a prefix", async () => {
    const parts: unknown[] = [
      { type: "text-start", id: "0" },
      ...Array.from("stream", (delta) => ({ type: "text-delta", id: "0", delta })),
      { type: "text-end", id: "0" },
      { type: "tool-input-start", id: "c", toolName: "f" },
      { type: "tool-input-delta", id: "c", delta: "{}" },
    ];
    for (let length = 0; length <= parts.length; length++) {
      const { recorded, listener } = recordListener();
      const call = callModel(modelOf(parts.slice(0, length)), request, listener, { maxRetries: 0 });
      await expect(call).rejects.toMatchObject({ code: "model_stream_cut" });
      expect(recorded.some(([what]) => what === "call")).toBe(false);
    }
  });
});

describe("failures", () => {
  it("are retried with growing delays if they are temporary and nothing was reported", async () => {
    vi.useFakeTimers();
    const random = vi.spyOn(Math, "random").mockReturnValue(1);
    const error = Object.assign(new Error("busy"), { statusCode: 503 });
    const fault = { kind: "throw", error } as const;
    const model = new ScriptedModel([{ fault }, { fault }, { fault }, { text: "at last" }]);
    const starts: number[] = [];
    const { listener } = recordListener({ onStart: () => void starts.push(Date.now()) });
    const call = callModel(model, request, listener, { retryMs: 100 });
    await vi.runAllTimersAsync();
    expect((await call).text).toBe("at last");
    expect(starts.map((time) => time - starts[0]!)).toEqual([0, 100, 300, 700]);
    random.mockRestore();
  });

  it("are not retried after output was reported", async () => {
    const error = Object.assign(new Error("reset"), { isRetryable: true });
    const model = new ScriptedModel([
      { text: "Half an answer", fault: { kind: "error", after: 1, error } },
      { text: "x" },
    ]);
    const { recorded, listener } = recordListener();
    await expect(callModel(model, request, listener)).rejects.toMatchObject({ code: "model_failed" });
    expect(recorded).toEqual([
      ["start", 0],
      ["text", "Half"],
    ]);
  });

  it("with a LoomError keep its code", async () => {
    const error = new LoomError("missing_key", "no key");
    const model = new ScriptedModel([{ fault: { kind: "throw", error } }]);
    await expect(callModel(model, request, recordListener().listener)).rejects.toBe(error);
  });

  it.each([["a text"], [{ message: "an object" }], [undefined], [null]])(
    "that throw %j have a message",
    async (error) => {
      const model = new ScriptedModel([{ fault: { kind: "break", error } }]);
      const call = callModel(model, request, recordListener().listener, { maxRetries: 0 });
      await expect(call).rejects.toMatchObject({
        code: "model_stream_cut",
        message: expect.stringContaining(": ") as string,
      });
    },
  );

  it("in malformed parts end the call", async () => {
    for (const part of [
      { type: "text-delta", id: "0" },
      { type: "text-delta", id: "0", delta: 7 },
    ]) {
      await expect(read([part, FINISH])).rejects.toMatchObject({ code: "model_stream_cut" });
    }
    await expect(read([{ type: "finish", finishReason: "error" }])).rejects.toMatchObject({ code: "model_failed" });
  });
});

describe("time limits", () => {
  it("stop a model that ignores its signal, and discard its late stream", async () => {
    vi.useFakeTimers();
    let answer: (result: { stream: ReadableStream }) => void = () => undefined;
    const asked = new Promise<{ stream: ReadableStream }>((resolve) => (answer = resolve));
    const model: LanguageModel = { ...modelOf([]), doStream: () => asked };
    const call = callModel(model, request, recordListener().listener, { connectTimeoutMs: 500 });
    const outcome = call.catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(500);
    expect(await outcome).toMatchObject({ code: "model_timeout" });
    const cancelled = vi.fn();
    answer({ stream: new ReadableStream({ cancel: cancelled }) });
    await vi.runAllTimersAsync();
    expect(cancelled).toHaveBeenCalledOnce();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("do not count the time of the listener", async () => {
    vi.useFakeTimers();
    let release = (): void => undefined;
    const { recorded, listener } = recordListener({
      onText: () => new Promise<void>((resolve) => (release = resolve)),
    });
    const model = new ScriptedModel([{ text: "ab", chunk: 1 }]);
    const call = callModel(model, request, listener, { idleTimeoutMs: 80 });
    for (const count of [1, 2]) {
      await vi.advanceTimersByTimeAsync(1000);
      expect(recorded.filter(([what]) => what === "text")).toHaveLength(count);
      release();
    }
    expect((await call).text).toBe("ab");
  });

  it("do not wait for the listener after a cancel", async () => {
    const abort = new AbortController();
    const { listener } = recordListener({
      onText: () => {
        abort.abort();
        return new Promise<void>(() => undefined);
      },
    });
    const call = callModel(new ScriptedModel([{ text: "ab" }]), request, listener, { signal: abort.signal });
    await expect(call).rejects.toMatchObject({ code: "cancelled" });
  });

  it("allow only a moment between the finish part and the end of the stream", async () => {
    vi.useFakeTimers();
    const cancel = vi.fn();
    const stream = new ReadableStream({
      start(controller) {
        controller.enqueue({ type: "text-delta", id: "0", delta: "whole" });
        controller.enqueue(FINISH);
      },
      cancel,
    });
    const model: LanguageModel = { ...modelOf([]), doStream: async () => ({ stream }) };
    const call = callModel(model, request, recordListener().listener);
    await vi.advanceTimersByTimeAsync(1000);
    expect((await call).text).toBe("whole");
    expect(cancel).toHaveBeenCalledOnce();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("accept Infinity", async () => {
    const options = { connectTimeoutMs: Infinity, idleTimeoutMs: Infinity };
    const call = callModel(new ScriptedModel([{ text: "ab" }]), request, recordListener().listener, options);
    expect((await call).text).toBe("ab");
  });
});

describe("cancelling", () => {
  it("rejects with the caller's reason if it is a LoomError", async () => {
    const abort = new AbortController();
    const reason = new LoomError("run_ended", "over");
    const model = new ScriptedModel([{ text: "never", fault: { kind: "stall" } }]);
    const call = callModel(model, request, recordListener().listener, { signal: abort.signal });
    abort.abort(reason);
    await expect(call).rejects.toBe(reason);
  });

  it.each(["cancel", "listener", "time"])("reaches the provider through the signal and the stream: %s", async (how) => {
    const abort = new AbortController();
    const cancelled = vi.fn();
    let signal: AbortSignal | undefined;
    const stream = new ReadableStream({
      start: (controller) => controller.enqueue({ type: "text-delta", id: "0", delta: "a" }),
      cancel: cancelled,
    });
    const model: LanguageModel = {
      ...modelOf([]),
      doStream: async (options: { readonly abortSignal: AbortSignal }) => {
        signal = options.abortSignal;
        return { stream };
      },
    };
    const { listener } = recordListener({
      onText: () => {
        if (how === "cancel") abort.abort();
        if (how === "listener") throw new Error("enough");
      },
    });
    const options = { signal: abort.signal, ...(how === "time" ? { idleTimeoutMs: 16 } : {}) };
    await expect(callModel(model, request, listener, options)).rejects.toThrow(/enough|cancelled|sent nothing/);
    expect(signal?.aborted).toBe(true);
    expect(cancelled).toHaveBeenCalledOnce();
  });

  it("leaves nothing behind when many calls share the signal", async () => {
    const { signal } = new AbortController();
    const model = new ScriptedModel(() => ({ text: "ok" }), { maxRequests: 1 });
    for (let n = 0; n < 10_000; n++) await callModel(model, request, recordListener().listener, { signal });
    expect(getEventListeners(signal, "abort")).toEqual([]);
    expect(model.requests).toHaveLength(1);
  });
});
