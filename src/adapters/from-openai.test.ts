import OpenAI from "openai";
import type { ChatCompletionMessageParam } from "openai/resources/chat/completions";
import type { ResponseInput } from "openai/resources/responses/responses";
import { afterEach, describe, expect, expectTypeOf, it } from "vitest";
import { MemoryLog } from "../log/index.ts";
import type { AnyEvent, JsonObject } from "../protocol/index.ts";
import { toJsonObject } from "../protocol/json.ts";
import { toText } from "../dialects/openai-responses/output-items.ts";
import { chatWire } from "../../test/models/chat-wire.ts";
import { type ProviderServer, startProviderServer } from "../../test/models/provider-server.ts";
import { responsesWire } from "../../test/models/responses-wire.ts";
import type { ServerTurn, Wire } from "../../test/models/wire.ts";
import { type AdapterScript, describeAdapter, readEvents } from "../../test/contracts/adapter.ts";
import { fromOpenAI, type OpenAIInput, type OpenAIStreamItem } from "./from-openai.ts";
import { record } from "./record.ts";

const MODEL = "gpt-5";
const QUESTION = { role: "user", content: "How cold is it?" } as const;

/** A real client whose requests are answered in this process, frame by frame as they are read. */
function openClient(wire: Wire, script: AdapterScript): OpenAI {
  const turns = [...script.turns];
  const answer = (_url: unknown, init?: RequestInit): Promise<Response> => {
    const { reasoning = [], text = [], cities = [], hangs, error } = turns.shift() ?? {};
    const calls = cities.map((city) => ({ id: `call-${city}`, name: "weather", input: { city } }));
    const turn: ServerTurn = {
      reasoning: reasoning.join(""),
      ...(text.length === 0 ? {} : { pieces: text }),
      calls,
      tokens: { prompt: 3, completion: 5 },
    };
    const body = JSON.parse(init?.body as string) as JsonObject;
    let count = 0;
    const frames = wire.stream(turn, body, { next: (prefix) => `${prefix}-${++count}`, given: new Map() });
    const bytes = new TextEncoder();
    const { signal } = init ?? {};
    const stream = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          const { done, value } = frames.next();
          const isLast = done === true || /finish_reason":"|response\.completed/.test(value ?? "");
          if (isLast && error !== undefined) {
            controller.enqueue(bytes.encode(wire.streamError(error)));
            controller.close();
          } else if (isLast && hangs === true) {
            await new Promise((resolve) => signal?.addEventListener("abort", resolve));
            controller.error(new DOMException("Aborted", "AbortError"));
          } else if (done === true) controller.close();
          else {
            if (/"content":"[^"]|output_text\.delta/.test(value)) script.onPiece?.();
            controller.enqueue(bytes.encode(value));
          }
        },
      },
      { highWaterMark: 0 },
    );
    return Promise.resolve(new Response(stream, { headers: { "content-type": "text/event-stream" } }));
  };
  return new OpenAI({ apiKey: "sk-test", baseURL: "http://model.invalid/v1", fetch: answer, maxRetries: 0 });
}

/** Runs the tool of the script. */
function callTool({ onTool, toolError }: AdapterScript, text: string) {
  const input = JSON.parse(text) as JsonObject;
  onTool?.(input);
  const output = toolError ?? JSON.stringify({ ...input, degrees: -3 });
  return { output, is_error: toolError !== undefined };
}

/** A tool loop on the Responses API, as a user of the package writes it. */
async function* loopResponses(script: AdapterScript, signal: AbortSignal): AsyncGenerator<OpenAIStreamItem> {
  const client = openClient(responsesWire, script);
  const input: ResponseInput = [QUESTION];
  for (let from = 0; from < input.length;) {
    from = input.length;
    const stream = await client.responses.create({ model: MODEL, input, stream: true }, { signal });
    const calls = [];
    for await (const event of stream) {
      yield event;
      if (event.type === "response.output_item.done" && event.item.type === "function_call") calls.push(event.item);
    }
    input.push(...calls);
    for (const { call_id, arguments: text } of calls) {
      const { output, is_error } = callTool(script, text);
      yield { type: "function_call_output", call_id, output, is_error };
      input.push({ type: "function_call_output", call_id, output });
    }
  }
}

