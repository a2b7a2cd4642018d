// Tools of the AI SDK without `execute`: the client carries them out, and the framework continues with the result.
import { jsonSchema, type ModelMessage, stepCountIs, streamText, tool, type ToolSet } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { ReadableStream as NodeReadableStream } from "node:stream/web";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { expectValid } from "../../test/contracts/sender.ts";
import { sendCommand } from "../engine/send-command.ts";
import { type Log, MemoryLog } from "../log/index.ts";
import type { EventOf, EventType, Json } from "../protocol/index.ts";
import { foreignAgent } from "./foreign-agent.ts";
import { fromAISDK } from "./from-ai-sdk.ts";
import { record } from "./record.ts";
import { LONG } from "../../test/sampling.ts";

type Streamed = Awaited<ReturnType<MockLanguageModelV4["doStream"]>>;
type ModelPart = Streamed["stream"] extends ReadableStream<infer T> ? T : never;

const USAGE = {
  inputTokens: { total: 3, noCache: 3, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};
const PROMPT: ModelMessage[] = [{ role: "user", content: "Where am I?" }];

/** Calls `locate` and `add` at first, and repeats the results once it has them. */
function* play(prompt: readonly { readonly role: string; readonly content: unknown }[]): Generator<ModelPart> {
  const results = prompt.flatMap(({ role, content }) => (role === "tool" ? (content as object[]) : []));
  yield { type: "stream-start", warnings: [] };
  if (results.length === 0) {
    yield { type: "tool-call", toolCallId: "call-at", toolName: "locate", input: "{}" };
    yield { type: "tool-call", toolCallId: "call-add", toolName: "add", input: '{"a":1,"b":2}' };
  } else {
    yield { type: "text-start", id: "t" };
    yield { type: "text-delta", id: "t", delta: JSON.stringify(results) };
    yield { type: "text-end", id: "t" };
  }
  const unified = results.length === 0 ? "tool-calls" : "stop";
  yield { type: "finish", finishReason: { unified, raw: unified }, usage: USAGE };
}

const model = new MockLanguageModelV4({
  doStream: ({ prompt }) =>
    Promise.resolve({ stream: NodeReadableStream.from(play(prompt)) as ReadableStream<ModelPart> }),
});
const add = tool({ inputSchema: z.object({ a: z.number(), b: z.number() }), execute: ({ a, b }) => a + b });
const tools: ToolSet = {
  locate: tool({ description: "Returns the city.", inputSchema: jsonSchema({ type: "object" }) }),
  add,
};

async function listEvents<T extends EventType>(log: Log, type: T): Promise<readonly EventOf<T>[]> {
  if ((await log.getSession("s")) === undefined) return [];
  const { records } = await log.read("s", { after: 0, limit: 1000 });
  return records.flatMap(({ event }) => (event.type === type ? [event as EventOf<T>] : []));
}

async function untilDelegated(log: Log): Promise<void> {
  const find = async () => (await listEvents(log, "tool_start")).filter(({ executor }) => executor === "client");
  await expect.poll(find, { timeout: 30_000 }).toMatchObject([{ call_id: "call-at", name: "locate" }]);
}

async function answer(log: Log, body: { readonly [name: string]: Json }): Promise<string | undefined> {
  const [run] = await log.listRuns("s", { limit: 1 });
  const given = { run_id: run?.runId ?? "", call_id: "call-at", ...body };
  const command = { commandId: crypto.randomUUID(), sessionId: "s", kind: "tool_result", body: given } as const;
  return (await sendCommand(log, command)).outcome?.code;
}

describe("a tool of the AI SDK without `execute`", () => {
  it.each([
    [{ output: { city: "Lisbon" } }, "Lisbon"],
    [{ output: "No permission", is_error: true }, '"error-text","value":"No permission"'],
  ])("waits for the client, and the framework continues with the result: %j", async (body, expected) => {
    const log = new MemoryLog();
    const source = fromAISDK(({ signal, messages }) =>
      streamText({ model, tools, abortSignal: signal, messages: [...PROMPT, ...messages], stopWhen: stepCountIs(5) }),
    );
    const run = await record(log, { sessionId: "s", message: "Where am I?" }, source);
    await untilDelegated(log);
    expect(await answer(log, body)).toBe("done");
    expect(await answer(log, body)).toMatch(/already_answered|run_ended/);
    await expect(run.ended).resolves.toMatchObject({ status: "completed" });
    const [reply] = await listEvents(log, "reply");
    expect(reply?.reply).toContain(expected);
    // The call with `execute` was carried out once, by the framework.
    expect(reply?.reply).toContain("call-add");
    expect(await listEvents(log, "tool_start")).toHaveLength(2);
    expect(await listEvents(log, "tool_end")).toHaveLength(2);
    await expectValid(log, "s");
  });

  it("ends with the run if the framework cannot be called again", async () => {
    const log = new MemoryLog();
    const source = fromAISDK(streamText({ model, tools, messages: PROMPT }));
    const run = await record(log, { sessionId: "s", message: "Where am I?" }, source);
    await expect(run.ended).resolves.toMatchObject({ status: "completed" });
    expect((await listEvents(log, "tool_start")).some(({ executor }) => executor === "client")).toBe(false);
    expect(await listEvents(log, "tool_end")).toHaveLength(2);
  });

  it("is cancelled with its run", async () => {
    const log = new MemoryLog();
    const source = fromAISDK(({ messages }) => streamText({ model, tools, messages: [...PROMPT, ...messages] }));
    const run = await record(log, { sessionId: "s", message: "Where am I?" }, source);
    await untilDelegated(log);
    await sendCommand(log, { commandId: "stop", sessionId: "s", kind: "cancel", body: {} });
    await expect(run.ended).resolves.toMatchObject({ status: "cancelled" });
  });

  it.runIf(LONG)("waits on after a crash, and the framework is asked again with the result", async () => {
    const log = new MemoryLog();
    const attempts: number[] = [];
    // The client of the run brings `locate`.
    const helper = foreignAgent((_message, { attempt, clientTools, conversation }) => {
      attempts.push(attempt);
      const own: ToolSet = { add };
      for (const { name, description = "", inputSchema = {} } of clientTools)
        own[name] = tool({ description, inputSchema: jsonSchema({ type: "object", ...inputSchema }) });
      return fromAISDK(async ({ signal, messages }) => {
        const history = (await conversation()).toModelMessages();
        return streamText({
          model,
          tools: own,
          abortSignal: signal,
          messages: [...history, ...messages],
          stopWhen: stepCountIs(5),
        });
      });
    });
    const first = await helper.openSession(log, "s");
    const body = { message: "Where am I?", run_id: "r", client_tools: [{ name: "locate" }] };
    await log.submit({ commandId: "c", sessionId: "s", kind: "enqueue", body });
    await untilDelegated(log);
    await log.release(await log.acquire("s", { holder: "other", ttlMs: 1000, takeover: true }));
    await first.closed;

    await using _second = await helper.openSession(log, "s");
    expect(attempts).toEqual([1]);
    expect(await answer(log, { output: "Lisbon" })).toBe("done");
    await expect.poll(async () => (await log.getRun("s", "r"))?.status, { timeout: 30_000 }).toBe("completed");
    const [reply] = await listEvents(log, "reply");
    expect(reply?.reply).toContain("Lisbon");
    expect(attempts).toEqual([1, 1]);
    expect(new Set((await listEvents(log, "tool_start")).map(({ call_id }) => call_id)).size).toBe(2);
    expect(await listEvents(log, "tool_start")).toHaveLength(2);
    await expectValid(log, "s");
  });
});
