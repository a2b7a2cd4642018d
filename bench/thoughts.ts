/**
 * What thoughts cost beside the model's: a graph of a thousand of them, with LangGraph.js carrying out the same graph in
 * the same run; how a tree grows; and whether thoughts that need not wait for each other do not. The model answers at
 * once, and what its streams cost by themselves is taken off.
 *
 * `--quick` takes fewer turns.
 */
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { agent, type AgentOptions } from "../src/agents/index.ts";
import { MemoryLog } from "../src/log/index.ts";
import type { LanguageModel, ModelMessage } from "../src/models/model.ts";
import { median, print, report, times } from "./measure.ts";

const QUICK = process.argv.includes("--quick");
const TURNS = QUICK ? 5 : 15;
const TREE_TURNS = QUICK ? 1 : 3;
/** Turns that do not count: a program that answers runs is not new. */
const WARM = 30;
const LAYERS = 10;
const WIDTH = 100;
const NODES = LAYERS * WIDTH;

interface PlannedNode {
  readonly id: string;
  readonly task: string;
  readonly needs: readonly string[];
  readonly operation: string;
}

/** Layers in which each node needs two of the layer before, and one node that all lead to. */
function createPlan(layers: number, width: number): readonly PlannedNode[] {
  const name = (layer: number, place: number): string => `n${layer}_${place % width}`;
  const nodes: PlannedNode[] = [];
  for (let layer = 0; layer < layers; layer++)
    for (let place = 0; place < width; place++) {
      const needs = layer === 0 ? [] : [name(layer - 1, place), name(layer - 1, place + 1)];
      nodes.push({ id: name(layer, place), task: `part ${place} of layer ${layer}`, needs, operation: "generate" });
    }
  const last = Array.from({ length: width }, (_, place) => name(layers - 1, place));
  // One of the thousand is the end.
  nodes.pop();
  nodes.push({ id: "end", task: "all of it", needs: last.slice(0, -1), operation: "aggregate" });
  return nodes;
}

/** Says what it is asked for by the form of the question, after a while or at once. */
class InstantModel implements LanguageModel {
  readonly specificationVersion = "v4";
  readonly provider = "bench";
  readonly modelId = "instant";
  readonly #plan: string;
  readonly #delayMs: number;
  calls = 0;

  constructor(plan: readonly PlannedNode[] = [], delayMs = 0) {
    this.#plan = JSON.stringify({ nodes: plan });
    this.#delayMs = delayMs;
  }

  async doStream({ prompt }: { readonly prompt: readonly ModelMessage[] }) {
    this.calls++;
    const isWork = !textOf(prompt).includes('"nodes"');
    if (this.#delayMs > 0 && isWork) await new Promise((resolve) => setTimeout(resolve, this.#delayMs));
    return { stream: createStream(this.#answer(textOf(prompt))) };
  }

  #answer(text: string): string {
    if (text.includes('{"nodes"')) return this.#plan;
    if (text.includes('{"score"')) return `{"score": ${(text.length % 89) / 100 + 0.1}, "solved": false}`;
    const most = /at most (\d+)/.exec(text)?.[1];
    if (most !== undefined && text.includes("One step per line"))
      return Array.from({ length: Number(most) }, (_, line) => `step ${line} of ${text.length}`).join("\n");
    return "a thought of a few words";
  }
}

function textOf(prompt: readonly ModelMessage[]): string {
  const last = prompt.at(-1);
  return last?.role === "user" ? last.content.map((part) => (part.type === "text" ? part.text : "")).join("") : "";
}

function createStream(text: string): ReadableStream {
  const parts = [
    { type: "stream-start", warnings: [] },
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta: text },
    { type: "text-end", id: "0" },
    {
      type: "finish",
      finishReason: { unified: "stop", raw: "stop" },
      usage: {
        inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: 5, text: 5, reasoning: 0 },
      },
    },
  ].values();
  return new ReadableStream({
    pull(controller) {
      const next = parts.next();
      if (next.done === true) controller.close();
      else controller.enqueue(next.value);
    },
  });
}

/** Milliseconds of processor time. */
async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

let sessions = 0;

async function ask(model: InstantModel, options: Partial<AgentOptions>): Promise<number> {
  const log = new MemoryLog();
  const actor = agent({ ...options, model });
  const session = await actor.openSession(log, `s${++sessions}`);
  const run = await actor.answer(session, "a question");
  const { status } = await run.ended;
  if (status !== "completed") throw new Error(`the run ended: ${status}`);
  await session.close();
  return model.calls;
}

/** What the model's own streams cost, read by nobody but a loop. */
async function readBare(calls: number): Promise<void> {
  const model = new InstantModel();
  for (let call = 0; call < calls; call++) {
    const { stream } = await model.doStream({ prompt: [] });
    for await (const _ of stream);
  }
}