/** The same loop on chat completions. */
async function* loopChat(script: AdapterScript, signal: AbortSignal): AsyncGenerator<OpenAIStreamItem> {
  const client = openClient(chatWire, script);
  const messages: ChatCompletionMessageParam[] = [QUESTION];
  for (let from = 0; from < messages.length;) {
    from = messages.length;
    const stream = await client.chat.completions.create(
      { model: MODEL, messages, stream: true, stream_options: { include_usage: true } },
      { signal },
    );
    const calls: { id: string; type: "function"; function: { name: string; arguments: string } }[] = [];
    for await (const chunk of stream) {
      yield chunk;
      for (const { index, id, function: called } of chunk.choices[0]?.delta.tool_calls ?? []) {
        const call = (calls[index] ??= { id: id ?? "", type: "function", function: { name: "", arguments: "" } });
        call.function.name += called?.name ?? "";
        call.function.arguments += called?.arguments ?? "";
      }
    }
    if (calls.length > 0) messages.push({ role: "assistant", tool_calls: calls });
    for (const { id, function: called } of calls) {
      const { output: content, is_error } = callTool(script, called.arguments);
      const message = { role: "tool", tool_call_id: id, content } as const;
      yield { ...message, is_error };
      messages.push(message);
    }
  }
}

describeAdapter("fromOpenAI with Responses", {
  create: (script, context) => fromOpenAI(({ signal }) => loopResponses(script, context?.signal ?? signal)),
  lacks: ["approvals"],
});

describeAdapter("fromOpenAI with chat completions", {
  create: (script, context) => fromOpenAI(({ signal }) => loopChat(script, context?.signal ?? signal)),
  lacks: ["approvals"],
});

async function recordItems(input: OpenAIInput) {
  const log = new MemoryLog();
  const run = await record(log, { sessionId: "chat-7", message: "Hi" }, fromOpenAI(input));
  const end = await run.ended;
  return { end, events: await readEvents(log) };
}

async function* toStream(...items: readonly object[]): AsyncGenerator<OpenAIStreamItem> {
  yield* items as readonly OpenAIStreamItem[];
}

function typesOf(events: readonly AnyEvent[]): string[] {
  return events.map(({ type }) => type);
}

