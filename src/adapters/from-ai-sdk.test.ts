import {
  type ModelMessage,
  simulateReadableStream,
  stepCountIs,
  streamText,
  tool,
  ToolLoopAgent,
  toUIMessageStream,
} from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { ReadableStream as NodeReadableStream } from "node:stream/web";
import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { RunEnd } from "../engine/index.ts";
import { sendCommand } from "../engine/send-command.ts";
import { type Log, MemoryLog } from "../log/index.ts";
import type { AnyEvent, JsonObject } from "../protocol/index.ts";
import { type AdapterScript, describeAdapter, type ScriptedTurn } from "../../test/contracts/adapter.ts";
import { conversation } from "./conversation.ts";
import { foreignAgent } from "./foreign-agent.ts";
import { fromAISDK } from "./from-ai-sdk.ts";
import { record } from "./record.ts";

type Streamed = Awaited<ReturnType<MockLanguageModelV4["doStream"]>>;
type ModelPart = Streamed["stream"] extends ReadableStream<infer T> ? T : never;

const USAGE = {
  inputTokens: { total: 3, noCache: 3, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};

async function* playTurn(turn: ScriptedTurn, script: AdapterScript, signal?: AbortSignal): AsyncGenerator<ModelPart> {
  const { reasoning = [], text = [], cities = [], hangs, error } = turn;
  yield { type: "stream-start", warnings: [] };
  if (reasoning.length > 0) yield { type: "reasoning-start", id: "r" };
  for (const delta of reasoning) yield { type: "reasoning-delta", id: "r", delta };
  if (reasoning.length > 0) yield { type: "reasoning-end", id: "r" };
  yield { type: "text-start", id: "t" };
  for (const delta of text) {
    script.onPiece?.();
    yield { type: "text-delta", id: "t", delta };
  }
  yield { type: "text-end", id: "t" };
  if (error !== undefined) throw new Error(error);
  if (hangs === true)
    await new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason as Error)));
  for (const city of cities) {
    const id = `call-${city}`;
    yield { type: "tool-input-start", id, toolName: "weather" };
    for (const delta of ['{"city":', `"${city}"}`]) yield { type: "tool-input-delta", id, delta };
    yield { type: "tool-input-end", id };
    yield { type: "tool-call", toolCallId: id, toolName: "weather", input: JSON.stringify({ city }) };
  }
  const unified = cities.length > 0 ? "tool-calls" : "stop";
  yield { type: "finish", finishReason: { unified, raw: unified }, usage: USAGE };
}

/** A model that plays the turns. The turn follows from the prompt, as it is called again after approvals. */
function createModel(script: AdapterScript): MockLanguageModelV4 {
  let played = 0;
  return new MockLanguageModelV4({
    doStream: ({ abortSignal }) => {
      const turn = script.turns[played++] ?? {};
      return Promise.resolve({
        stream: NodeReadableStream.from(playTurn(turn, script, abortSignal)) as ReadableStream<ModelPart>,
      });
    },
  });
}

function createTools({ toolError, onTool }: AdapterScript) {
  return {
    weather: tool({
      inputSchema: z.object({ city: z.string() }),
      execute: ({ city }) => {
        onTool?.({ city });
        if (toolError !== undefined) throw new Error(toolError);
        return { city, degrees: -3 };
      },
    }),
  };
}

function createApproval({ needsApproval = false }: AdapterScript) {
  return { weather: needsApproval ? ("user-approval" as const) : undefined };
}

const PROMPT = [{ role: "user" as const, content: "How cold is it?" }];

describeAdapter("fromAISDK with streamText", {
  create(script) {
    const model = createModel(script);
    const tools = createTools(script);
    return fromAISDK(({ signal, messages }) =>
      streamText({
        model,
        tools,
        toolApproval: createApproval(script),
        abortSignal: signal,
        messages: [...PROMPT, ...messages],
        stopWhen: stepCountIs(5),
        onError: () => undefined,
      }),
    );
  },
});

