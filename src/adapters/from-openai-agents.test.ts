import {
  Agent,
  type InputGuardrail,
  OpenAIChatCompletionsModel,
  OpenAIResponsesModel,
  type Model,
  run,
  setTracingDisabled,
  tool,
} from "@openai/agents";
import { assistantMessage, functionCall, modelStreamResponder, ScriptedModel } from "@openai/agents/testing";
import OpenAI from "openai";
import { afterEach, describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { sendCommand } from "../engine/send-command.ts";
import { MemoryLog } from "../log/index.ts";
import type { JsonObject } from "../protocol/index.ts";
import { type ProviderServer, type ServerTurn, startProviderServer } from "../../test/models/provider-server.ts";
import {
  type AdapterScript,
  describeAdapter,
  readEvents,
  type ScriptedTurn,
  waitFor,
} from "../../test/contracts/adapter.ts";
import { foreignAgent } from "./foreign-agent.ts";
import { fromOpenAIAgents, type OpenAIAgentsContext, type OpenAIAgentsInput } from "./from-openai-agents.ts";
import { record } from "./record.ts";

setTracingDisabled(true);

type StreamEvent = ReturnType<Model["getStreamedResponse"]> extends AsyncIterable<infer E> ? E : never;
type Call = readonly [id: string, name: string, input: JsonObject];

/** The events of one answer, as the OpenAI model of the SDK streams them. */
async function* streamTurn(
  { reasoning = [], text = [], cities = [], hangs, error }: ScriptedTurn,
  { signal, onPiece, calls = [] }: { signal?: AbortSignal; onPiece?: () => void; calls?: readonly Call[] },
): AsyncGenerator<StreamEvent> {
  const raw = (event: object): StreamEvent => ({ type: "model", event });
  const allCalls = [...calls, ...cities.map((city) => [`call-${city}`, "weather", { city }] as const)];
  yield { type: "response_started" };
  for (const delta of reasoning) yield raw({ type: "response.reasoning_summary_text.delta", output_index: 0, delta });
  for (const delta of text) {
    onPiece?.();
    yield { type: "output_text_delta", delta };
    yield raw({ type: "response.output_text.delta", output_index: 1, delta });
  }
  if (error !== undefined) throw new Error(error);
  if (hangs === true)
    await new Promise((_, reject) => signal?.addEventListener("abort", () => reject(new Error("aborted"))));
  for (const [index, [call_id, name, input]] of allCalls.entries()) {
    const output_index = index + 2;
    yield raw({ type: "response.output_item.added", output_index, item: { type: "function_call", call_id, name } });
    for (const delta of JSON.stringify(input).split(/(?<=:)/))
      yield raw({ type: "response.function_call_arguments.delta", output_index, delta });
  }
  const content = [{ type: "output_text", text: text.join("") }] as const;
  yield {
    type: "response_done",
    response: {
      id: "response",
      usage: { inputTokens: 3, outputTokens: 5, totalTokens: 8 },
      output: [
        ...(text.length === 0 ? [] : [{ type: "message", role: "assistant", status: "completed", content } as const]),
        ...allCalls.map(([callId, name, input]) => {
          return { type: "function_call", callId, name, arguments: JSON.stringify(input) } as const;
        }),
      ] as never,
    },
  };
}

function createModel({ turns, onPiece }: AdapterScript): ScriptedModel {
  return new ScriptedModel(
    turns.map((turn) =>
      modelStreamResponder(({ request }) =>
        streamTurn(turn, {
          ...(request.signal === undefined ? {} : { signal: request.signal }),
          ...(onPiece === undefined ? {} : { onPiece }),
        }),
      ),
    ),
  );
}

function createWeather({ onTool, toolError, needsApproval = false }: Partial<AdapterScript> = {}) {
  return tool({
    name: "weather",
    description: "Reports the weather",
    parameters: z.object({ city: z.string() }),
    needsApproval,
    execute: ({ city }) => {
      onTool?.({ city });
      if (toolError !== undefined) throw new Error(toolError);
      return { city, degrees: -3 };
    },
  });
}

/** Starts an agent, or continues it. */
function start(agent: Agent, { signal, state }: OpenAIAgentsContext) {
  return run(agent, (state as string | undefined) ?? "How cold is it?", { stream: true, signal });
}

describeAdapter("fromOpenAIAgents", {
  create(script, context) {
    const agent = new Agent({ name: "Weather", model: createModel(script), tools: [createWeather(script)] });
    return fromOpenAIAgents((given) => start(agent, { ...given, ...context }));
  },
  // The SDK keeps the events that are not read in memory, and does not slow down the model.
  lacks: ["backPressure"],
});

const WEATHER: ScriptedTurn = { text: ["I look."], cities: ["Oslo"] };
const COLD: ScriptedTurn = { text: ["It is ", "cold."] };

async function recordResult(input: OpenAIAgentsInput) {
  const log = new MemoryLog();
  const recorded = await record(log, { sessionId: "chat-7", message: "Hi" }, fromOpenAIAgents(input));
  const end = await recorded.ended;
  return { end, events: await readEvents(log) };
}

describe("fromOpenAIAgents", () => {
  const opened: ProviderServer[] = [];
  afterEach(async () => {
    for (const server of opened.splice(0)) await server.close();
  });

  it("accepts the results of the package", () => {
    expectTypeOf<ReturnType<typeof start>>().toExtend<OpenAIAgentsInput>();
    expectTypeOf<Awaited<ReturnType<typeof start>>>().toExtend<OpenAIAgentsInput>();
  });

  it("records each agent of a handoff as a node run, and the handoff as a call", async () => {
    const second = new Agent({ name: "Second", model: createModel({ turns: [COLD] }) });
    const model = new ScriptedModel([
      modelStreamResponder(() => streamTurn({ text: ["Wait."] }, { calls: [["h1", "transfer_to_Second", {}]] })),
    ]);
    const first = new Agent({ name: "First", model, handoffs: [second] });
    const { events } = await recordResult(run(first, "Hi", { stream: true }));
    expect(events.flatMap((event) => (event.type === "node_enter" ? [event["id" as never]] : []))).toEqual([
      "First",
      "answer",
      "Second",
      "answer",
    ]);
    expect(events.find(({ type }) => type === "tool_call")).toMatchObject({ name: "transfer_to_Second" });
    expect(events.find(({ type }) => type === "tool_end")).toMatchObject({ is_error: false });
    expect(events.find(({ type }) => type === "reply")).toMatchObject({ reply: "It is cold." });
  });

  it("fails the run when a guardrail stops it, and keeps what the guardrail found out to the program", async () => {
    const guardrail: InputGuardrail = {
      name: "polite",
      runInParallel: false,
      execute: () => Promise.resolve({ tripwireTriggered: true, outputInfo: { why: "sk-123" } }),
    };
    const agent = new Agent({ name: "Weather", model: createModel({ turns: [] }), inputGuardrails: [guardrail] });
    const { end, events } = await recordResult(run(agent, "Hi", { stream: true }));
    expect(end).toMatchObject({ status: "error", code: "guardrail_triggered" });
    const value = { guardrail: "polite", stage: "input", triggered: true };
    expect(events.find(({ type }) => type === "custom")).toMatchObject({ value });
    expect(JSON.stringify(events)).not.toContain("sk-123");
  });

  it.each([
    ["uses too many turns", { turns: [WEATHER, WEATHER] }, "iteration_limit"],
    ["has a model whose stream is cut", { turns: [] }, "model_stream_cut"],
  ] as const)("fails the run when the agent %s", async (_what, script, code) => {
    const model =
      script.turns.length > 0
        ? createModel(script)
        : new ScriptedModel([modelStreamResponder(() => [{ type: "output_text_delta", delta: "Hm" }])]);
    const agent = new Agent({ name: "Weather", model, tools: [createWeather()] });
    const { end } = await recordResult(run(agent, "Hi", { stream: true, maxTurns: 1 }));
    expect(end).toMatchObject({ status: "error", code });
  });

  it("rejects approvals of a result that it cannot continue", async () => {
    const agent = new Agent({
      name: "Weather",
      model: createModel({ turns: [WEATHER] }),
      tools: [createWeather({ needsApproval: true })],
    });
    const { end, events } = await recordResult(run(agent, "Hi", { stream: true }));
    expect(end).toMatchObject({ status: "completed" });
    expect(events.filter(({ type }) => type === "tool_end")).toMatchObject([{ is_error: true }]);
  });

  it("does not run a call with arguments that the user did not see", async () => {
    const ran: JsonObject[] = [];
    const log = new MemoryLog();
    const model = createModel({ turns: [WEATHER, COLD] });
    const agent = foreignAgent(() => {
      const tools = [createWeather({ needsApproval: true, onTool: (input) => void ran.push(input) })];
      const weather = new Agent({ name: "Weather", model, tools });
      return fromOpenAIAgents((context) => start(weather, context));
    });
    await using session = await agent.openSession(log, "chat-7");
    const answered = await agent.answer(session, "Hi", { runId: "run-1" });
    await waitFor(log, "tool_approval");
    await sendCommand(log, {
      commandId: "answer",
      sessionId: "chat-7",
      kind: "approve",
      body: { run_id: "run-1", call_id: "call-Oslo", decision: "approved", arguments: { city: "Bergen" } },
    });
    await expect(answered.ended).resolves.toMatchObject({ status: "completed" });
    expect(ran).toEqual([]);
    const [end] = (await readEvents(log)).filter(({ type }) => type === "tool_end");
    expect(end).toMatchObject({ is_error: true, error_code: "tool_rejected" });
    expect(JSON.stringify(model.calls.at(-1)?.request.input)).toContain("Bergen");
  });

  it("asks for approvals of an agent that is a tool, and closes their calls", async () => {
    const ran: JsonObject[] = [];
    const log = new MemoryLog();
    const helper = new Agent({
      name: "Helper",
      // A tool is not streamed.
      model: new ScriptedModel([
        [functionCall("weather", { city: "Oslo" }, { callId: "call-Oslo" })],
        [assistantMessage("It is cold.")],
      ]),
      tools: [createWeather({ needsApproval: true, onTool: (input) => void ran.push(input) })],
    });
    const outer = new Agent({
      name: "Outer",
      model: new ScriptedModel([
        modelStreamResponder(() => streamTurn({}, { calls: [["call-helper", "ask", { input: "Oslo?" }]] })),
        modelStreamResponder(() => streamTurn({ text: ["Done."] }, {})),
      ]),
      tools: [helper.asTool({ toolName: "ask", toolDescription: "Asks the helper" })],
    });
    const agent = foreignAgent(() => fromOpenAIAgents((context) => start(outer, context)));
    await using session = await agent.openSession(log, "chat-7");
    const answered = await agent.answer(session, "Hi", { runId: "run-1" });
    await waitFor(log, "tool_approval");
    await sendCommand(log, {
      commandId: "answer",
      sessionId: "chat-7",
      kind: "approve",
      body: { run_id: "run-1", call_id: "call-Oslo", decision: "approved" },
    });
    await expect(answered.ended).resolves.toMatchObject({ status: "completed" });
    expect(ran).toEqual([{ city: "Oslo" }]);
    const ends = (await readEvents(log)).filter(({ type }) => type === "tool_end");
    expect(ends).toMatchObject([
      { call_id: "call-helper", is_error: false },
      { call_id: "call-Oslo", is_error: false },
    ]);
  });

  it("records calls that OpenAI executes, texts that were not streamed, and keeps the rest", async () => {
    const hosted = { type: "hosted_tool_call", id: "ws-1", name: "web_search_call", status: "completed" } as const;
    const compaction = { type: "compaction", encrypted_content: "…" } as const;
    const content = [{ type: "output_text", text: "It is cold." }] as const;
    const message = { type: "message", role: "assistant", status: "completed", content } as const;
    const model = new ScriptedModel([[hosted, compaction, message] as never]);
    const agent = new Agent({ name: "Weather", model });
    const { end, events } = await recordResult(run(agent, "Hi", { stream: true }));
    expect(end).toMatchObject({ status: "completed" });
    expect(events.find(({ type }) => type === "tool_end")).toMatchObject({ call_id: "ws-1", is_error: false });
    expect(events.find(({ type }) => type === "reply")).toMatchObject({ reply: "It is cold." });
    expect(events.filter(({ type }) => type === "foreign")).toMatchObject([
      { dialect: "openai-agents", frame: { type: "compaction_item_created" } },
    ]);
  });

  it.each([
    ["Responses", OpenAIResponsesModel],
    ["chat completions", OpenAIChatCompletionsModel],
  ] as const)("records the model of the package on %s", async (_api, OpenAIModel) => {
    const server = await startProviderServer();
    opened.push(server);
    const call = { name: "weather", input: { city: "Oslo" }, id: "call-1" };
    const looks: ServerTurn = { reasoning: "Cold there?", text: "I look.", calls: [call], reasoningField: "reasoning" };
    server.script = [looks, { text: "It is cold." }];
    const model = new OpenAIModel(new OpenAI({ apiKey: server.key, baseURL: server.url }), "gpt-5");
    const agent = new Agent({ name: "Weather", model, tools: [createWeather()] });
    const { end, events } = await recordResult(run(agent, "Hi", { stream: true }));
    expect(end).toMatchObject({ status: "completed" });
    const types = events.map(({ type }) => type).filter((type, index, all) => type !== all[index - 1]);
    const answer = ["node_enter", "llm_start", "message_chunk", "usage", "llm_end", "node_exit"];
    expect(types).toEqual([
      "run_start",
      "node_enter",
      "llm_start",
      "reasoning_chunk",
      "reasoning_end",
      "message_chunk",
      "tool_call_chunk",
      "usage",
      "llm_end",
      "tool_call",
      "tool_start",
      "tool_end",
      "node_exit",
      ...answer,
      "run_end",
      "reply",
    ]);
    expect(events.find(({ type }) => type === "reply")).toMatchObject({ reply: "It is cold." });
  });

  it.each([42, undefined, { stream: false }])("refuses %s", async (input) => {
    const { end } = await recordResult(input as never);
    expect(end).toMatchObject({ status: "error", code: "invalid_arguments" });
  });
});
