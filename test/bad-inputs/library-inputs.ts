// Bad inputs of programs: options, definitions, and what they append to a log, submit to it and read from it.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { z } from "zod";
import { record } from "../../src/adapters/index.ts";
import { agent, type AgentCallOptions } from "../../src/agents/index.ts";
import { openKnowledgeBase } from "../../src/context/index.ts";
import { DIALECT_NAMES, DIALECTS } from "../../src/dialects/index.ts";
import { openSession, sendCommand, StreamingEngine } from "../../src/engine/index.ts";
import { append, defineGraph, invokeGraph, replace } from "../../src/graph/index.ts";
import {
  type Command,
  forkBeforeRun,
  forkSession,
  importSession,
  MemoryLog,
  openSqliteLog,
  openStream,
  readCheckpoint,
} from "../../src/log/index.ts";
import { createEntry } from "../../src/log/entry.ts";
import { callModel, OfflineModel, resolveModel } from "../../src/models/index.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { createCallbackObserver } from "../../src/observe/index.ts";
import { type Issue, validateEvent } from "../../src/protocol/index.ts";
import { createLoomHandler, openCredentials } from "../../src/server/index.ts";
import {
  createBuiltinTools,
  defineTool,
  evaluateExpression,
  openMcpServers,
  readMcpConfig,
  type Tool,
} from "../../src/tools/index.ts";
import { createToolbox } from "../../src/tools/toolbox.ts";
import { folder } from "../cli-run.ts";
import { callOf, createToolRecorder, run, toolOf } from "../tool-recorder.ts";
import { type BadInputs, describeError } from "./describe-refusal.ts";

/** A value of any type, which the declarations of the library would not accept. */
const wrong = (value: unknown): never => value as never;
const promise = Promise.resolve({});

const ofAgent = (options: object) => () => void agent(wrong({ provider: "offline", ...options }));
const ofCall =
  (options: object, message: unknown = "Hi") =>
  async () => {
    await using actor = agent({ model: new ScriptedModel([{ text: "Hello." }]) });
    return (await actor.run(wrong(message), options as AgentCallOptions)).status;
  };

const AGENTS: BadInputs = {
  "agent: a kind with a typing error": ofAgent({ kind: "reactt" }),
  "agent: an option with a typing error": ofAgent({ sytemInstructions: "Be brief" }),
  "agent: the option of another framework": ofAgent({ maxSteps: 3 }),
  "agent: an option of another kind": ofAgent({ beam: 3 }),
  "agent: an unknown option inside an option": ofAgent({ callOptions: { timeoutMs: 5 } }),
  "agent: a setting of another type": ofAgent({ settings: { temperature: "hot" } }),
  "agent: a number that is too large": ofAgent({ compression: { threshold: 2 } }),
  "agent: a target above the threshold": ofAgent({ compression: { threshold: 0.5, target: 0.6 } }),
  "agent: an integer that is too small": ofAgent({ kind: "got", branches: 0 }),
  "agent: a promise": ofAgent({ log: promise }),
  "agent: a list with a wrong item": ofAgent({ tools: [null] }),
  "agent: a wrong rule of a tool": ofAgent({ toolRules: { rm: "perhaps" } }),
  "agent: two tools with one name": ofAgent({ tools: [toolOf(() => ""), toolOf(() => "")] }),
  "agent: no model": () => void agent(wrong({})),
  "agent: a list of 11 models": () => void agent({ model: Array.from({ length: 11 }, () => "offline") }),
  "agent: options that are a promise": () => void agent(wrong(promise)),
  "call: an option with a typing error": ofCall({ sesionId: "s" }),
  "call: a message of another type": ofCall({}, 7),
  "call: a message without a text": ofCall({}, { parts: [] }),
  "call: a session ID that is too long": ofCall({ sessionId: "s".repeat(257) }),
  "call: instructions of another type": ofCall({ instructions: 1 }),
  "call: instructions that are too long": ofCall({ instructions: "x".repeat(32 * 1024 + 1) }),
  "call: a context that is too large": ofCall({ context: { text: "x".repeat(20_000) } }),
  "call: a client tool with a wrong name": ofCall({ clientTools: [{ name: "close tab" }] }),
  "call: a client tool with a wrong schema": ofCall({ clientTools: [{ name: "a", inputSchema: { type: "array" } }] }),
  "call: an output schema that is not an object": ofCall({ output: wrong(true), outputSchema: wrong([]) }),
  "call: a choice that does not exist": ofCall({ whenBusy: "wait" }),
  "agent as a tool: an option with a typing error": () =>
    void agent({ provider: "offline" }).asTool(wrong({ name: "ask", description: "Asks", maxDept: 2 })),
};

