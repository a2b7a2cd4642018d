// Bad answers of models and tools, and bad frames of control connections: what a run or a client is sent about them.
import { expect, vi } from "vitest";
import { z } from "zod";
import { agent, type AgentCallOptions } from "../../src/agents/index.ts";
import { openSession, type Session } from "../../src/engine/index.ts";
import { defineGraph, invokeGraph } from "../../src/graph/index.ts";
import { MemoryLog } from "../../src/log/index.ts";
import type { ScriptedFault, ScriptedTurn } from "../../src/models/scripted-model.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { ControlConnection } from "../../src/server/index.ts";
import { defineTool, type ToolDefinition } from "../../src/tools/index.ts";
import { type BadInputs, describeError } from "./describe-refusal.ts";

interface AgentRun {
  readonly options?: object;
  readonly call?: AgentCallOptions;
}

/** Runs an agent whose model answers with these turns. Returns the problems of the run and what the tools returned. */
const runOf =
  (turns: readonly ScriptedTurn[], { options = {}, call = {} }: AgentRun = {}) =>
  async (): Promise<string> => {
    const model = new ScriptedModel(turns);
    const common = { model, callOptions: { maxRetries: 0 }, onError() {} };
    await using actor = agent({ ...common, ...options });
    const { errors } = await actor.run("Hi", call);
    const results = model.prompts.at(-1)?.flatMap((message) => (message.role === "tool" ? message.content : [])) ?? [];
    return [
      ...errors.map(({ code = "", message, stage }) => describeError({ code, message, details: { stage } })),
      ...results.map((part) => `the model receives ${JSON.stringify(part)}`),
    ].join("\n");
  };

const failing = (fault: ScriptedFault, options: object = {}) =>
  runOf([{ text: "One. Two. Three.", fault }], { options });
const responding = (statusCode: number, message: string, headers: object = {}) => {
  const error = Object.assign(new Error(message), { statusCode, responseHeaders: headers });
  return failing({ kind: "throw", error });
};
/** Ignores its signal. */
const never = () => new Promise<never>(() => undefined);
const input = z.object({ n: z.number() });
const calling = (
  { execute = () => "", ...tool }: Partial<ToolDefinition<typeof input>>,
  { options = {}, ...run }: AgentRun = {},
) =>
  runOf([{ calls: [{ name: "look", input: { n: 1 } }] }, { text: "Done." }], {
    ...run,
    options: { tools: [defineTool({ name: "look", description: "Looks.", input, execute, ...tool })], ...options },
  });
const throwing = (text: string) => () => {
  throw new Error(text);
};

const RUNS: BadInputs = {
  "model: a key that is wrong": responding(401, "Incorrect API key"),
  "model: a name that is unknown": responding(404, "No such model"),
  "model: too many requests": responding(429, "Slow down", { "retry-after": "7" }),
  "model: a server that fails": responding(503, "Overloaded"),
  "model: a request that is refused": responding(400, "Bad temperature"),
  "model: an error in the answer": failing({ kind: "error", after: 1, error: new Error("Broken") }),
  "model: a connection that breaks": failing({ kind: "break", after: 1 }),
  "model: an answer without an end": failing({ kind: "cut", after: 1 }),
  "model: an answer that stops": failing(
    { kind: "stall", after: 1 },
    { callOptions: { maxRetries: 0, idleTimeoutMs: 20 } },
  ),
  "model: no answer": runOf([{ text: "" }, { text: "" }, { text: "" }]),
  "model: an answer that is cut": runOf([{ text: "One.", finishReason: "length" }]),
  "model: an answer that is too long": runOf([{ text: "One. Two. Three." }], {
    options: { callOptions: { maxOutputCharacters: 5 } },
  }),
  "model: too many calls": runOf([{ calls: [{ name: "a" }, { name: "b" }] }], {
    options: { callOptions: { maxToolCalls: 1 } },
  }),
  "model: an answer of another form": runOf([{ text: "Oslo" }, { text: '{"city": 7}' }], {
    call: { output: z.object({ city: z.string() }), outputRetries: 1 },
  }),
  "model: more rounds than allowed": calling({}, { options: { maxIterations: 1 } }),
  "model: a tool that does not exist": runOf([{ calls: [{ name: "loook" }] }, { text: "Done." }]),
  "prompt: more than the window": runOf([{ text: "One." }], {
    options: { compression: { contextWindow: 40 }, systemInstructions: "x ".repeat(400) },
  }),
  "tool: an exception": calling({ execute: throwing("No connection") }),
  "tool: an exception that is hidden": calling(
    { execute: throwing("No connection") },
    { options: { exposeToolErrors: false } },
  ),
  "tool: arguments of another type": runOf([{ calls: [{ name: "look", input: { n: "one" } }] }, { text: "Done." }], {
    options: { tools: [defineTool({ name: "look", description: "Looks.", input, execute: () => "" })] },
  }),
  "tool: too slow": calling({ timeoutMs: 20, execute: never }),
  "tool: denied": calling({}, { options: { toolRules: { look: "deny" } } }),
  "tool: rejected": calling({ approval: "always" }),
  "tool: an approval that fails": calling({ approval: "always" }, { options: { approve: throwing("No terminal") } }),
  "retriever: an exception": runOf([{ text: "One." }], { options: { retriever: { retrieve: throwing("No index") } } }),
  "retriever: too slow": runOf([{ text: "One." }], {
    options: { retriever: { retriever: { retrieve: never }, timeoutMs: 20 } },
  }),
  "run: a signal that was aborted": runOf([{ text: "One." }], { call: { signal: AbortSignal.abort() } }),
  "agent: closed": async () => {
    const actor = agent({ provider: "offline" });
    await actor.close();
    return (await actor.run("Hi")).status;
  },
  "graph: a node that is too slow": () =>
    invokeGraph(
      defineGraph({
        name: "g",
        channels: {},
        nodes: { a: { run: never, timeoutMs: 20 } },
        start: "a",
        graceMs: 0,
      }),
      {},
    ),
};

