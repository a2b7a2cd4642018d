/**
 * A process with agents of other frameworks, for tests that kill it. Each message is the name of a plan. Prints
 * `listening <url>` at the start of a server, `attempt <session> <n> <roles>` when the agent is asked,
 * `tool <session> <city>` when its tool runs, `aborted <session>` when its signal fires, and `ended <session> <status>`
 * when a recorded run has ended.
 *
 * Arguments: the store, and what to record, as `<session>=<plan>`. Without the latter, it serves.
 */
import { stepCountIs, streamText, tool } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { ReadableStream as NodeReadableStream } from "node:stream/web";
import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import { foreignAgent, type ForeignContext, fromAISDK, record, type ForeignSource } from "../../src/adapters/index.ts";
import { openSqliteLog } from "../../src/log/index.ts";
import { startLoomServer } from "../../src/server/loom-server.ts";
import { printLine } from "../durability/print-line.ts";
import { createDurableGraph, createForgetfulGraph, createOpenAIAgent } from "./approved-agents.ts";

type Streamed = Awaited<ReturnType<MockLanguageModelV4["doStream"]>>;
type ModelPart = Streamed["stream"] extends ReadableStream<infer T> ? T : never;
/** What a plan needs to know. A recorded run has no conversation. */
type PlanContext = Pick<ForeignContext, "sessionId" | "runId"> & Partial<ForeignContext>;

const [store = "", ...recordings] = process.argv.slice(2);
const COUNT = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0, text: 1, reasoning: 0 };

/** Calls a tool first. After its result, the answer may be endless. */
async function* play(isEndless: boolean, hasResult: boolean): AsyncGenerator<ModelPart> {
  yield { type: "stream-start", warnings: [] };
  if (hasResult) {
    yield { type: "text-start", id: "t" };
    yield { type: "text-delta", id: "t", delta: "It is " };
    if (isEndless)
      for (let index = 0; ; index++) {
        await setTimeout(20);
        yield { type: "text-delta", id: "t", delta: `${index} ` };
      }
    yield { type: "text-delta", id: "t", delta: "cold." };
    yield { type: "text-end", id: "t" };
  } else {
    yield { type: "reasoning-start", id: "r" };
    yield { type: "reasoning-delta", id: "r", delta: "I look." };
    yield { type: "reasoning-end", id: "r" };
    yield { type: "tool-call", toolCallId: "call-Oslo", toolName: "weather", input: '{"city":"Oslo"}' };
  }
  const unified = hasResult ? "stop" : "tool-calls";
  yield { type: "finish", finishReason: { unified, raw: unified }, usage: { inputTokens: COUNT, outputTokens: COUNT } };
}

/** Ignores the signal, never yields again, and cannot be closed. */
async function* hang(): AsyncGenerator<string> {
  try {
    yield "It is ";
    await new Promise(() => undefined);
  } finally {
    await new Promise(() => undefined);
  }
}

async function createSource(plan: string, context: PlanContext): Promise<ForeignSource> {
  const { sessionId, runId, attempt = 1, conversation } = context;
  const say = (word: string, rest: string): void => printLine(`${word} ${sessionId} ${rest}`);
  const watch = (signal: AbortSignal): void => signal.addEventListener("abort", () => say("aborted", ""));
  if (plan === "graph") return createDurableGraph(`${store}.graph`, runId, say);
  if (plan === "forgetful") return createForgetfulGraph(say);
  if (plan === "openai") return createOpenAIAgent(say);
  const history = (await conversation?.())?.toModelMessages() ?? [{ role: "user" as const, content: plan }];
  say("attempt", `${attempt} ${history.map(({ role }) => role).join(",")}`);
  if (plan === "deaf")
    return {
      framework: "deaf",
      start({ signal }) {
        watch(signal);
        return hang();
      },
    };
  const isEndless = plan === "endless" || (plan === "once" && attempt === 1);
  const model = new MockLanguageModelV4({
    doStream: ({ prompt }) => {
      const parts = play(isEndless, prompt.at(-1)?.role === "tool");
      return Promise.resolve({ stream: NodeReadableStream.from(parts) as ReadableStream<ModelPart> });
    },
  });
  const weather = tool({
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => {
      say("tool", city);
      if (plan === "tool") await new Promise(() => undefined);
      return { city, degrees: -3 };
    },
  });
  return fromAISDK(({ signal, messages }) => {
    watch(signal);
    return streamText({
      model,
      tools: { weather },
      toolApproval: { weather: plan === "approve" ? ("user-approval" as const) : undefined },
      abortSignal: signal,
      messages: [...history, ...messages],
      stopWhen: stepCountIs(5),
      onError: () => undefined,
    });
  });
}

const log = await openSqliteLog(store);
for (const recording of recordings) {
  const [sessionId = "", plan = ""] = recording.split("=");
  const source = await createSource(plan, { sessionId, runId: "" });
  const run = await record(log, { sessionId, message: plan }, source);
  void run.ended.then(({ status }) => printLine(`ended ${sessionId} ${status}`));
}
if (recordings.length === 0) {
  const helper = foreignAgent((message, context) => createSource(message, context), { maxAttempts: 2 });
  const server = await startLoomServer({ log, agents: { helper }, port: 0 });
  printLine(`listening ${server.url}`);
}