const nameModel = (choice: unknown) => () => resolveModel(wrong(choice), { env: {} });
const askModel = (options: object) => () =>
  callModel(new OfflineModel(), { messages: [] }, wrong({ onText() {} }), wrong(options));

const MODELS: BadInputs = {
  "model: a model without its provider": nameModel("gpt-5"),
  "model: an unknown provider": nameModel("nowhere/model"),
  "model: an empty name": nameModel("/"),
  "model: no key": nameModel("openai/gpt-5"),
  "model: a field with a typing error": nameModel({ provider: "openai", baseUrl: "http://127.0.0.1/v1" }),
  "model: a base URL of another scheme": nameModel({ provider: "a", model: "b", baseURL: "ftp://127.0.0.1" }),
  "model: a base URL with a password": nameModel({ provider: "a", model: "b", baseURL: "http://u:p@127.0.0.1" }),
  "model: an unknown API": nameModel({ provider: "openai", apiKey: "k", api: "soap" }),
  "model call: an option with a typing error": askModel({ maxRetry: 1 }),
  "model call: a wrong number of retries": askModel({ maxRetries: Number.POSITIVE_INFINITY }),
};

const input = z.object({ n: z.number() });
const ofTool = (fields: object) => () =>
  void defineTool(wrong({ name: "tool", description: "d", input, execute: () => "", ...fields }));
const useTool = (name: string, given: object) => async () => {
  mkdirSync(join(folder, "workspace"), { recursive: true });
  const tools = createBuiltinTools({ workspace: join(folder, "workspace"), fetch: true });
  const tool = tools.find((each) => each.name === name) ?? wrong(undefined);
  return callTool(tool, given, name);
};
async function callTool(tool: Tool, given: object | string, name?: string): Promise<string> {
  const { errorCode = "none", result } = await run(tool, createToolRecorder(), callOf(given, name));
  return describeError({ code: errorCode, message: result });
}
const calculate = (expression: string) => () => {
  const evaluation = evaluateExpression(expression);
  return evaluation.ok ? undefined : `at ${evaluation.position}: ${evaluation.message}`;
};

const TOOLS: BadInputs = {
  "tool: a field of another framework": ofTool({ parameters: {} }),
  "tool: a name with a space": ofTool({ name: "get weather" }),
  "tool: a schema that is not one": ofTool({ input: { type: "object" } }),
  "tool: an approval that does not exist": ofTool({ approval: "sometimes" }),
  "tool: two ways of approval": ofTool({ approval: "always", needsApproval: true }),
  "tool: a timeout of 0": ofTool({ timeoutMs: 0 }),
  "tool: a limit without a function": ofTool({ execute: undefined, concurrency: 2 }),
  "tool: more than a toolbox takes": () =>
    void createToolbox(Array.from({ length: 1001 }, (_, n) => ({ ...toolOf(() => ""), name: `tool_${n}` }))),
  "tool call: arguments that are not JSON": () =>
    callTool(
      toolOf(() => ""),
      '{"n": 1,',
    ),
  "tool call: arguments of another type": () =>
    callTool(
      toolOf(() => ""),
      { n: "one" },
    ),
  "tool call: an unknown tool": () =>
    callTool(
      toolOf(() => ""),
      { n: 1 },
      "tol",
    ),
  "tool call: a file outside the workspace": useTool("read_file", { path: "../secret" }),
  "tool call: a missing file": useTool("read_file", { path: "nothing.txt" }),
  "tool call: a URL that is not public": useTool("http_fetch", { url: "http://127.0.0.1/" }),
  "tool call: a URL of another scheme": useTool("http_fetch", { url: "file:///etc/passwd" }),
  "tool call: a chart with unequal lists": useTool("show_chart", {
    kind: "bar",
    labels: ["a", "b"],
    series: [{ name: "s", values: [1] }],
  }),
  "tool call: an expression with an error": useTool("calculator", { expression: "2 + * 3" }),
  "calculator: a division by zero": calculate("1 / (2 - 2)"),
  "calculator: a power that is too large": calculate("9 ^ 9 ^ 9"),
  "calculator: an unknown function": calculate("squareroot(2)"),
  "MCP: a missing file": () => readMcpConfig(join(folder, "nothing.json")),
  "MCP: a file that is not JSON": () => readMcpConfig(writeFile("mcp.json", '{"mcpServers": {,}}')),
  "MCP: a variable that is not set": () =>
    readMcpConfig(writeFile("variable.json", '{"mcpServers": {"a": {"command": "${NO_SUCH}"}}}'), {}),
  "MCP: a command and a URL": () => openMcp({ a: { command: "a", url: "http://127.0.0.1" } }),
  "MCP: arguments of another type": () => openMcp({ a: { command: "a", args: ["b", 3] } }),
  "MCP: an unknown transport": () => openMcp({ a: { type: "sse", url: "http://127.0.0.1" } }),
  "MCP: an option that is too small": () => openMcp({}, { maxTools: -1 }),
};