const onSession = (act: (session: Session) => unknown) => async () => {
  const session = await openSession(new MemoryLog(), "s", { onError() {} });
  try {
    return await act(session);
  } finally {
    await session.close();
  }
};
const onEndedRun = (act: (run: Awaited<ReturnType<Session["startRun"]>>, session: Session) => unknown) =>
  onSession(async (session) => {
    const run = await session.startRun({ runId: "r", message: "Hi" });
    await run.emit({ type: "tool_call", call_id: "c", name: "rm", arguments: {} });
    run.requestApproval({ callId: "c", name: "rm", arguments: {} }).catch(() => undefined);
    run.answerApproval({ callId: "c", decision: "rejected" });
    return act(run, session);
  });

const SESSIONS: BadInputs = {
  "session: closed": onSession(async (session) => {
    await session.close();
    return session.startRun({ message: "Hi" });
  }),
  "run: an approval that was answered": onEndedRun((run) => run.answerApproval({ callId: "c", decision: "approved" })),
  "run: another approval for one call": onEndedRun((run) =>
    run.requestApproval({ callId: "c", name: "ls", arguments: {} }),
  ),
  "run: an event after its end": onEndedRun(async (run) => {
    await run.finish({ reply: "Done." });
    return run.emit({ type: "message_chunk", content: "a" });
  }),
  "run: an ID that exists": onEndedRun(async (run, session) => {
    await run.finish({ reply: "Done." });
    return session.startRun({ runId: "r", message: "Hi" });
  }),
  "log: more sessions than the owner may have": async () => {
    const log = new MemoryLog({ limits: { maxOwnerSessions: 1 } });
    await log.createSession("a");
    return log.createSession("b");
  },
  "log: a message for a session of another owner": async () => {
    const log = new MemoryLog();
    await log.createSession("s", { owner: "other" });
    const command = { commandId: "c", sessionId: "s", kind: "enqueue", body: { message: "Hi" } } as const;
    return log.submit(command, { owner: "me", create: { owner: "me" } });
  },
};

/** Sends frames on one control connection and returns what comes back for the last. */
const control =
  (...frames: readonly (object | string)[]) =>
  async (): Promise<string> => {
    const log = new MemoryLog();
    await log.createSession("s");
    const answers: string[] = [];
    const send = (text: string): void => {
      if (!text.startsWith('{"type":"hello"')) answers.push(text);
    };
    const connection = new ControlConnection({ log, send, heartbeatMs: 0, maxSubscriptions: 1, maxInboundLength: 300 });
    for (const frame of frames) {
      const { length: count } = answers;
      connection.receive(typeof frame === "string" ? frame : JSON.stringify(frame));
      await vi.waitFor(() => expect(answers.length).toBeGreaterThan(count), { interval: 1 });
    }
    connection.close();
    return answers.at(-1) ?? "";
  };
const SUBSCRIBE = { type: "subscribe", id: "1", session: "s", dialect: "loom" };

const CONTROL: BadInputs = {
  "control: not JSON": control("Hello"),
  "control: a list": control("[]"),
  "control: an unknown type": control({ type: "listen", id: "1" }),
  "control: a frame without an ID": control({ type: "subscribe", session: "s" }),
  "control: a field of another type": control({ ...SUBSCRIBE, session: 7 }),
  "control: a frame that is too long": control({ ...SUBSCRIBE, session: "s".repeat(400) }),
  "control: an unknown session": control({ ...SUBSCRIBE, session: "none" }),
  "control: an unknown dialect": control({ ...SUBSCRIBE, dialect: "lom" }),
  "control: a cursor that is not one": control({ ...SUBSCRIBE, after: "abc" }),
  "control: a position after the end": control({ ...SUBSCRIBE, after: "9" }),
  "control: a session that is subscribed": control(SUBSCRIBE, { ...SUBSCRIBE, id: "2" }),
  "control: too many subscriptions": control(SUBSCRIBE, { ...SUBSCRIBE, id: "2", dialect: "engine" }),
  "control: a session that is not subscribed": control({ type: "unsubscribe", id: "1", session: "s", dialect: "loom" }),
  "control: a command for an unknown session": control({ type: "cancel", id: "1", session: "none", run_id: "r" }),
  "control: a command without a field": control({ type: "approve", id: "1", session: "s", decision: "approved" }),
  "control: a value that does not exist": control({
    type: "feedback",
    id: "1",
    session: "s",
    run_id: "r",
    rating: "fine",
  }),
};

export const RUN_FAILURES: BadInputs = { ...RUNS, ...SESSIONS, ...CONTROL };
