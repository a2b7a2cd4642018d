/**
 * The same graph in Loom and in LangGraph: steps in a loop that append to a list in the state, and a graph
 * of a thousand thoughts in ten layers. LangGraph runs a layer as one step of a node per thought. With `DeltaChannel`, its
 * checkpoints have only what was appended. The limit is the least that the same result needs.
 */
import { join } from "node:path";
import type { MemorySaver } from "@langchain/langgraph";
import { agent, type AgentOptions } from "../../src/agents/index.ts";
import { openSession } from "../../src/engine/index.ts";
import { append, defineGraph, END, invokeGraph, replace, runGraph } from "../../src/graph/index.ts";
import { followRecords, type Log, MemoryLog, openSqliteLog } from "../../src/log/index.ts";
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
    nodes: { step: async ({ count }) => ({ count: count + 1, messages: [messageOf(count)] }) },
    edges: { step: ({ count }) => (count < steps ? "step" : END) },
  });
}

const invoke: Prepare = (steps) => async () => {
  let updates = 0;
  await invokeGraph(createLoop(steps), {}, { onEvent: ({ type }) => (updates += type === "updates" ? 1 : 0) });
  expectSteps(updates, steps);
};

let sessions = 0;

/** Runs the graph, while a reader receives each update. */
async function runInLog(log: Log, steps: number): Promise<void> {
  const id = `s${++sessions}`;
  const session = await openSession(log, id);
  const run = await session.startRun();
  const reading = readUpdates(log, id);
  await runGraph(createLoop(steps), { run });
  await run.finish({ reply: "done" });
  expectSteps(await reading, steps);
  await session.close();
}

async function readUpdates(log: Log, sessionId: string): Promise<number> {
  let updates = 0;
  for await (const { records } of followRecords(log, sessionId, { after: 0, follow: true }))
    for (const { event } of records) {
      if (event.type === "updates") updates++;
      if (event.type === "reply") return updates;
    }
  return updates;
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
  (createSaver?: () => Promise<MemorySaver>, keepsDeltas = false): Prepare =>
  async (steps) => {
    const { Annotation, DeltaChannel, END: LAST, START, StateGraph } = await import("@langchain/langgraph");
    const join = (messages: Message[], more: Message[][]): Message[] => [...messages, ...more.flat()];
    const State = Annotation.Root({
      count: Annotation<number>(),
      messages: keepsDeltas
        ? () => new DeltaChannel<Message[], Message[]>(join, { initialValueFactory: () => [] })
        : Annotation<Message[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
    });
    return async () => {
      const checkpointer = await createSaver?.();
      const graph = new StateGraph(State)
        .addNode("step", async ({ count }) => ({ count: count + 1, messages: [messageOf(count)] }))
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
async function ask(model: InstantModel, options: AgentOptions, thoughts: number): Promise<void> {
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

type Results = { readonly [id: string]: string };

/** The same thoughts, which read the same stream of the model. All of a layer run at the same time. */
const thinkInLangGraph: Prepare = async (thoughts) => {
  const { Annotation, DeltaChannel, END: LAST, Send, START, StateGraph } = await import("@langchain/langgraph");
  const plan = planOf(thoughts);
  const width = thoughts / LAYERS;
  return async () => {
    const model = new InstantModel();
    const merge = (results: Results, more: Results[]): Results =>
      more.reduce((all, one) => Object.assign(all, one), { ...results });
    const State = Annotation.Root({
      next: Annotation<number>(),
      results: () => new DeltaChannel<Results, Results>(merge, { initialValueFactory: () => ({}) }),
    });
    const graph = new StateGraph(State)
      .addNode("layer", ({ next }) => ({ next: next + 1 }))
      .addNode("think", async ({ id }: { id: string }) => ({ results: { [id]: await model.read() } }))
      .addEdge(START, "layer")
      .addConditionalEdges("layer", ({ next }) =>
        next > LAYERS ? LAST : plan.slice((next - 1) * width, next * width).map(({ id }) => new Send("think", { id })),
      )
      .addEdge("think", "layer")
      .compile();
    const options = { recursionLimit: 2 * LAYERS + 10, streamMode: "updates" as const };
    let found = 0;
    for await (const update of await graph.stream({ next: 0, results: {} }, options)) if ("think" in update) found++;
    expectSteps(found, thoughts);
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
      peers: {
        [`${LANGGRAPH} with MemorySaver`]: runLangGraph(createMemorySaver),
        [`${LANGGRAPH} with MemorySaver and DeltaChannel (beta)`]: runLangGraph(createMemorySaver, true),
      },
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
