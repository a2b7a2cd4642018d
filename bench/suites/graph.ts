/**
 * The same graph in Loom and in LangGraph: steps in a loop that append to a list in the state, and a graph
 * of a thousand thoughts. The limit is the least that the same result needs.
 */
import { join } from "node:path";
import type { MemorySaver } from "@langchain/langgraph";
import { agent, type AgentOptions } from "../../src/agents/index.ts";
import { openSession } from "../../src/engine/index.ts";
import { append, defineGraph, END, invokeGraph, replace, runGraph } from "../../src/graph/index.ts";
import { type Log, MemoryLog, openSqliteLog } from "../../src/log/index.ts";
import type { Benchmark, Prepare } from "../benchmark.ts";
import { createFolder } from "../create-folder.ts";
import { createPlan, InstantModel, type PlannedNode } from "../instant-model.ts";

const LANGGRAPH = "LangGraph 1.4";
const LAYERS = 10;

interface Message {
  readonly role: string;
  readonly text: string;
}

const messageOf = (count: number): Message => ({ role: "assistant", text: `message number ${count}` });

function createLoop(steps: number) {
  return defineGraph({
    name: "loop",
    channels: { count: replace<number>(0), messages: append<Message>() },
    start: "step",
    maxSteps: steps + 1,
    nodes: { step: ({ count }) => ({ count: count + 1, messages: [messageOf(count)] }) },
    edges: { step: ({ count }) => (count < steps ? "step" : END) },
  });
}

const invoke: Prepare = (steps) => async () => {
  let updates = 0;
  await invokeGraph(createLoop(steps), {}, { onEvent: ({ type }) => (updates += type === "updates" ? 1 : 0) });
  expectSteps(updates, steps);
};

let sessions = 0;

async function runInLog(log: Log, steps: number): Promise<void> {
  const session = await openSession(log, `s${++sessions}`);
  const run = await session.startRun();
  await runGraph(createLoop(steps), { run });
  await run.finish({ reply: "done" });
  await session.close();
}

const runInMemory: Prepare = (steps) => async () => {
  const log = new MemoryLog();
  await runInLog(log, steps);
  await log.close();
};

/** All runs share one store, as on a server. */
const runInSqlite: Prepare = async (steps) => {
  const log = await openSqliteLog(join(createFolder(), "loom.db"));
  return () => runInLog(log, steps);
};

