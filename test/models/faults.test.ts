// Faults of a provider, as reported by the real provider packages and by `callModel`.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { inspect } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { callModel, type ModelCallOptions, type ModelRequest, resolveModel } from "../../src/models/index.ts";
import { answerCalls, CONTRACT_TOOLS } from "../contracts/model.ts";
import { recordListener, type ListenerCall } from "../contracts/record-listener.ts";
import { isLoomError, type LoomError } from "../../src/protocol/index.ts";
import type { ServerTurn } from "./provider-server.ts";
import { openProviderFixture, PROVIDER_WIRES, type ProviderFixture } from "./provider-fixtures.ts";
import { LONG } from "../sampling.ts";

const TEXT = "Once upon a time there was a stream that broke.";
const request: ModelRequest = { messages: [{ role: "user", content: [{ type: "text", text: "Tell me" }] }] };
/** The long suite breaks at every frame. */
const STEP = LONG ? 1 : 9;
const quick = { retryMs: 1 } as const;

const textOf = (recorded: readonly ListenerCall[]): string =>
  recorded
    .filter(([what]) => what === "text")
    .map(([, delta]) => delta as string)
    .join("");
const attemptsOf = (recorded: readonly ListenerCall[]): number => recorded.filter(([what]) => what === "start").length;