async function openMcp(mcpServers: object, options: object = {}): Promise<void> {
  const opened = await openMcpServers(wrong({ mcpServers }), wrong(options));
  await opened.close();
}

function writeFile(name: string, text: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const node = () => undefined;
const graph = { name: "g", channels: { count: replace(0), names: append<string>() }, nodes: { a: node }, start: "a" };
const ofGraph = (fields: object) => () => void defineGraph(wrong({ ...graph, ...fields }));

const GRAPHS: BadInputs = {
  "graph: an unknown start": ofGraph({ start: "b" }),
  "graph: an edge to an unknown node": ofGraph({ edges: { a: "b" } }),
  "graph: a node that is not a function": ofGraph({ nodes: { a: node, b: 7 } }),
  "graph: retries without a number": ofGraph({ nodes: { a: { run: node, retry: { attempts: 0 } } } }),
  "graph: a channel of an unknown kind": ofGraph({ channels: { c: { kind: "other", initial: 0 } } }),
  "graph: a limit that is not an integer": ofGraph({ maxTasks: 1.5 }),
  "graph: an update of an unknown channel": () => invokeGraph(defineGraph(wrong(graph)), wrong({ sum: 1 })),
  "graph: an update of another type": () => invokeGraph(defineGraph(wrong(graph)), wrong({ names: "x" })),
  "graph: more steps than allowed": () =>
    invokeGraph(defineGraph(wrong({ ...graph, edges: { a: "a" }, maxSteps: 3 })), {}),
  "graph: a node that returns another type": () =>
    invokeGraph(defineGraph(wrong({ ...graph, nodes: { a: () => 7 } })), {}),
  "graph: a fan-out to an unknown node": () =>
    invokeGraph(defineGraph(wrong({ ...graph, edges: { a: () => [{ node: "b", input: 1 }] } })), {}),
};

/** Options of the log in which these inputs are used. */
const LIMITS = { maxEventBytes: 500, maxBatchRecords: 3, maxCommandBytes: 200, maxPendingCommands: 4 };
const entryOf = (eventId: number, event: object = { type: "run_start", run_id: "r", message: "Hi" }) =>
  createEntry({
    envelope: { session_id: "s", run_id: "r", event_id: eventId, ts: 1_700_000_000_000 },
    event: wrong(event),
  });
const commandOf = (fields: object = {}): Command =>
  wrong({ commandId: "c", sessionId: "s", kind: "cancel", body: {}, ...fields });

interface WrittenLog {
  readonly log: MemoryLog;
  readonly epoch: number;
  /** Appends entries after the records of the session. */
  readonly add: (entries: readonly unknown[], fields?: object) => Promise<unknown>;
}

/** Passes a log with one session, which has one record and one pending command. */
const onLog = (use: (written: WrittenLog) => unknown) => async () => {
  const log = new MemoryLog({ limits: LIMITS });
  await log.createSession("empty");
  const { epoch } = await log.acquire("s", { holder: "holder", ttlMs: 60_000 });
  const add: WrittenLog["add"] = (entries, fields = {}) =>
    log.append({ sessionId: "s", epoch, expectedLastId: 1, entries: wrong(entries), ...fields });
  await log.append({ sessionId: "s", epoch, expectedLastId: 0, entries: [entryOf(1)] });
  await log.submit(commandOf({ commandId: "pending" }));
  return use({ log, epoch, add });
};
const stream = (log: MemoryLog, options: object) => async () => {
  for await (const frames of openStream(log, "s", wrong({ dialect: "loom", ...options }))) return frames.length;
  return 0;
};
const onStream = (options: object) => onLog(({ log }) => stream(log, options)());

const importing = (text: string, sessionId = "imported") =>
  onLog(({ log }) => importSession(log, Readable.from([text]), { sessionId }));

const LOGS: BadInputs = {
  "log: an empty session ID": onLog(({ log }) => log.createSession("")),
  "log: a title that is too long": onLog(({ log }) => log.createSession("t", { title: "t".repeat(1001) })),
  "log: an owner that is too long": onLog(({ log }) => log.createSession("t", { owner: "o".repeat(201) })),
  "log: a session of another owner": onLog(({ log }) => log.createSession("s", { owner: "other" })),
  "log: an update of an unknown session": onLog(({ log }) => log.updateSession("none", { title: "t" })),
  "log: a lease of a session with a writer": onLog(({ log }) => log.acquire("s", { holder: "other", ttlMs: 1000 })),
  "log: a lease of an unknown session": onLog(({ log }) =>
    log.acquire("none", { holder: "h", ttlMs: 1000, create: false }),
  ),
  "log: a duration that is not a number": onLog(({ log }) => log.acquire("t", { holder: "h", ttlMs: Number.NaN })),
  "log: an append by an old writer": onLog(({ add, epoch }) => add([entryOf(2)], { epoch: epoch - 1 })),
  "log: an append after the wrong record": onLog(({ add }) => add([entryOf(3)], { expectedLastId: 2 })),
  "log: a gap between records": onLog(({ add }) => add([entryOf(3)])),
  "log: a record of another session": onLog(({ add }) => add([entryOf(2)], { sessionId: "empty" })),
  "log: a record that is too large": onLog(({ add }) => add([entryOf(2, { type: "custom", value: "x".repeat(600) })])),
  "log: too many records": onLog(({ add }) => add([2, 3, 4, 5].map((id) => entryOf(id)))),
  "log: the outcome of a command that is not pending": onLog(({ add }) =>
    add([], { settle: [{ commandId: "c", outcome: { code: "done" } }] }),
  ),
  "log: a read of an unknown session": onLog(({ log }) => log.read("none", { after: 0 })),
  "log: a read after the end": onLog(({ log }) => log.read("s", { after: 5 })),
  "log: a read after a fraction": onLog(({ log }) => log.read("s", { after: 0.5 })),
  "log: a list after an unknown session": onLog(({ log }) => log.listSessions({ after: "none" })),
  "log: a list after an unknown run": onLog(({ log }) => log.listRuns("s", { after: "none" })),
  "log: a search without words": onLog(({ log }) => log.searchSessions({ query: wrong(7) })),
  "log: a command of an unknown session": onLog(({ log }) => log.submit(commandOf({ sessionId: "none" }))),
  "log: a command with the ID of another": onLog(({ log }) =>
    log.submit(commandOf({ commandId: "pending", kind: "toggle" })),
  ),
  "log: a command that is too large": onLog(({ log }) => log.submit(commandOf({ body: { reason: "x".repeat(300) } }))),
  "log: a command with a body of another type": onLog(({ log }) => log.submit(commandOf({ body: [] }))),
  "log: a message while a run is live": onLog(({ log }) =>
    log.submit(commandOf({ kind: "enqueue" }), { onlyIfIdle: true }),
  ),
  "log: a message for a full queue": onLog(({ log }) => log.submit(commandOf({ kind: "enqueue" }), { maxQueued: 0 })),
  "log: too many runs of one user": onLog(({ log }) =>
    log.submit(commandOf({ kind: "enqueue" }), { runLimit: { actor: "token:a", maxRuns: 0 } }),
  ),
  "log: a full inbox": onLog(async ({ log }) => {
    for (const commandId of ["2", "3", "4"]) await log.submit(commandOf({ commandId }));
    return log.submit(commandOf());
  }),
  "log: a closed log": onLog(async ({ log }) => {
    await log.close();
    return log.getSession("s");
  }),
  "stream: an unknown dialect": onStream({ dialect: "lom" }),
  "stream: an unknown mode": onStream({ modes: ["state"] }),
  "stream: a cursor that is not one": onStream({ cursor: "abc" }),
  "stream: a position after the end": onStream({ after: 9 }),
  "stream: a negative number of frames": onStream({ skip: -1 }),
  "stream: more frames than there are": onStream({ after: 0, skip: 9 }),
  "stream: a frame that is too long": onStream({ maxFrameBytes: 10 }),
  "log: a read of pruned records": onLog(async ({ log }) => {
    await log.createSession("pruned", { firstId: 5 });
    return log.read("pruned", { after: 0 });
  }),
  "stream: a session that was recreated": onLog(async ({ log }) => {
    let cursor = "";
    for await (const frames of openStream(log, "s", { dialect: "loom" })) cursor = frames[0]?.cursor ?? cursor;
    await log.deleteSession("s");
    await log.createSession("s");
    return stream(log, { cursor })();
  }),
  "fork: an unknown checkpoint": onLog(({ log }) => forkSession(log, { from: "s", checkpointId: "none", to: "f" })),
  "fork: an unknown run": onLog(({ log }) => forkBeforeRun(log, { from: "s", runId: "none", to: "f" })),
  "fork: an unknown session": onLog(({ log }) => forkBeforeRun(log, { from: "none", runId: "r", to: "f" })),
  "fork: a session that exists": onLog(({ log }) => forkBeforeRun(log, { from: "s", runId: "r", to: "empty" })),
  "checkpoint: an unknown one": onLog(({ log }) => readCheckpoint(log, "s", "none")),
  "import: a line that is not JSON": importing(`${entryOf(1).text}\n{"a":\n`),
  "import: a record that is missing": importing(`${entryOf(1).text}\n${entryOf(3).text}\n`),
  "import: a session that differs": importing(entryOf(1, { type: "run_start", run_id: "r2" }).text, "s"),
  "SQLite: a file that is not a store": () => openSqliteLog(writeFile("text.db", "Not a database. ".repeat(100))),
};

type Session = Awaited<ReturnType<typeof openSession>>;
const onSession = (act: (session: Session, log: MemoryLog) => unknown) => async () => {
  const log = new MemoryLog();
  const session = await openSession(log, "s", { onError() {} });
  try {
    return await act(session, log);
  } finally {
    await session.close();
  }
};
const onRun = (event: object) =>
  onSession(async (session) => (await session.startRun({ message: "Hi" })).emit(wrong(event)));
const onEngine = (act: (engine: StreamingEngine) => unknown) => async () => {
  const engine = new StreamingEngine("request", { sessionOptions: { onError() {} } });
  await engine.emitSessionStart("s");
  return act(engine);
};
const APPROVAL = { run_id: "r", call_id: "asked", decision: "approved" };
const RESULT = { run_id: "r", call_id: "handed", output: "" };
/** Sends a command to a session with a live run, in which a call waits for approval and another for the client. */
const sendTo = (kind: string, body: object) =>
  onSession(async (session, log) => {
    const run = await session.startRun({ runId: "r", message: "Hi" });
    for (const callId of ["asked", "handed"])
      await run.emit({ type: "tool_call", call_id: callId, name: "rm", arguments: {} });
    run.requestApproval({ callId: "asked", name: "rm", arguments: {} }).catch(() => undefined);
    void run.callClient({ callId: "handed", name: "rm" }).catch(() => undefined);
    const { outcome } = await sendCommand(log, wrong({ commandId: "c", sessionId: "s", kind, body }));
    return outcome === undefined ? "pending" : describeError({ message: "", ...outcome });
  });

const SESSIONS: BadInputs = {
  "session: an ID that is too long": () => openSession(new MemoryLog(), "s".repeat(257)),
  "session: a run while one is live": onSession(async (session) => {
    await session.startRun({ message: "Hi" });
    return session.startRun({ message: "Hi", whenBusy: "reject" });
  }),
  "run: a field of another type": onRun({ type: "message_chunk", content: 7 }),
  "run: a field that is missing": onRun({ type: "tool_call", name: "a" }),
  "run: an event that has no type": onRun({ content: "a" }),
  "run: an end without a start": onRun({ type: "tool_end", call_id: "none", name: "a", result: "", is_error: false }),
  "run: a node run that does not exist": onRun({ type: "node_exit", id: "none", result: {} }),
  "engine: an event before the start": () => new StreamingEngine("r").emitContent("a"),
  "engine: a format that does not exist": onEngine((engine) => engine.emitContent("a", wrong("pdf"))),
  "engine: a stage that does not exist": onEngine((engine) => engine.emitThinking("a", wrong("resting"))),
  "engine: progress above 100": onEngine((engine) => engine.emitToolCallProgress("a", 101)),
  "engine: the end of an unknown call": onEngine((engine) => engine.emitToolCallEnd("none", "success")),
  "engine: an end of another kind": onEngine((engine) => engine.emitToolCallEnd("none", wrong("done"))),
  "command: an unknown run": sendTo("feedback", { run_id: "none", rating: "good" }),
  "command: no run": sendTo("approve", { call_id: "asked", decision: "approved" }),
  "command: no call": sendTo("approve", { run_id: "r", decision: "approved" }),
  "command: a decision that does not exist": sendTo("approve", { ...APPROVAL, decision: "perhaps" }),
  "command: arguments that are a list": sendTo("approve", {
    ...APPROVAL,
    arguments: [],
  }),
  "command: an unknown call": sendTo("approve", { ...APPROVAL, call_id: "none" }),
  "command: another tool": sendTo("approve", { ...APPROVAL, name: "ls" }),
  "command: another digest": sendTo("approve", { ...APPROVAL, digest: "d" }),
  "command: a call of another run": sendTo("approve", { ...APPROVAL, run_id: "r2" }),
  "command: the approval of a denied tool": sendTo("approve", {
    ...APPROVAL,
    tools: { rm: "deny" },
  }),
  "command: rules of another form": sendTo("approve", {
    ...APPROVAL,
    tools: { rm: "no" },
  }),
  "command: a result for an unknown call": sendTo("tool_result", { ...RESULT, call_id: "none" }),
  "command: a result with a wrong mark": sendTo("tool_result", { ...RESULT, is_error: "yes" }),
  "command: the result of a denied tool": sendTo("tool_result", {
    ...RESULT,
    tools: { "*": "deny" },
  }),
  "command: a permission without a tool": sendTo("permission", { rule: "allow" }),
  "command: a permission with an empty name": sendTo("permission", { name: "", rule: "allow" }),
  "command: a rule that does not exist": sendTo("permission", { name: "rm", rule: "deny" }),
  "command: a permission for a denied tool": sendTo("permission", { name: "rm", rule: "allow", tools: { rm: "deny" } }),
  "command: a rating that does not exist": sendTo("feedback", { run_id: "r", rating: "fine" }),
  "command: a comment that is too long": sendTo("feedback", { run_id: "r", rating: "bad", comment: "x".repeat(4001) }),
  "command: an item without a list": sendTo("toggle", { item_id: "i", completed: true }),
  "command: an item without a change": sendTo("toggle", { list_id: "l", item_id: "i" }),
  "command: an item with a wrong state": sendTo("toggle", { list_id: "l", item_id: "i", completed: "yes" }),
  "command: a reason of another type": sendTo("cancel", { run_id: "none", reason: 7 }),
  "command: a message with a wrong source": sendTo("enqueue", { message: "Hi", source: "other" }),
  "command: a message with a wrong context": sendTo("enqueue", { message: "Hi", context: [] }),
  "command: a message with a wrong level": sendTo("enqueue", { message: "Hi", reasoning: "lots" }),
  "command: a message with wrong files": sendTo("enqueue", { message: "Hi", attachments: [7] }),
  "command: a message with too many files": sendTo("enqueue", {
    message: "Hi",
    attachments: Array.from({ length: 21 }, () => ({ blob_id: "b", media_type: "text/plain", bytes: 1 })),
  }),
  "command: a message with an unknown setting": sendTo("enqueue", { message: "Hi", strategy: { beem: 3 } }),
  "command: a message with a wrong setting": sendTo("enqueue", { message: "Hi", strategy: { beam: [] } }),
  "command: a message with a wrong choice": sendTo("enqueue", { message: "Hi", on_interruption: "retry" }),
  "command: a message with wrong capabilities": sendTo("enqueue", { message: "Hi", capabilities: [7] }),
  "command: a message with two equal tools": sendTo("enqueue", {
    message: "Hi",
    client_tools: [{ name: "a" }, { name: "a" }],
  }),
  "command: a message with a schema that is too large": sendTo("enqueue", {
    message: "Hi",
    output_schema: { description: "x".repeat(33_000) },
  }),
  "validate: a field of another type": () => {
    const validated = validateEvent({ type: "reply", reply: 7 });
    return validated.ok ? undefined : JSON.stringify(validated.fault);
  },
  "record: a source that is not one": () =>
    record(new MemoryLog(), { sessionId: "s", message: "Hi" }, wrong({ framework: "none" })),
  "record: no log": () => record(wrong({}), { sessionId: "s", message: "Hi" }, wrong({})),
  "callbacks: a time of another type": () =>
    createCallbackObserver(wrong([{ onEvent() {} }]), { timeoutMs: wrong("1") }),
  "callbacks: an object without a function": () => createCallbackObserver(wrong([{}])),
};

const onKnowledge = (act: (base: Awaited<ReturnType<typeof openKnowledgeBase>>) => unknown) => async () => {
  const base = await openKnowledgeBase(":memory:", { maxDocumentBytes: 100, maxDocuments: 1 });
  try {
    return await act(base);
  } finally {
    await base.close();
  }
};
const bytesOf = (text: string, encoding: BufferEncoding = "utf8"): Uint8Array => Buffer.from(text, encoding);

const KNOWLEDGE: BadInputs = {
  "knowledge base: a limit of another type": () => openKnowledgeBase(":memory:", { maxDepth: wrong("3") }),
  "knowledge base: a file that is not one": () =>
    openKnowledgeBase(writeFile("text.kb", "Not a database. ".repeat(99))),
  "knowledge base: a document that is too large": onKnowledge((base) =>
    base.addText({ uri: "a", text: "a".repeat(101) }),
  ),
  "knowledge base: too many documents": onKnowledge(async (base) => {
    await base.addText({ uri: "a", text: "a" });
    return base.addText({ uri: "b", text: "b" });
  }),
  "knowledge base: a format that does not exist": onKnowledge((base) =>
    base.addText({ uri: "a", text: "a", format: wrong("doc") }),
  ),
  "knowledge base: a text of another type": onKnowledge((base) => base.addText({ uri: "a", text: wrong(7) })),
  "knowledge base: an unknown type of file": onKnowledge((base) =>
    base.addBytes({ uri: "a.exe", bytes: bytesOf("a") }),
  ),
  "knowledge base: bytes that are not text": onKnowledge((base) =>
    base.addBytes({ uri: "a.txt", bytes: bytesOf("610062", "hex") }),
  ),
  "knowledge base: bytes that are not UTF-8": onKnowledge((base) =>
    base.addBytes({ uri: "a.txt", bytes: bytesOf("caf\xE9", "latin1") }),
  ),
  "knowledge base: a limit that is not a number": onKnowledge((base) => base.search("a", { limit: Number.NaN })),
  "knowledge base: a folder that does not exist": onKnowledge((base) => base.add(join(folder, "nothing"))),
  "knowledge base: a closed base": onKnowledge(async (base) => {
    await base.close();
    return base.search("a");
  }),
};

const handlerOf = (options: object) => () =>
  void createLoomHandler(wrong({ log: new MemoryLog(), agents: { main: agent({ provider: "offline" }) }, ...options }));
const makeToken = (token: object) => async () => {
  const credentials = openCredentials(":memory:");
  try {
    return await credentials.createToken(wrong({ name: "laptop", ...token }));
  } finally {
    await credentials.close();
  }
};

const SERVERS: BadInputs = {
  "handler: an option with a typing error": handlerOf({ defaultAgnet: "main" }),
  "handler: no log": handlerOf({ log: undefined }),
  "handler: no agents": handlerOf({ agents: {} }),
  "handler: a default agent that does not exist": handlerOf({ defaultAgent: "helper" }),
  "handler: an origin with a path": handlerOf({ origins: ["https://a.example.com", "https://b.example.com/x"] }),
  "handler: a host with a scheme": handlerOf({ hosts: ["https://a.example.com"] }),
  "handler: a base path without a slash": handlerOf({ basePath: "agents" }),
  "handler: a proxy that is not an address": handlerOf({ trustedProxies: ["everything"] }),
  "handler: a limit with a typing error": handlerOf({ limits: { maxBodyByte: 1 } }),
  "handler: a limit that is too small": handlerOf({ limits: { maxBodyBytes: 0 } }),
  "handler: authentication without credentials": handlerOf({ auth: {} }),
  "handler: a time of another type": handlerOf({ auth: { authenticate() {}, recheckMs: "1s" } }),
  "handler: timestamps in another unit": handlerOf({ timestamps: "minutes" }),
  "token: a name of two lines": makeToken({ name: "a\nb" }),
  "token: an unknown scope": makeToken({ scopes: ["read", "wite"] }),
  "token: no scope": makeToken({ scopes: [] }),
  "token: an unknown limit": makeToken({ limits: { maxRun: 1 } }),
  "token: a limit that is too small": makeToken({ limits: { maxRuns: 0 } }),
  "token: an unknown rule": makeToken({ tools: { rm: "perhaps" } }),
  "token: a time in the past": makeToken({ expiresAt: 1 }),
};

/** Frames that no dialect accepts, and for each dialect one with a wrong field. */
const FRAMES: readonly string[] = ["Hello", "[]", "{}", '{"type":"weather"}', '{"type":7}'];
const WRONG_FIELDS: { readonly [N in (typeof DIALECT_NAMES)[number]]: object } = {
  loom: { session_id: "s", run_id: "r", event_id: "1", type: "message_chunk", content: 7 },
  export: { session_id: "s", run_id: "r", event_id: 1, type: "message_chunk", content: 7 },
  engine: { type: "content", session_id: "s", request_id: "r", sequence: "1", content: 7 },
  lumine: { type: "text", content: 7, sequence: -1 },
  "stream-event": { type: "text_delta", delta: 7, sequence: "x" },
  "ai-sdk": { type: "text-delta", id: 7 },
  "ag-ui": { type: "TEXT_MESSAGE_CONTENT", messageId: 7 },
  "openai-responses": { type: "response.output_text.delta", delta: 7 },
  "openai-chat": { object: "chat.completion.chunk", id: 7, choices: "none" },
};
const describeIssue = ({ level, rule, section, message }: Issue) => `${level} ${rule} (${section}): ${message}`;
const DIALECT_INPUTS: BadInputs = Object.fromEntries(
  DIALECT_NAMES.map((name) => [
    `dialect ${name}: frames that it does not have`,
    () => {
      const decoder = DIALECTS[name].createDecoder();
      const issues = [...FRAMES, JSON.stringify(WRONG_FIELDS[name])].map((frame) => decoder.decode(frame).issues);
      return issues.flatMap((all) => all.map(describeIssue)).join("\n");
    },
  ]),
);

export const LIBRARY_INPUTS: BadInputs = {
  ...AGENTS,
  ...MODELS,
  ...TOOLS,
  ...GRAPHS,
  ...LOGS,
  ...SESSIONS,
  ...KNOWLEDGE,
  ...SERVERS,
  ...DIALECT_INPUTS,
};