describeAdapter("fromAISDK with an agent", {
  create(script) {
    const agent = new ToolLoopAgent({
      model: createModel(script),
      tools: createTools(script),
      toolApproval: createApproval(script),
    });
    return fromAISDK(({ signal, messages }) =>
      agent.stream({ messages: [...PROMPT, ...messages], abortSignal: signal }),
    );
  },
});

describeAdapter("fromAISDK with a UI message stream", {
  create(script) {
    const model = createModel(script);
    const tools = createTools(script);
    return fromAISDK(({ signal }) =>
      toUIMessageStream({
        stream: streamText({
          model,
          tools,
          abortSignal: signal,
          messages: PROMPT,
          stopWhen: stepCountIs(5),
          onError: () => undefined,
        }).stream,
      }),
    );
  },
  lacks: ["approvals", "usage"],
});

const REQUEST = { sessionId: "chat-7", message: "How cold is it?" };

async function readEvents(log: Log): Promise<readonly AnyEvent[]> {
  const { records } = await log.read("chat-7", { after: 0 });
  return records.map(({ event }) => event);
}

async function recordParts(parts: readonly object[]): Promise<{ events: readonly AnyEvent[]; end: RunEnd }> {
  const log = new MemoryLog();
  const run = await record(log, REQUEST, fromAISDK(simulateReadableStream({ chunks: [...parts] })));
  const end = await run.ended;
  return { events: await readEvents(log), end };
}

