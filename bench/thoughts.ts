/**
 * Processor time of thoughts without the model: a graph of a thousand thoughts, against LangGraph.js with the same
 * graph in the same run; the growth of a tree; and whether independent thoughts run in parallel. The model answers at
 * once, and the cost of its streams is subtracted.
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
/** Warm-up turns, so that the code is compiled. */
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

/** Layers in which each node needs two nodes of the previous layer, and one final node. */
function createPlan(layers: number, width: number): readonly PlannedNode[] {
  const name = (layer: number, index: number): string => `n${layer}_${index % width}`;
  const nodes: PlannedNode[] = [];
  for (let layer = 0; layer < layers; layer++)
    for (let index = 0; index < width; index++) {
      const needs = layer === 0 ? [] : [name(layer - 1, index), name(layer - 1, index + 1)];
      nodes.push({ id: name(layer, index), task: `part ${index} of layer ${layer}`, needs, operation: "generate" });
    }
  const last = Array.from({ length: width }, (_, index) => name(layers - 1, index));
  // The final node replaces the last one, so that the plan has layers × width nodes.
  nodes.pop();
  nodes.push({ id: "end", task: "all of it", needs: last.slice(0, -1), operation: "aggregate" });
  return nodes;
}

/** Recognizes the kind of prompt and answers it, at once or after a delay. */
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
  if (status !== "completed") throw new Error(`the run ended as ${status}`);
  await session.close();
  return model.calls;
}

/** Reads as many of the model's streams as a run does, and nothing else. */
async function readBare(calls: number): Promise<void> {
  const model = new InstantModel();
  for (let call = 0; call < calls; call++) {
    const { stream } = await model.doStream({ prompt: [] });
    for await (const _ of stream);
  }
}

/** The same graph in LangGraph, with nodes that only return a text. */
async function runPeer(plan: readonly PlannedNode[]): Promise<void> {
  const State = Annotation.Root({
    results: Annotation<{ [id: string]: string }>({ reducer: (a, b) => ({ ...a, ...b }), default: () => ({}) }),
  });
  const builder = new StateGraph(State);
  for (const { id } of plan) builder.addNode(id, async () => ({ results: { [id]: "a thought of a few words" } }));
  for (const { id, needs } of plan)
    builder.addEdge((needs.length === 0 ? START : [...needs]) as typeof START, id as typeof START);
  const options = { recursionLimit: LAYERS + 10, streamMode: "updates" as const };
  let updates = 0;
  for await (const _ of await builder.compile().stream({ results: {} }, options)) updates++;
  if (updates === 0) throw new Error("LangGraph reported no step");
}

const plan = createPlan(LAYERS, WIDTH);
if (plan.length !== NODES) throw new Error(`the plan has ${plan.length} nodes instead of ${NODES}`);
const got = { kind: "got", maxNodes: NODES, maxTotalNodes: NODES, concurrency: 64 } as const;
let isGood = true;

print(`Graph of ${NODES} thoughts: processor time, median of ${TURNS} turns`);
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
  // Warm-up turns do not count.
  if (turn < 0) continue;
  whole.push(ours);
  bare.push(streams);
  if (theirs !== undefined) peer.push(theirs);
}
const own = median(whole.map((ms, turn) => ms - (bare[turn] ?? 0)));
const detail = `in all ${median(whole).toFixed(0)} ms, of which the model's streams ${median(bare).toFixed(0)} ms`;
isGood = report("ours, without the model's streams", `${own.toFixed(0)} ms`, "≤ 100 ms", own <= 100, detail) && isGood;
const ratio = median(peer) / own;
isGood =
  report("LangGraph.js compared with ours", times(ratio), "> 1 ×", ratio > 1, `${median(peer).toFixed(0)} ms`) &&
  isGood;

print("\nTree of thoughts: processor time per thought");
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
isGood =
  report("cost per thought with 9,100 thoughts, compared with 910", times(growth), "≤ 1.3 ×", growth <= 1.3) && isGood;

print("\n16 independent thoughts of 100 ms each, 8 at a time");
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
isGood =
  report("wall time from the first start to the last end", `${wall.toFixed(0)} ms`, "≤ 250 ms", wall <= 250) && isGood;

if (!isGood) process.exitCode = 1;