describe.each(PROVIDER_WIRES)("$name", (wire) => {
  let fixture: ProviderFixture;
  beforeAll(async () => {
    fixture = await openProviderFixture(wire);
  });
  beforeEach(() => {
    fixture.server.requests.length = 0;
  });
  afterAll(() => fixture.close());

  async function fail(
    options: ModelCallOptions,
    ...turns: readonly ServerTurn[]
  ): Promise<{ readonly error: LoomError; readonly recorded: readonly ListenerCall[] }> {
    fixture.play(...turns);
    const { recorded, listener } = recordListener();
    const error: unknown = await callModel(fixture.model, request, listener, { ...quick, ...options }).catch(
      (thrown: unknown) => thrown,
    );
    if (!isLoomError(error)) throw new Error("expected a LoomError", { cause: error });
    expect(error.message).not.toMatch(/\n|\bat .*:\d+/);
    return { error, recorded };
  }

  async function succeed(...turns: readonly ServerTurn[]) {
    fixture.play(...turns);
    const { recorded, listener } = recordListener();
    const result = await callModel(fixture.model, { ...request, tools: CONTRACT_TOOLS }, listener, quick);
    return { result, recorded };
  }

  test("reports a connection that breaks within a token", async () => {
    const { error, recorded } = await fail({}, { text: TEXT, fault: { kind: "cut", after: 7 } });
    expect(error.code).toBe("model_stream_cut");
    const reason = "the connection was closed before the answer was complete";
    expect(error.message).toBe(
      `The provider cut the stream of ${fixture.model.provider}/${fixture.model.modelId}: ${reason}`,
    );
    expect(TEXT.startsWith(textOf(recorded))).toBe(true);
    expect(textOf(recorded)).not.toBe("");
    expect(attemptsOf(recorded)).toBe(1);
  });

  test("reports a stream that ends too early", async () => {
    const { error, recorded } = await fail({}, { text: TEXT, fault: { kind: "end", after: 7 } });
    expect(error.code).toBe("model_stream_cut");
    expect(attemptsOf(recorded)).toBe(1);
  });

  test("reports a malformed frame after some text", async () => {
    const { error, recorded } = await fail({}, { text: TEXT, fault: { kind: "malformed", after: 7 } });
    expect(error).toMatchObject({ code: "model_stream_cut" });
    expect(textOf(recorded)).not.toBe("");
  });

  test("reports an error part after some text", async () => {
    const { error, recorded } = await fail(
      {},
      { text: TEXT, fault: { kind: "error", after: 7, message: "lost my mind" } },
    );
    // Two of the packages report the status that the kind of error has.
    expect(error.code).toBe(error.details["status"] === undefined ? "model_failed" : "model_unavailable");
    expect(error.message).toContain("lost my mind");
    expect(error.details).toMatchObject({ provider: fixture.model.provider, model: fixture.model.modelId });
    expect(attemptsOf(recorded)).toBe(1);
  });

  test.each(["cut", "end"] as const)("retries a stream that breaks before any output (%s)", async (kind) => {
    const { result, recorded } = await succeed({ text: TEXT, fault: { kind, after: 1 } }, { text: TEXT });
    expect(result.text).toBe(TEXT);
    expect(textOf(recorded)).toBe(TEXT);
    expect(recorded.filter(([what]) => what === "start")).toEqual([
      ["start", 0],
      ["start", 1],
    ]);
  });

  test("retries an error in place of a stream if the provider allows it", async () => {
    const fault = { kind: "error", after: 0, message: "overloaded" } as const;
    const { result } = await succeed({ fault }, { text: TEXT });
    expect(result.text).toBe(TEXT);
  });

  test.each(["cut", "end", "malformed", "error"] as const)(
    "reports a stream that breaks at any frame: %s",
    async (kind) => {
      const turn = {
        reasoning: "Hm.",
        text: TEXT,
        calls: [{ name: "current_time" }, { name: "calculator", input: "{}" }],
      };
      for (let after = 0; ; after += STEP) {
        fixture.play({ ...turn, fault: { kind, after } });
        const { recorded, listener } = recordListener();
        const outcome = await callModel(fixture.model, request, listener, { maxRetries: 0 }).catch(
          (error: unknown) => error,
        );
        expect(TEXT.startsWith(textOf(recorded))).toBe(true);
        // An outcome without an error is complete.
        if (!isLoomError(outcome)) expect(outcome).toMatchObject({ text: TEXT, calls: [{}, {}] });
        else expect(outcome.code).toMatch(/^model_(stream_cut|failed|unavailable)$/);
        if (fixture.server.requests.at(-1)!.frames < after) break;
      }
    },
  );

  test("gives up on repeated empty streams", async () => {
    const fault = { kind: "end", after: 0 } as const;
    const { error, recorded } = await fail({ maxRetries: 2 }, { fault }, { fault }, { fault });
    expect(error).toMatchObject({ code: "model_stream_cut", details: { attempts: 3 } });
    expect(attemptsOf(recorded)).toBe(3);
  });

  test.each([
    ["retry-after-ms", "37", 37],
    ["retry-after", "0.037", 37],
  ])("retries 429 after %s", async (name, value, ms) => {
    const fault = { kind: "status", status: 429, headers: { [name]: value } } as const;
    const timers = vi.spyOn(globalThis, "setTimeout");
    onTestFinished(() => timers.mockRestore());
    const { result, recorded } = await succeed({ fault }, { text: TEXT });
    const isAsked = (delay = 0): boolean => delay >= ms && delay <= ms * 1.1;
    expect(timers.mock.calls.filter(([, delay]) => isAsked(delay))).toHaveLength(1);
    expect(result.text).toBe(TEXT);
    expect(attemptsOf(recorded)).toBe(2);
  });

  test("does not wait longer than maxRetryMs", async () => {
    const fault = { kind: "status", status: 429, message: "slow down", headers: { "retry-after": "3600" } } as const;
    const { error, recorded } = await fail({ maxRetryMs: 1000 }, { fault });
    expect(error).toMatchObject({ code: "model_rate_limited", details: { status: 429, retry_after_ms: 3_600_000 } });
    expect(attemptsOf(recorded)).toBe(1);
  });

  test.each([
    [500, "model_unavailable", "is not available at the moment (status 500): out of order"],
    [503, "model_unavailable", "out of order"],
    [529, "model_unavailable", "out of order"],
    [408, "model_failed", "refused the request (status 408): out of order"],
    [409, "model_failed", "out of order"],
  ])("gives up on %i after the last retry: %s", async (status, code, message) => {
    const fault = { kind: "status", status, message: "out of order" } as const;
    const { error } = await fail({ maxRetries: 2 }, { fault }, { fault }, { fault }, { text: TEXT });
    expect(error).toMatchObject({ code, details: { status, attempts: 3 } });
    expect(error.message).toContain(message);
    expect(fixture.server.requests).toHaveLength(3);
  });

  test.each([
    [400, "model_failed"],
    [401, "model_unauthorized"],
    [403, "model_failed"],
    [404, "model_not_found"],
    [422, "model_failed"],
  ])("does not retry %i: %s", async (status, code) => {
    const { error } = await fail({}, { fault: { kind: "status", status, message: "you are wrong" } });
    expect(error).toMatchObject({ code, details: { status } });
    expect(fixture.server.requests).toHaveLength(1);
  });

  test("closes a connection that stalls", async () => {
    const { error } = await fail({ idleTimeoutMs: 60 }, { text: TEXT, fault: { kind: "stall", after: 7 } });
    expect(error).toMatchObject({ code: "model_timeout" });
    await fixture.server.requests[0]?.closed;
  });

  test("closes a connection that does not respond", async () => {
    const { error, recorded } = await fail({ connectTimeoutMs: 60 }, { fault: { kind: "silent" } });
    expect(error).toMatchObject({ code: "model_timeout" });
    expect(attemptsOf(recorded)).toBe(1);
    await fixture.server.requests[0]?.closed;
  });

  test.each([
    ["before the response", { fault: { kind: "silent" } }],
    ["before the first token", { text: TEXT, fault: { kind: "stall", after: 1 } }],
    ["in the middle", { text: TEXT, fault: { kind: "stall", after: 7 } }],
  ] as const)("closes the connection when cancelled %s", async (_when, turn) => {
    const abort = new AbortController();
    fixture.play(turn);
    const stuck = fixture.server.waitUntilStuck();
    const call = callModel(fixture.model, request, recordListener().listener, { signal: abort.signal });
    void stuck.then(() => setTimeout(() => abort.abort(), 5));
    await expect(call).rejects.toMatchObject({ code: "cancelled" });
    await (
      await stuck
    ).closed;
    expect(fixture.server.requests).toHaveLength(1);
  });

  test("closes the connection when the listener throws", async () => {
    fixture.play({ text: TEXT, fault: { kind: "stall", after: 7 } });
    const { listener } = recordListener({
      onText: () => {
        throw new RangeError("enough");
      },
    });
    await expect(callModel(fixture.model, request, listener)).rejects.toThrow(RangeError);
    await fixture.server.requests[0]?.closed;
  });

  test("can be cancelled while it waits for a retry", async () => {
    const abort = new AbortController();
    fixture.server.script = () => {
      setTimeout(() => abort.abort(), 20);
      return { fault: { kind: "status", status: 503 } };
    };
    const { listener } = recordListener();
    const call = callModel(fixture.model, request, listener, { signal: abort.signal, retryMs: 60_000 });
    await expect(call).rejects.toMatchObject({ code: "cancelled" });
    expect(fixture.server.requests).toHaveLength(1);
  });

  test("stops an endless answer and closes the connection", async () => {
    const { error, recorded } = await fail(
      { maxOutputCharacters: 20_000 },
      { text: "x".repeat(1000), repeat: 100_000, chunk: 1000 },
    );
    expect(error.code).toBe("model_output_too_large");
    expect(textOf(recorded).length).toBeLessThanOrEqual(20_000);
    await fixture.server.requests[0]?.closed;
  });

  test("rejects more tool calls than allowed", async () => {
    const calls = Array.from({ length: 5 }, () => ({ name: "current_time" }));
    const { error } = await fail({ maxToolCalls: 4 }, { calls });
    expect(error.code).toBe("model_output_too_large");
  });

  test("reads interleaved arguments in deltas of one character", async () => {
    const calls = ["1+1", "2+2", "3+3"].map((expression) => ({ name: "calculator", input: { expression } }));
    const { result, recorded } = await succeed({ calls, chunk: 1, interleave: true });
    expect(result.calls.map(({ input }) => input)).toEqual(calls.map(({ input }) => input));
    const order = recorded.filter(([what]) => what === "input").map(([, call]) => (call as { index: number }).index);
    expect(order.slice(0, 6)).toEqual([0, 1, 2, 0, 1, 2]);
  });

  test.each([
    ["half an object", '{"expression": "1+'],
    ["not JSON", "one plus one"],
    ["a list", "[1, 2]"],
  ])("continues after arguments that are %s", async (_what, input) => {
    const { result } = await succeed({ calls: [{ name: "calculator", input }] });
    expect(result.calls).toMatchObject([{ name: "calculator", input: undefined, rawInput: input }]);
    // The conversation contains an object instead, so the provider accepts it.
    fixture.play({ text: TEXT });
    const messages = [...request.messages, ...answerCalls(result)];
    const next = await callModel(fixture.model, { messages, tools: CONTRACT_TOOLS }, recordListener().listener);
    expect(next.text).toBe(TEXT);
  });

  test("reports an answer that was cut at the token limit", async () => {
    const { result } = await succeed({ text: TEXT, finish: "length" });
    expect(result.finishReason).toBe("length");
  });

  test("does not show a rejected key", async () => {
    const { server } = fixture;
    const apiKey = "wrong-horse-battery-staple";
    const choice = { model: "m", baseURL: server.url, apiKey };
    const provider = wire.name.startsWith("anthropic") ? "anthropic" : "openai";
    const model = await resolveModel({ provider, ...choice });
    const call = callModel(model, request, recordListener().listener);
    const error = (await call.catch((thrown: unknown) => thrown)) as LoomError;
    expect(error).toMatchObject({ code: "model_unauthorized", details: { status: 401 } });
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain(apiKey);
    expect(JSON.stringify([error.message, error.details])).not.toContain(apiKey);
  });

  test("rejects calls without results, as the provider does", async () => {
    const { result } = await succeed({ calls: [{ name: "current_time" }] });
    const [assistant] = answerCalls(result);
    const messages = [...request.messages, assistant!, ...request.messages];
    const call = callModel(fixture.model, { messages, tools: CONTRACT_TOOLS }, recordListener().listener);
    await expect(call).rejects.toMatchObject({ code: "model_failed", details: { status: 400 } });
  });

  test("sends reasoning back with its metadata", async () => {
    const { result } = await succeed({ reasoning: "Let me see.", calls: [{ name: "current_time" }] });
    if (wire.name === "openai, chat completions") return;
    expect(result.content[0]).toMatchObject({ type: "reasoning", text: "Let me see." });
    fixture.play({ text: TEXT });
    const messages = [...request.messages, ...answerCalls(result)];
    await callModel(fixture.model, { messages, tools: CONTRACT_TOOLS }, recordListener().listener);
    const sent = JSON.stringify(fixture.server.requests.at(-1)?.body);
    const wanted = { anthropic: '"signature":"signature_', openai: '"id":"rs_', local: "Let me see." };
    expect(sent).toContain(wanted[fixture.model.provider.split(".")[0] as keyof typeof wanted]);
  });

  test("replaces ids that repeat within an answer or in the next", async () => {
    const calls = [
      { name: "calculator", input: { expression: "1" }, id: "call_0" },
      { name: "calculator", input: { expression: "2" }, id: "call_0" },
    ];
    const first = await succeed({ calls });
    const messages = [...request.messages, ...answerCalls(first.result)];
    fixture.play({ calls }, { text: TEXT });
    const again = { messages, tools: CONTRACT_TOOLS };
    const second = await callModel(fixture.model, again, recordListener().listener);
    const ids = [...first.result.calls, ...second.calls].map(({ callId }) => callId);
    expect(new Set(ids).size).toBe(4);
    const all = { messages: [...messages, ...answerCalls(second)], tools: CONTRACT_TOOLS };
    expect((await callModel(fixture.model, all, recordListener().listener)).text).toBe(TEXT);
  });
});

test("retries a refused connection, then reports it", async () => {
  const model = await resolveModel({ provider: "local", model: "m", baseURL: "http://127.0.0.1:9/v1" });
  const { recorded, listener } = recordListener();
  await expect(callModel(model, request, listener, { ...quick, maxRetries: 2 })).rejects.toMatchObject({
    code: "model_failed",
    details: { provider: "local.chat", attempts: 3 },
  });
  expect(attemptsOf(recorded)).toBe(3);
});

test("does not show secrets of an address", async () => {
  for (const baseURL of ["http://user:hunter2-secret@127.0.0.1:9/v1", "http://127.0.0.1:9/v1?key=hunter2-secret&x="]) {
    const choice = { provider: "vllm", model: "m", baseURL };
    await expect(resolveModel(choice)).rejects.toMatchObject({ code: "unknown_model" });
    // The address of a model object is not checked.
    const model = createOpenAICompatible({ name: "vllm", baseURL })("m");
    const error: unknown = await callModel(model, request, recordListener().listener, { maxRetries: 0 }).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code: "model_failed" });
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain("hunter2");
  }
});