describe("fromAISDK", () => {
  const WEATHER: AdapterScript = { turns: [{ cities: ["Oslo"] }, { text: ["It is cold."] }], needsApproval: true };

  function serve(script: AdapterScript, prompts: unknown[] = []) {
    const model = createModel(script);
    return foreignAgent((_message, { signal }) =>
      fromAISDK(({ messages }) => {
        prompts.push(messages);
        return streamText({
          model,
          tools: createTools(script),
          toolApproval: createApproval(script),
          abortSignal: signal,
          messages: [...PROMPT, ...messages],
          stopWhen: stepCountIs(5),
        });
      }),
    );
  }

  async function waitForApproval(log: Log): Promise<void> {
    while (!(await readEvents(log)).some(({ type }) => type === "tool_approval")) await setTimeout(5);
  }

  it("is a node run per step, with its model call, tools and sources", async () => {
    const { events } = await recordParts([
      { type: "start" },
      { type: "start-step", request: {}, warnings: [] },
      { type: "tool-call", toolCallId: "c1", toolName: "search", input: { q: "cold" }, title: "Search the web" },
      { type: "tool-result", toolCallId: "c1", toolName: "search", output: { found: 1 }, preliminary: true },
      { type: "tool-result", toolCallId: "c1", toolName: "search", output: { found: 2 } },
      { type: "source", sourceType: "url", id: "s1", url: "https://x.test/", title: "X" },
      { type: "source", sourceType: "document", id: "s2", mediaType: "application/pdf", title: "Y", filename: "y.pdf" },
      { type: "finish-step", finishReason: "tool-calls", usage: { inputTokens: 1 }, response: { modelId: "m" } },
      { type: "finish", finishReason: "stop" },
    ]);
    const call = { call_id: "c1", name: "search" };
    expect(events).toMatchObject([
      { type: "run_start", agent: "ai-sdk" },
      { type: "node_enter", id: "step" },
      { type: "llm_start" },
      { type: "tool_call", ...call, arguments: { q: "cold" }, description: "Search the web" },
      { type: "tool_start", ...call },
      { type: "tool_output", ...call, content: '{"found":1}' },
      { type: "tool_end", ...call, result: '{"found":2}', output: { found: 2 }, is_error: false },
      {
        type: "retrieval_complete",
        doc_count: 2,
        sources: [
          { title: "X", uri: "https://x.test/" },
          { title: "Y", uri: "y.pdf" },
        ],
      },
      { type: "usage", prompt_tokens: 1, completion_tokens: 0, total_tokens: 1 },
      { type: "llm_end", model: "m", finish_reason: "tool_calls" },
      { type: "node_exit", id: "step", result: "Ok" },
      { type: "run_end", status: "completed" },
      { type: "reply", reply: "" },
    ]);
  });

  it("keeps images, data parts and everything without an equivalent", async () => {
    const { events } = await recordParts([
      { type: "start", messageMetadata: { by: "me" } },
      { type: "file", file: { base64: "AAAA", mediaType: "image/png" } },
      { type: "file", url: "https://x.test/a.pdf", mediaType: "application/pdf" },
      { type: "data-weather", id: "w1", data: { degrees: -3 } },
      { type: "custom", kind: "acme.note" },
      { type: "raw", rawValue: { n: 1 } },
      { type: "from-the-future", n: 1 },
    ]);
    // Frames and data need no node run; the image has one.
    const recorded = events.slice(1, -2).filter(({ type }) => !type.startsWith("node_"));
    expect(recorded).toMatchObject([
      { type: "foreign", dialect: "ai-sdk", frame: { type: "start", messageMetadata: { by: "me" } } },
      { type: "image", url: "data:image/png;base64,AAAA", media_type: "image/png" },
      { type: "foreign", dialect: "ai-sdk", frame: { type: "file", url: "https://x.test/a.pdf" } },
      { type: "custom", value: { type: "data-weather", id: "w1", data: { degrees: -3 } } },
      { type: "foreign", dialect: "ai-sdk", frame: { type: "custom", kind: "acme.note" } },
      { type: "foreign", dialect: "ai-sdk", frame: { type: "raw", rawValue: { n: 1 } } },
      { type: "foreign", dialect: "ai-sdk", frame: { type: "from-the-future", n: 1 } },
    ]);
  });

  it.each([
    ["an error for users", { type: "error", errorText: "Overloaded" }, { code: "model_failed", reason: "Overloaded" }],
    ["an abort of the framework", { type: "abort" }, { code: "run_failed" }],
    ["an error as the reason", { type: "finish", finishReason: "error" }, { code: "model_failed" }],
  ])("fails the run on %s", async (_what, part, expected) => {
    const { end } = await recordParts([{ type: "start" }, part]);
    expect(end).toMatchObject({ status: "error", ...expected });
  });

  it.each([42, undefined, { textStream: [] }])("refuses %o", async (input) => {
    const run = await record(new MemoryLog(), REQUEST, fromAISDK(input as never));
    await expect(run.ended).resolves.toMatchObject({ status: "error", code: "invalid_arguments" });
  });

  it("records invalid arguments as a failed call", async () => {
    const log = new MemoryLog();
    const script = { turns: [{ cities: ["Oslo"] }, { text: ["No."] }] };
    const result = streamText({
      model: createModel(script),
      tools: { weather: tool({ inputSchema: z.object({ place: z.string() }), execute: () => 1 }) },
      messages: PROMPT,
      stopWhen: stepCountIs(5),
    });
    await (
      await record(log, REQUEST, fromAISDK(result))
    ).ended;
    expect(await readEvents(log)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ type: "tool_end", call_id: "call-Oslo", is_error: true }) as AnyEvent,
        expect.objectContaining({ type: "reply", reply: "No." }) as AnyEvent,
      ]),
    );
  });

  it("runs a call with the arguments that the user edited", async () => {
    const log = new MemoryLog();
    const ran: JsonObject[] = [];
    const prompts: unknown[] = [];
    const agent = serve({ ...WEATHER, onTool: (input) => void ran.push(input) }, prompts);
    await using session = await agent.openSession(log, "chat-7");
    const run = await agent.answer(session, "How cold is it?", { runId: "run-1" });
    await waitForApproval(log);
    await sendCommand(log, {
      commandId: "answer",
      sessionId: "chat-7",
      kind: "approve",
      body: { run_id: "run-1", call_id: "call-Oslo", decision: "approved", arguments: { city: "Bergen" } },
    });
    await expect(run.ended).resolves.toMatchObject({ status: "completed" });
    expect(ran).toEqual([{ city: "Bergen" }]);
    expect(prompts).toMatchObject([
      [],
      [
        {
          role: "assistant",
          content: [{ type: "tool-call", input: { city: "Bergen" } }, { type: "tool-approval-request" }],
        },
        { role: "tool", content: [{ type: "tool-approval-response", approved: true }] },
      ],
    ]);
  });

  it("asks again when a later step needs approval, with all messages so far", async () => {
    const log = new MemoryLog();
    const prompts: unknown[][] = [];
    const turns = [{ cities: ["Oslo"] }, { cities: ["Bergen"] }, { text: ["It is cold."] }];
    const agent = serve({ turns, needsApproval: true }, prompts);
    await using session = await agent.openSession(log, "chat-7");
    const run = await agent.answer(session, "How cold is it?", { runId: "run-1" });
    for (const [index, city] of ["Oslo", "Bergen"].entries()) {
      while ((await readEvents(log)).filter(({ type }) => type === "tool_approval").length <= index)
        await setTimeout(5);
      const body = { run_id: "run-1", call_id: `call-${city}`, decision: index === 0 ? "approved" : "rejected" };
      await sendCommand(log, { commandId: city, sessionId: "chat-7", kind: "approve", body });
    }
    await expect(run.ended).resolves.toMatchObject({ status: "completed" });
    expect(prompts.map((messages) => messages.length)).toEqual([0, 2, 5]);
    const ends = (await readEvents(log)).filter(({ type }) => type === "tool_end");
    expect(ends).toMatchObject([
      { call_id: "call-Oslo", is_error: false },
      { call_id: "call-Bergen", is_error: true, error_code: "tool_rejected" },
    ]);
  });

  it("rejects a call that needs approval if the framework cannot be called again", async () => {
    const log = new MemoryLog();
    const [model, tools] = [createModel(WEATHER), createTools(WEATHER)];
    const result = streamText({ model, tools, messages: PROMPT, toolApproval: createApproval(WEATHER) });
    const run = await record(log, REQUEST, fromAISDK(result));
    await expect(run.ended).resolves.toMatchObject({ status: "completed" });
    expect((await readEvents(log)).filter(({ type }) => type === "tool_end" || type === "tool_approval")).toMatchObject(
      [
        {
          type: "tool_end",
          call_id: "call-Oslo",
          result: expect.stringMatching(/; the call was not run$/) as unknown,
          error_code: "approval_unavailable",
        },
      ],
    );
  });

  it("records a call that a rule of the program denies, without asking", async () => {
    const log = new MemoryLog();
    const [model, tools] = [createModel(WEATHER), createTools(WEATHER)];
    const stopWhen = stepCountIs(5);
    const result = streamText({ model, tools, messages: PROMPT, stopWhen, toolApproval: { weather: "denied" } });
    const run = await record(
      log,
      REQUEST,
      fromAISDK(() => result),
    );
    await expect(run.ended).resolves.toMatchObject({ status: "completed" });
    const events = (await readEvents(log)).filter(({ type }) => /^tool_(start|end|approval)/.test(type));
    expect(events).toMatchObject([{ type: "tool_end", call_id: "call-Oslo", error_code: "tool_rejected" }]);
  });

  it("gives the conversation to the next turn as messages of the framework", async () => {
    const log = new MemoryLog();
    const script = { turns: [{ text: ["I look."], cities: ["Oslo"] }, { text: ["It is cold."] }] };
    const first = streamText({
      model: createModel(script),
      tools: createTools(script),
      messages: PROMPT,
      stopWhen: stepCountIs(5),
    });
    await (
      await record(log, REQUEST, fromAISDK(first))
    ).ended;
    const messages: ModelMessage[] = (await conversation(log, "chat-7")).toModelMessages();
    const model = createModel({ turns: [{ text: ["Yes."] }] });
    const second = streamText({ model, messages: [...messages, { role: "user", content: "Sure?" }] });
    await expect(second.text).resolves.toBe("Yes.");
    expect(model.doStreamCalls[0]?.prompt).toMatchObject([
      { role: "user", content: [{ text: "How cold is it?" }] },
      { role: "assistant", content: [{ text: "I look." }, { type: "tool-call", input: { city: "Oslo" } }] },
      { role: "tool", content: [{ output: { type: "text", value: '{"city":"Oslo","degrees":-3}' } }] },
      { role: "assistant", content: [{ text: "It is cold." }] },
      { role: "user", content: [{ text: "Sure?" }] },
    ]);
  });
});