const runLangGraph =
  (createSaver?: () => Promise<MemorySaver>): Prepare =>
  async (steps) => {
    const { Annotation, END: LAST, START, StateGraph } = await import("@langchain/langgraph");
    const State = Annotation.Root({
      count: Annotation<number>(),
      messages: Annotation<Message[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
    });
    return async () => {
      const checkpointer = await createSaver?.();
      const graph = new StateGraph(State)
        .addNode("step", ({ count }) => ({ count: count + 1, messages: [messageOf(count)] }))
        .addEdge(START, "step")
        .addConditionalEdges("step", ({ count }) => (count < steps ? "step" : LAST))
        .compile(checkpointer === undefined ? {} : { checkpointer });
      const config = { recursionLimit: steps + 10, streamMode: "updates" as const, configurable: { thread_id: "t" } };
      let updates = 0;
      for await (const _ of await graph.stream({ count: 0, messages: [] }, config)) updates++;
      expectSteps(updates, steps);
    };
  };

const createMemorySaver = async (): Promise<MemorySaver> => new (await import("@langchain/langgraph")).MemorySaver();

/** The same steps and updates, without a graph. */
const loop: Prepare = (steps) => async () => {
  let state = { count: 0, messages: [] as Message[] };
  const updates: object[] = [];
  while (state.count < steps) {
    const update = await Promise.resolve({ count: state.count + 1, messages: [messageOf(state.count)] });
    state.messages.push(...update.messages);
    state = { count: update.count, messages: state.messages };
    updates.push(update);
  }
  expectSteps(updates.length, steps);
};

function expectSteps(taken: number, steps: number): void {
  if (taken !== steps) throw new Error(`${taken} steps instead of ${steps}`);
}

/** Throws if fewer thoughts were made. */
async function ask(model: InstantModel, options: Partial<AgentOptions>, thoughts: number): Promise<void> {
  const log = new MemoryLog();
  const actor = agent({ ...options, model });
  const session = await actor.openSession(log, `s${++sessions}`);
  const run = await actor.answer(session, "a question");
  const { status } = await run.ended;
  if (status !== "completed") throw new Error(`the run ended as ${status}`);
  if (model.thoughts < thoughts) throw new Error(`${model.thoughts} thoughts instead of ${thoughts}`);
  await session.close();
}

const planOf = (thoughts: number): readonly PlannedNode[] => createPlan(LAYERS, thoughts / LAYERS);

const thinkInGraph: Prepare = (thoughts) => {
  const plan = planOf(thoughts);
  const got = { kind: "got", maxNodes: thoughts, maxTotalNodes: thoughts, concurrency: 64 } as const;
  return () => ask(new InstantModel(plan), got, thoughts);
};

/** The same graph, with nodes that read the same stream of the model. */
const thinkInLangGraph: Prepare = async (thoughts) => {
  const { Annotation, START, StateGraph } = await import("@langchain/langgraph");
  const plan = planOf(thoughts);
  return async () => {
    const model = new InstantModel();
    const State = Annotation.Root({
      results: Annotation<{ [id: string]: string }>({ reducer: (a, b) => ({ ...a, ...b }), default: () => ({}) }),
    });
    const builder = new StateGraph(State);
    for (const { id } of plan) builder.addNode(id, async () => ({ results: { [id]: await model.read() } }));
    for (const { id, needs } of plan)
      builder.addEdge((needs.length === 0 ? START : [...needs]) as typeof START, id as typeof START);
    const options = { recursionLimit: LAYERS + 10, streamMode: "updates" as const };
    let updates = 0;
    for await (const _ of await builder.compile().stream({ results: {} }, options)) updates++;
    if (updates === 0) throw new Error("LangGraph reported no step");
  };
};

/** Only reads as many streams of the model. */
const readStreams: Prepare = (thoughts) => async () => {
  const model = new InstantModel();
  for (let thought = 0; thought < thoughts; thought++) await model.read();
};

/** Levels of ten thoughts, each with as many candidates as the size asks for. */
const thinkInTree: Prepare = (thoughts) => {
  const candidates = Math.round(thoughts / 91);
  const tot = { kind: "tot", beam: 10, candidates, maxDepth: 10, maxThoughts: 20_000, maxBacktracks: 0 } as const;
  return () => ask(new InstantModel(), tot, thoughts);
};

const STEPS = [250, 500, 1000];

export const benchmark: Benchmark = {
  about: "CPU time of a step of a graph, and of a thought without the model",
  rows: [
    {
      what: "steps, nothing stored",
      unit: "step",
      sizes: STEPS,
      ours: invoke,
      peers: { [LANGGRAPH]: runLangGraph() },
      limits: { "plain loop": loop },
    },
    {
      what: "steps with events and checkpoints, in memory",
      unit: "step",
      sizes: STEPS,
      ours: runInMemory,
      peers: { [`${LANGGRAPH} with MemorySaver`]: runLangGraph(createMemorySaver) },
      limits: { "plain loop": loop },
    },
    {
      what: "steps with events and checkpoints, in SQLite",
      unit: "step",
      sizes: STEPS,
      ours: runInSqlite,
      limits: { "plain loop": loop },
    },
    {
      what: "a graph of thoughts",
      unit: "thought",
      sizes: [200, 400, 1000],
      ours: thinkInGraph,
      peers: { [LANGGRAPH]: thinkInLangGraph },
      limits: { "model streams": readStreams },
    },
    {
      what: "a tree of thoughts",
      isSlow: true,
      unit: "thought",
      sizes: [910, 2730, 9100],
      ours: thinkInTree,
      limits: { "model streams": readStreams },
    },
  ],
};