/** The same graph in LangGraph, where a node does nothing but give its words. */
async function runPeer(plan: readonly PlannedNode[]): Promise<void> {
  const State = Annotation.Root({
    results: Annotation<{ [id: string]: string }>({ reducer: (a, b) => ({ ...a, ...b }), default: () => ({}) }),
  });
  let builder = new StateGraph(State) as unknown as {
    addNode(id: string, work: () => unknown): typeof builder;
    addEdge(from: string | string[], to: string): typeof builder;
    compile(): { stream(input: object, options: object): Promise<AsyncIterable<unknown>> };
  };
  for (const { id } of plan)
    builder = builder.addNode(id, async () => ({ results: { [id]: "a thought of a few words" } }));
  for (const { id, needs } of plan) builder = builder.addEdge(needs.length === 0 ? START : [...needs], id);
  const options = { recursionLimit: LAYERS + 10, streamMode: "updates" };
  let updates = 0;
  for await (const _ of await builder.compile().stream({ results: {} }, options)) updates++;
  if (updates === 0) throw new Error("the peer did nothing");
}

const plan = createPlan(LAYERS, WIDTH);
if (plan.length !== NODES) throw new Error(`${plan.length} nodes`);
const got = { kind: "got", maxNodes: NODES, maxTotalNodes: NODES, concurrency: 64 } as const;
let isGood = true;

print(`A graph of ${NODES} thoughts, milliseconds of processor time, medians of ${TURNS}`);
const whole: number[] = [];
const bare: number[] = [];
const peer: number[] = [];
for (let turn = -WARM; turn < TURNS; turn++) {
  let calls = 0;
  const ours = await timeOf(async () => {
    calls = await ask(new InstantModel(plan), got);
  });
  const streams = await timeOf(() => readBare(calls));
  const theirs = turn >= 0 && turn % 5 === 0 ? await timeOf(() => runPeer(plan)) : undefined;
  // The first ones warm up.
  if (turn < 0) continue;
  whole.push(ours);
  bare.push(streams);
  if (theirs !== undefined) peer.push(theirs);
}
const own = median(whole.map((ms, turn) => ms - (bare[turn] ?? 0)));
const detail = `all ${median(whole).toFixed(0)} ms, the model's streams ${median(bare).toFixed(0)} ms of it`;
isGood = report("of our own", `${own.toFixed(0)} ms`, "≤ 100 ms", own <= 100, detail) && isGood;
const ratio = median(peer) / own;
isGood = report("LangGraph.js", `${times(ratio)} ours`, "> 1 ×", ratio > 1, `${median(peer).toFixed(0)} ms`) && isGood;

print("\nA tree of thoughts, microseconds per thought");
const perThought: number[] = [];
for (const candidates of [10, 30, 100]) {
  const thoughts = candidates + 10 * candidates * 9;
  const tot = { kind: "tot", beam: 10, candidates, maxDepth: 10, maxThoughts: 20_000, maxBacktracks: 0 } as const;
  const turns: number[] = [];
  for (let turn = 0; turn < TREE_TURNS; turn++) turns.push(await timeOf(() => ask(new InstantModel(), tot)));
  const each = (median(turns) * 1000) / thoughts;
  perThought.push(each);
  print(`      ${thoughts} thoughts: ${each.toFixed(0)} µs each`);
}
const growth = (perThought[2] ?? Number.NaN) / (perThought[0] ?? Number.NaN);
isGood = report("from 910 to 9,100", `${times(growth)} per thought`, "≤ 1.3 ×", growth <= 1.3) && isGood;

print("\n16 thoughts of 100 ms, 8 at a time");
const sixteen = Array.from({ length: 16 }, (_, n) => ({
  id: `n${n}`,
  task: `part ${n}`,
  needs: [],
  operation: "generate",
}));
const joined = [...sixteen, { id: "end", task: "all", needs: sixteen.map(({ id }) => id), operation: "score" }];
const walls: number[] = [];
for (let turn = 0; turn < 3; turn++) {
  const model = new InstantModel(joined, 100);
  const log = new MemoryLog();
  const actor = agent({ kind: "got", model, concurrency: 8 });
  const session = await actor.openSession(log, `wall${turn}`);
  const times: number[] = [];
  session.onCommit((entries) => {
    for (const { record } of entries) {
      const { type, id } = record.event as { type: string; id?: string };
      if (type === "got_node_start" && id !== "end") times.push(performance.now());
      if (type === "got_node_complete" && id !== "end") times.push(performance.now());
    }
  });
  await (
    await actor.answer(session, "a question")
  ).ended;
  walls.push(Math.max(...times) - Math.min(...times));
  await session.close();
}
const wall = median(walls);
isGood = report("from the first start to the last end", `${wall.toFixed(0)} ms`, "≤ 250 ms", wall <= 250) && isGood;

if (!isGood) process.exitCode = 1;
