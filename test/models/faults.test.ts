// What the real provider packages make of a provider that fails, and what `callModel` makes of that.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { inspect } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { callModel, type ModelCallOptions, type ModelRequest, resolveModel } from "../../src/models/index.ts";
import { answerCalls, CONTRACT_TOOLS } from "../../src/models/model.contract.ts";
import { recordListener, type Told } from "../../src/models/record-listener.contract.ts";
import { isLoomError, type LoomError } from "../../src/protocol/index.ts";
import type { ServerTurn } from "./provider-server.ts";
import { openProviderStage, PROVIDER_WIRES, type ProviderStage } from "./provider-stages.ts";

const TEXT = "Once upon a time there was a stream that broke.";
const request: ModelRequest = { messages: [{ role: "user", content: [{ type: "text", text: "Tell me" }] }] };
/** Every frame in the long suite. */
const STEP = process.env["LOOM_LONG"] === "1" ? 1 : 9;
const quick = { retryMs: 1 } as const;

const textOf = (told: readonly Told[]): string =>
  told
    .filter(([what]) => what === "text")
    .map(([, delta]) => delta as string)
    .join("");
const triesOf = (told: readonly Told[]): number => told.filter(([what]) => what === "start").length;

describe.each(PROVIDER_WIRES)("$name", (wire) => {
  let stage: ProviderStage;
  beforeAll(async () => {
    stage = await openProviderStage(wire);
  });
  beforeEach(() => {
    stage.server.requests.length = 0;
  });
  afterAll(() => stage.close());

  async function fail(
    options: ModelCallOptions,
    ...turns: readonly ServerTurn[]
  ): Promise<{ readonly error: LoomError; readonly told: readonly Told[] }> {
    stage.play(...turns);
    const { told, listener } = recordListener();
    const error: unknown = await callModel(stage.model, request, listener, { ...quick, ...options }).catch(
      (thrown: unknown) => thrown,
    );
    if (!isLoomError(error)) throw new Error("expected a LoomError", { cause: error });
    expect(error.message).not.toMatch(/\n|\bat .*:\d+/);
    return { error, told };
  }

  async function succeed(...turns: readonly ServerTurn[]) {
    stage.play(...turns);
    const { told, listener } = recordListener();
    const result = await callModel(stage.model, { ...request, tools: CONTRACT_TOOLS }, listener, quick);
    return { result, told };
  }

  test("a connection that breaks in the middle of a token", async () => {
    const { error, told } = await fail({}, { text: TEXT, fault: { kind: "cut", after: 7 } });
    expect(error.code).toBe("model_stream_cut");
    expect(TEXT.startsWith(textOf(told))).toBe(true);
    expect(textOf(told)).not.toBe("");
    expect(triesOf(told)).toBe(1);
  });

  test("a stream that ends properly, but too early", async () => {
    const { error, told } = await fail({}, { text: TEXT, fault: { kind: "end", after: 7 } });
    expect(error.code).toBe("model_stream_cut");
    expect(triesOf(told)).toBe(1);
  });

  test("a frame that is no JSON, after some text", async () => {
    const { error, told } = await fail({}, { text: TEXT, fault: { kind: "malformed", after: 7 } });
    expect(error).toMatchObject({ code: "model_stream_cut" });
    expect(textOf(told)).not.toBe("");
  });

  test("an error in the stream, after some text", async () => {
    const { error, told } = await fail({}, { text: TEXT, fault: { kind: "error", after: 7, message: "lost my mind" } });
    expect(error.code).toBe("model_failed");
    expect(error.message).toContain("lost my mind");
    expect(error.details).toMatchObject({ provider: stage.model.provider, model: stage.model.modelId });
    expect(triesOf(told)).toBe(1);
  });

  test.each(["cut", "end"] as const)(
    "a stream that breaks before anything was told (%s) is tried again",
    async (kind) => {
      const { result, told } = await succeed({ text: TEXT, fault: { kind, after: 1 } }, { text: TEXT });
      expect(result.text).toBe(TEXT);
      expect(textOf(told)).toBe(TEXT);
      expect(told.filter(([what]) => what === "start")).toEqual([
        ["start", 0],
        ["start", 1],
      ]);
    },
  );

  test("an error in place of a stream is tried again where the provider says that it may pass", async () => {
    if (wire.name === "openai-compatible") return;
    const fault = { kind: "error", after: 0, message: "overloaded" } as const;
    const { result } = await succeed({ fault }, { text: TEXT });
    expect(result.text).toBe(TEXT);
  });

  test.each(["cut", "end", "malformed", "error"] as const)("a stream that breaks anywhere: %s", async (kind) => {
    const turn = {
      reasoning: "Hm.",
      text: TEXT,
      calls: [{ name: "current_time" }, { name: "calculator", input: "{}" }],
    };
    for (let after = 0; ; after += STEP) {
      stage.play({ ...turn, fault: { kind, after } });
      const { told, listener } = recordListener();
      const outcome = await callModel(stage.model, request, listener, { maxRetries: 0 }).catch(
        (error: unknown) => error,
      );
      expect(TEXT.startsWith(textOf(told))).toBe(true);
      // What ends without an error is whole.
      if (!isLoomError(outcome)) expect(outcome).toMatchObject({ text: TEXT, calls: [{}, {}] });
      else expect(outcome.code).toMatch(/^model_(stream_cut|failed)$/);
      if (stage.server.requests.at(-1)!.frames < after) break;
    }
  });

  test("an empty stream, again and again", async () => {
    const fault = { kind: "end", after: 0 } as const;
    const { error, told } = await fail({ maxRetries: 2 }, { fault }, { fault }, { fault });
    expect(error).toMatchObject({ code: "model_stream_cut", details: { attempts: 3 } });
    expect(triesOf(told)).toBe(3);
  });

  test.each([
    ["retry-after-ms", "30", 30],
    ["retry-after", "0.03", 30],
  ])("429 with %s, then success", async (name, value, ms) => {
    const since = performance.now();
    const fault = { kind: "status", status: 429, headers: { [name]: value } } as const;
    const { result, told } = await succeed({ fault }, { text: TEXT });
    expect(performance.now() - since).toBeGreaterThanOrEqual(ms - 1);
    expect(result.text).toBe(TEXT);
    expect(triesOf(told)).toBe(2);
  });

  test("429 that asks to wait longer than allowed", async () => {
    const fault = { kind: "status", status: 429, message: "slow down", headers: { "retry-after": "3600" } } as const;
    const { error, told } = await fail({ maxRetryMs: 1000 }, { fault });
    expect(error).toMatchObject({ code: "model_failed", details: { status: 429, retry_after_ms: 3_600_000 } });
    expect(triesOf(told)).toBe(1);
  });

  test.each([500, 503, 529, 408, 409])("%i until the tries are used up", async (status) => {
    const fault = { kind: "status", status, message: "out of order" } as const;
    const { error } = await fail({ maxRetries: 2 }, { fault }, { fault }, { fault }, { text: TEXT });
    expect(error).toMatchObject({ code: "model_failed", details: { status, attempts: 3 } });
    expect(error.message).toContain("out of order");
    expect(stage.server.requests).toHaveLength(3);
  });

  test.each([400, 403, 404, 422])("%i is not tried again", async (status) => {
    const { error } = await fail({}, { fault: { kind: "status", status, message: "you are wrong" } });
    expect(error).toMatchObject({ code: "model_failed", details: { status } });
    expect(stage.server.requests).toHaveLength(1);
  });

  test("a stall in the middle runs out of time, and closes the connection", async () => {
    const { error } = await fail({ idleTimeoutMs: 60 }, { text: TEXT, fault: { kind: "stall", after: 7 } });
    expect(error).toMatchObject({ code: "model_timeout" });
    await stage.server.requests[0]?.closed;
  });

  test("no answer at all runs out of time, and closes the connection", async () => {
    const { error, told } = await fail({ connectTimeoutMs: 60 }, { fault: { kind: "silent" } });
    expect(error).toMatchObject({ code: "model_timeout" });
    expect(triesOf(told)).toBe(1);
    await stage.server.requests[0]?.closed;
  });

  test.each([
    ["before the answer", { fault: { kind: "silent" } }],
    ["before the first token", { text: TEXT, fault: { kind: "stall", after: 1 } }],
    ["in the middle", { text: TEXT, fault: { kind: "stall", after: 7 } }],
  ] as const)("a cancel %s closes the connection", async (_when, turn) => {
    const abort = new AbortController();
    stage.play(turn);
    const stuck = stage.server.waitUntilStuck();
    const call = callModel(stage.model, request, recordListener().listener, { signal: abort.signal });
    void stuck.then(() => setTimeout(() => abort.abort(), 5));
    await expect(call).rejects.toMatchObject({ code: "cancelled" });
    await (
      await stuck
    ).closed;
    expect(stage.server.requests).toHaveLength(1);
  });

  test("a listener that throws closes the connection", async () => {
    stage.play({ text: TEXT, fault: { kind: "stall", after: 7 } });
    const { listener } = recordListener({
      onText: () => {
        throw new RangeError("enough");
      },
    });
    await expect(callModel(stage.model, request, listener)).rejects.toThrow(RangeError);
    await stage.server.requests[0]?.closed;
  });

  test("a cancel while it waits for the next try", async () => {
    const abort = new AbortController();
    stage.server.script = () => {
      setTimeout(() => abort.abort(), 20);
      return { fault: { kind: "status", status: 503 } };
    };
    const { listener } = recordListener();
    const call = callModel(stage.model, request, listener, { signal: abort.signal, retryMs: 60_000 });
    await expect(call).rejects.toMatchObject({ code: "cancelled" });
    expect(stage.server.requests).toHaveLength(1);
  });

  test("an answer without end is stopped, and closes the connection", async () => {
    const { error, told } = await fail(
      { maxOutputCharacters: 20_000 },
      { text: "x".repeat(1000), repeat: 100_000, chunk: 1000 },
    );
    expect(error.code).toBe("model_output_too_large");
    expect(textOf(told).length).toBeLessThanOrEqual(20_000);
    await stage.server.requests[0]?.closed;
  });

  test("more calls than allowed", async () => {
    const calls = Array.from({ length: 5 }, () => ({ name: "current_time" }));
    const { error } = await fail({ maxToolCalls: 4 }, { calls });
    expect(error.code).toBe("model_output_too_large");
  });

  test("arguments in deltas of one byte, of parallel calls in turns", async () => {
    const calls = ["1+1", "2+2", "3+3"].map((expression) => ({ name: "calculator", input: { expression } }));
    const { result, told } = await succeed({ calls, chunk: 1, interleave: true });
    expect(result.calls.map(({ input }) => input)).toEqual(calls.map(({ input }) => input));
    const order = told.filter(([what]) => what === "input").map(([, call]) => (call as { index: number }).index);
    expect(order.slice(0, 6)).toEqual([0, 1, 2, 0, 1, 2]);
  });

  test.each([
    ["half an object", '{"expression": "1+'],
    ["no JSON", "one plus one"],
    ["a list", "[1, 2]"],
  ])("arguments that are %s", async (_what, input) => {
    const { result } = await succeed({ calls: [{ name: "calculator", input }] });
    expect(result.calls).toMatchObject([{ name: "calculator", input: undefined, rawInput: input }]);
    // The conversation goes on all the same: what it holds is an object.
    stage.play({ text: TEXT });
    const messages = [...request.messages, ...answerCalls(result)];
    const next = await callModel(stage.model, { messages, tools: CONTRACT_TOOLS }, recordListener().listener);
    expect(next.text).toBe(TEXT);
  });

  test("an answer that was cut to length says so", async () => {
    const { result } = await succeed({ text: TEXT, finish: "length" });
    expect(result.finishReason).toBe("length");
  });

  test("a wrong key is refused, and is in nothing that is thrown", async () => {
    const { server } = stage;
    const apiKey = "wrong-horse-battery-staple";
    const choice = { model: "m", baseURL: server.url, apiKey };
    const provider = wire.name.startsWith("anthropic") ? "anthropic" : "openai";
    const model = await resolveModel({ provider, ...choice });
    const call = callModel(model, request, recordListener().listener);
    const error = (await call.catch((thrown: unknown) => thrown)) as LoomError;
    expect(error).toMatchObject({ code: "model_failed", details: { status: 401 } });
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain(apiKey);
    expect(JSON.stringify([error.message, error.details])).not.toContain(apiKey);
  });

  test("calls without results are refused by the rules of the provider", async () => {
    const { result } = await succeed({ calls: [{ name: "current_time" }] });
    const [assistant] = answerCalls(result);
    const messages = [...request.messages, assistant!, ...request.messages];
    const call = callModel(stage.model, { messages, tools: CONTRACT_TOOLS }, recordListener().listener);
    await expect(call).rejects.toMatchObject({ code: "model_failed", details: { status: 400 } });
  });

  test("reasoning goes back to the provider with what it came with", async () => {
    const { result } = await succeed({ reasoning: "Let me see.", calls: [{ name: "current_time" }] });
    if (wire.name === "openai, chat completions") return;
    expect(result.content[0]).toMatchObject({ type: "reasoning", text: "Let me see." });
    stage.play({ text: TEXT });
    const messages = [...request.messages, ...answerCalls(result)];
    await callModel(stage.model, { messages, tools: CONTRACT_TOOLS }, recordListener().listener);
    const sent = JSON.stringify(stage.server.requests.at(-1)?.body);
    const wanted = { anthropic: '"signature":"signature_', openai: '"id":"rs_', local: "Let me see." };
    expect(sent).toContain(wanted[stage.model.provider.split(".")[0] as keyof typeof wanted]);
  });

  test("ids that come twice in one answer, or again in the next", async () => {
    const calls = [
      { name: "calculator", input: { expression: "1" }, id: "call_0" },
      { name: "calculator", input: { expression: "2" }, id: "call_0" },
    ];
    const first = await succeed({ calls });
    const messages = [...request.messages, ...answerCalls(first.result)];
    stage.play({ calls }, { text: TEXT });
    const again = { messages, tools: CONTRACT_TOOLS };
    const second = await callModel(stage.model, again, recordListener().listener);
    const ids = [...first.result.calls, ...second.calls].map(({ callId }) => callId);
    expect(new Set(ids).size).toBe(4);
    const all = { messages: [...messages, ...answerCalls(second)], tools: CONTRACT_TOOLS };
    expect((await callModel(stage.model, all, recordListener().listener)).text).toBe(TEXT);
  });
});

test("a connection that is refused is tried again, then named", async () => {
  const model = await resolveModel({ provider: "local", model: "m", baseURL: "http://127.0.0.1:9/v1" });
  const { told, listener } = recordListener();
  await expect(callModel(model, request, listener, { ...quick, maxRetries: 2 })).rejects.toMatchObject({
    code: "model_failed",
    details: { provider: "local.chat", attempts: 3 },
  });
  expect(triesOf(told)).toBe(3);
});

test("what an address holds that is secret is in nothing that is thrown", async () => {
  for (const baseURL of ["http://user:hunter2-secret@127.0.0.1:9/v1", "http://127.0.0.1:9/v1?key=hunter2-secret&x="]) {
    const choice = { provider: "vllm", model: "m", baseURL };
    await expect(resolveModel(choice)).rejects.toMatchObject({ code: "unknown_model" });
    // A model that somebody else has made is not asked where it is.
    const model = createOpenAICompatible({ name: "vllm", baseURL })("m");
    const error: unknown = await callModel(model, request, recordListener().listener, { maxRetries: 0 }).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code: "model_failed" });
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain("hunter2");
  }
});