describe("fromOpenAI", () => {
  const opened: ProviderServer[] = [];
  afterEach(async () => {
    for (const server of opened.splice(0)) await server.close();
  });

  async function connect(...turns: readonly ServerTurn[]): Promise<OpenAI> {
    const server = await startProviderServer();
    opened.push(server);
    server.script = [...turns];
    return new OpenAI({ apiKey: server.key, baseURL: server.url, maxRetries: 0 });
  }

  const ask = {
    responses: (client: OpenAI): OpenAIInput =>
      client.responses.create({ model: MODEL, input: [QUESTION], stream: true }),
    chat: (client: OpenAI): OpenAIInput =>
      client.chat.completions.create({ model: MODEL, messages: [QUESTION], stream: true }),
  };

  it("accepts the streams of the package", () => {
    type Stream = Awaited<ReturnType<typeof streamResponses>> | Awaited<ReturnType<typeof streamChat>>;
    const streamResponses = (client: OpenAI) => client.responses.create({ model: MODEL, input: "", stream: true });
    const streamChat = (client: OpenAI) => client.chat.completions.create({ model: MODEL, messages: [], stream: true });
    expectTypeOf<Stream>().toExtend<OpenAIInput>();
    expectTypeOf<ReturnType<typeof streamResponses>>().toExtend<OpenAIInput>();
    expectTypeOf<ResponseInput[number] & { type: "function_call_output" }>().toExtend<OpenAIStreamItem>();
    expectTypeOf<AsyncIterable<string>>().not.toExtend<OpenAIInput>();
  });

  describe.each(["responses", "chat"] as const)("%s over HTTP", (api) => {
    it("records an answer, its call and its finish reason; the call was not executed", async () => {
      const call = { name: "weather", input: { city: "Oslo" }, id: "call-1" };
      const client = await connect({ reasoning: "Cold there?", text: "I look.", calls: [call] });
      const { end, events } = await recordItems(ask[api](client));
      expect(end).toMatchObject({ status: "completed" });
      expect(typesOf(events).filter((type, index, all) => type !== all[index - 1])).toEqual([
        "run_start",
        "node_enter",
        "llm_start",
        "reasoning_chunk",
        "reasoning_end",
        "message_chunk",
        "tool_call_chunk",
        "tool_call",
        ...(api === "responses" ? ["usage"] : []),
        "llm_end",
        "node_exit",
        "tool_end",
        "run_end",
        "reply",
      ]);
      expect(events.find(({ type }) => type === "llm_end")).toMatchObject({
        model: MODEL,
        finish_reason: "tool_calls",
      });
      expect(events.find(({ type }) => type === "tool_end")).toMatchObject({ is_error: true, call_id: "call-1" });
      expect(events.some(({ type }) => type === "tool_start")).toBe(false);
    });

    it("records why the model stopped early", async () => {
      const client = await connect({ text: "It is", finish: "length" });
      const { events } = await recordItems(ask[api](client));
      expect(events.find(({ type }) => type === "llm_end")).toMatchObject({ finish_reason: "length" });
    });

    it.each([
      ["ends too early", { kind: "end", after: 4 }, "model_stream_cut"],
      ["breaks within a frame", { kind: "cut", after: 4 }, "model_stream_cut"],
      ["is empty", { kind: "end" }, "model_stream_cut"],
      ["reports an error", { kind: "error", after: 4, message: "key sk-123 is wrong" }, "model_failed"],
      ["is refused", { kind: "status", status: 429, message: "key sk-123 is busy" }, "model_rate_limited"],
    ] as const)("fails the run when the stream %s", async (_what, fault, code) => {
      const client = await connect({ text: "It is rather cold.", fault });
      const { end, events } = await recordItems(ask[api](client));
      expect(end).toMatchObject({ status: "error", code });
      expect(JSON.stringify(events)).not.toContain("sk-123");
    });

    it("ends the request when the run is cancelled, without the signal", async () => {
      const client = await connect({ text: "It is rather cold.", fault: { kind: "stall", after: 4 } });
      const stuck = opened[0]!.waitUntilStuck();
      const run = await record(new MemoryLog(), { sessionId: "s", message: "Hi" }, fromOpenAI(ask[api](client)));
      const { closed } = await stuck;
      run.cancel();
      await expect(run.ended).resolves.toMatchObject({ status: "cancelled" });
      await closed;
    });
  });

  it("records calls that OpenAI executes, with their results", async () => {
    const items = [
      { type: "web_search_call", id: "ws-1", status: "completed", action: { type: "search", query: "Oslo" } },
      { type: "mcp_call", id: "mcp-1", name: "roll", arguments: '{"sides":6}', output: "4", error: null },
      { type: "mcp_call", id: "mcp-2", name: "roll", arguments: "{}", output: null, error: "no dice" },
    ];
    const { events } = await recordItems(
      toStream(
        { type: "response.created", response: { id: "r", model: MODEL } },
        ...items.map((item, output_index) => ({ type: "response.output_item.done", output_index, item })),
        { type: "response.completed", response: {} },
      ),
    );
    expect(events.filter(({ type }) => type === "tool_call")).toMatchObject([
      { name: "web_search", arguments: { action: { query: "Oslo" } } },
      { name: "roll", arguments: { sides: 6 } },
      { name: "roll", arguments: {} },
    ]);
    expect(events.filter(({ type }) => type === "tool_end")).toMatchObject([
      { result: "completed", is_error: false },
      { result: "4", is_error: false },
      { result: "no dice", is_error: true },
    ]);
  });

  it("keeps what has no event, and says what was too large", async () => {
    const annotation = { type: "response.output_text.annotation.added", annotation: { url: "https://example.org" } };
    const { events } = await recordItems(
      toStream(
        { type: "response.created", response: {} },
        annotation,
        { type: "response.new_thing", data: "x".repeat(1_100_000) },
        { type: "response.completed", response: {} },
      ),
    );
    expect(events.filter(({ type }) => type === "foreign")).toMatchObject([
      { dialect: "openai", frame: annotation },
      { dialect: "openai", frame: { type: "left_out", event: "foreign" } },
    ]);
  });

  it("records texts that were not streamed, refusals and arguments that are not JSON", async () => {
    const message = { type: "message", content: [{ type: "output_text", text: "Yes." }] };
    const call = { type: "function_call", call_id: "c1", name: "weather", arguments: "{oops" };
    const { events } = await recordItems(
      toStream(
        { type: "response.created", response: {} },
        { type: "response.output_item.done", output_index: 0, item: message },
        { type: "response.refusal.delta", output_index: 1, delta: " No." },
        { type: "response.output_item.done", output_index: 2, item: call },
        { type: "response.completed", response: {} },
      ),
    );
    expect(events.find(({ type }) => type === "reply")).toMatchObject({ reply: "Yes. No." });
    expect(events.find(({ type }) => type === "tool_call")).toMatchObject({ arguments: {}, raw_arguments: "{oops" });
  });

  it("reads every item of servers that repeat or omit positions, and answers without a start", async () => {
    const say = (text: string, id?: string) => ({ type: "message", id, content: [{ type: "output_text", text }] });
    const call = (call_id: string) => ({ type: "function_call", call_id, name: "weather", arguments: "{}" });
    const done = (item: object, output_index?: number) => ({
      type: "response.output_item.done",
      ...(output_index === undefined ? {} : { output_index }),
      item,
    });
    const completed = { type: "response.completed", response: {} };
    const answers = [
      [done(say("A", "m1"), 0), done(say("A", "m1"), 0), done(call("c1"), 0), done(call("c2"), 0)],
      [done(say("B")), done(say("C")), done(call("c3")), done(call("c4"))],
      [
        { type: "response.output_item.added", output_index: 0, item: { type: "message", id: "m1" } },
        { type: "response.output_text.delta", output_index: 0, item_id: "m2", delta: "D" },
        done(say("D", "m3"), 0),
      ],
      [{ type: "response.output_text.delta", delta: "E" }, done(say("E"))],
    ];
    const { events } = await recordItems(toStream(...answers.flatMap((items) => [...items, completed])));
    const texts = events
      .filter(({ type }) => type === "message_chunk")
      .map((event) => toText(toJsonObject(event)["content"]));
    expect(texts.join("").replace(/\n/g, "")).toBe("ABCDE");
    const calls = events.filter(({ type }) => type === "tool_call");
    expect(calls).toMatchObject(["c1", "c2", "c3", "c4"].map((call_id) => ({ call_id })));
  });

  it("keeps approval requests, and reads no fields of this package", async () => {
    const loom = { call_id: "other", waiting: true, error_code: "tool_failed" };
    const request = { type: "mcp_approval_request", id: "q1", name: "roll", arguments: "{}", server_label: "x", loom };
    const items = [request, { type: "mcp_call", id: "mcp-1", name: "roll", output: null, error: null, loom }];
    const { events } = await recordItems(
      toStream(
        { type: "response.created", response: {} },
        ...items.map((item, output_index) => ({ type: "response.output_item.done", output_index, item })),
        { type: "response.completed", response: { output: items } },
        { type: "response.created", response: {} },
        { type: "response.completed", response: { output: [request] } },
      ),
    );
    const kept = events.filter(({ type }) => type === "foreign");
    expect(kept).toMatchObject([{ frame: request }, { frame: request }]);
    const ends = events.filter(({ type }) => type === "tool_end");
    expect(ends).toMatchObject([{ call_id: "mcp-1", is_error: false }]);
    expect(ends[0]).not.toHaveProperty("error_code");
  });

  it("keeps other choices of a chat completion, and accepts chunks of compatible servers", async () => {
    const chunk = (delta: object, more: object = {}) => ({ choices: [{ index: 0, delta, ...more }] });
    const { end, events } = await recordItems(
      toStream(
        chunk({ role: "assistant", content: "A" }),
        { choices: [{ index: 1, delta: { content: "B" } }] },
        chunk({ audio: { data: "…" } }),
        chunk({}, { finish_reason: "stop" }),
        chunk({ content: "" }),
      ),
    );
    expect(end).toMatchObject({ status: "completed" });
    expect(events.find(({ type }) => type === "reply")).toMatchObject({ reply: "A" });
    expect(events.filter(({ type }) => type === "foreign")).toHaveLength(2);
    expect(events.filter(({ type }) => type === "llm_start")).toHaveLength(1);
  });

  it.each([42, "text", undefined])("refuses %s", async (input) => {
    const { end } = await recordItems(input as never);
    expect(end).toMatchObject({ status: "error", code: "invalid_arguments" });
  });

  it("keeps the result of a call that it does not know", async () => {
    const { end, events } = await recordItems(
      toStream(
        { type: "response.created", response: {} },
        { type: "response.completed", response: {} },
        { type: "function_call_output", call_id: "unknown", output: "4" },
      ),
    );
    expect(end).toMatchObject({ status: "completed" });
    expect(events.filter(({ type }) => type === "foreign")).toMatchObject([{ frame: { call_id: "unknown" } }]);
  });
});
