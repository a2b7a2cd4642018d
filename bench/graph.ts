/**
 * Processor time of a graph step: without a store, with the events and checkpoints of specification 001 in memory, and
 * in SQLite, against LangGraph.js in the same run. Also the growth of time, memory and bytes with the number of steps,
 * where each step appends to a list in the state.
 *
 * `--quick` takes a tenth of the steps.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Annotation, END as LANG_END, MemorySaver, START, StateGraph } from "@langchain/langgraph";
import { openSession } from "../src/engine/index.ts";
import { append, defineGraph, END, invokeGraph, replace, runGraph } from "../src/graph/index.ts";
import { type Log, MemoryLog, openSqliteLog } from "../src/log/index.ts";
import { median, print, report, times } from "./measure.ts";

const QUICK = process.argv.includes("--quick");
const STEPS = QUICK ? 1000 : 10_000;
const PEER_STEPS = QUICK ? 300 : 1000;
const TURNS = QUICK ? 3 : 7;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;
const folder = mkdtempSync(join(tmpdir(), "loom-bench-"));
let stores = 0;

/** A graph with one node in a loop that counts and appends a short message to a list. */
function createLoop(steps: number, atEnd: () => void = () => undefined) {
  return defineGraph({
    name: "loop",
    channels: { count: replace<number>(0), messages: append<{ role: string; text: string }>() },
    start: "step",
    maxSteps: steps + 1,
    nodes: {
      step: ({ count }) => {
        if (count === steps - 1) atEnd();
        return { count: count + 1, messages: [{ role: "assistant", text: `message number ${count}` }] };
      },
    },
    edges: { step: ({ count }) => (count < steps ? "step" : END) },
  });
}

/** The same graph in LangGraph. */
function createPeer(steps: number, checkpointer?: MemorySaver) {
  const State = Annotation.Root({
    count: Annotation<number>(),
    messages: Annotation<{ role: string; text: string }[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  });
  return new StateGraph(State)
    .addNode("step", ({ count }) => ({
      count: count + 1,
      messages: [{ role: "assistant", text: `message number ${count}` }],
    }))
    .addEdge(START, "step")
    .addConditionalEdges("step", ({ count }) => (count < steps ? "step" : LANG_END))
    .compile(checkpointer === undefined ? {} : { checkpointer });
}

async function runPeer(steps: number, checkpointer?: MemorySaver): Promise<void> {
  const graph = createPeer(steps, checkpointer);
  const config = { recursionLimit: steps + 10, streamMode: "updates" as const, configurable: { thread_id: "t" } };
  let updates = 0;
  for await (const _ of await graph.stream({ count: 0, messages: [] }, config)) updates++;
  if (updates !== steps) throw new Error(`LangGraph took ${updates} steps instead of ${steps}`);
}

async function runBare(steps: number): Promise<void> {
  let updates = 0;
  await invokeGraph(createLoop(steps), {}, { onEvent: ({ type }) => (updates += type === "updates" ? 1 : 0) });
  if (updates !== steps) throw new Error(`the graph took ${updates} steps instead of ${steps}`);
}

async function runInLog(log: Log, steps: number): Promise<number> {
  const sessionId = `s${++stores}`;
  const session = await openSession(log, sessionId);
  const run = await session.startRun();
  await runGraph(createLoop(steps), { run });
  await run.finish({ reply: "done" });
  await session.close();
  return (await log.getSession(sessionId))?.bytes ?? 0;
}

async function runInMemory(steps: number): Promise<void> {
  const log = new MemoryLog();
  await runInLog(log, steps);
  await log.close();
}

const store = await openSqliteLog(join(folder, "loom.db"));

/** All runs share one store, as on a server. */
function runInSqlite(steps: number): Promise<number> {
  return runInLog(store, steps);
}

/** Processor time of the process with all its threads, in microseconds per step. */
async function timeOf(run: (steps: number) => Promise<unknown>, steps: number): Promise<number> {
  const before = process.cpuUsage();
  await run(steps);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / steps;
}

const contestants = {
  bare: [runBare, STEPS],
  memory: [runInMemory, STEPS],
  sqlite: [runInSqlite, STEPS],
  peer: [(steps: number) => runPeer(steps), PEER_STEPS],
  peerSaver: [(steps: number) => runPeer(steps, new MemorySaver()), PEER_STEPS],
} as const;
const figures = { bare: [], memory: [], sqlite: [], peer: [], peerSaver: [] } as Record<
  keyof typeof contestants,
  number[]
>;
for (let turn = 0; turn < 2; turn++) for (const [run, steps] of Object.values(contestants)) await run(steps);
for (let turn = 0; turn < TURNS; turn++)
  for (const [name, [run, steps]] of Object.entries(contestants) as [
    keyof typeof contestants,
    (typeof contestants)["bare"],
  ][])
    figures[name].push(await timeOf(run, steps));
const cost = Object.fromEntries(Object.entries(figures).map(([name, values]) => [name, median(values)])) as Record<
  keyof typeof contestants,
  number
>;

print(
  `Processor time per step, ${STEPS} steps with a growing list (LangGraph: ${PEER_STEPS} steps, which is in its favour)`,
);
let reached = true;
const µs = (value: number): string => `${value.toFixed(1)} µs`;
reached &&= report("without a store", µs(cost.bare), "≤ 20 µs", cost.bare <= 20);
reached = report("with SQLite", µs(cost.sqlite), "≤ 40 µs", cost.sqlite <= 40) && reached;
print(`      with a log in memory: ${µs(cost.memory)}`);
const bareRatio = cost.peer / cost.bare;
const storeRatio = cost.peerSaver / cost.sqlite;
reached =
  report(
    "LangGraph without a saver, compared with ours without a store",
    times(bareRatio),
    "≥ 25 ×",
    bareRatio >= 25,
    µs(cost.peer),
  ) && reached;
print(
  `      LangGraph with its memory saver, compared with ours in SQLite: ${times(storeRatio)} (${µs(cost.peerSaver)})`,
);

// Growth: cost per step with ten times the steps.
const few = STEPS / 10;
const growth = { time: [] as number[], bytes: 0, heap: 0 };
for (let turn = 0; turn < TURNS; turn++)
  growth.time.push((await timeOf(runInSqlite, STEPS)) / (await timeOf(runInSqlite, few)));
growth.bytes = (await runInSqlite(STEPS)) / (await runInSqlite(few)) / 10;
growth.heap = await measureHeap();
const timeGrowth = median(growth.time);
reached = report("time per step with ten times the steps", times(timeGrowth), "≤ 1.2 ×", timeGrowth <= 1.2) && reached;
reached =
  report("bytes per step with ten times the steps", times(growth.bytes), "≤ 1.05 ×", growth.bytes <= 1.05) && reached;
reached =
  report("heap per step during the run", `${growth.heap.toFixed(0)} bytes`, "≤ 500 bytes", growth.heap <= 500) &&
  reached;

/** Additional heap per step: the heap at the last step of a long run minus that of a short one. */
async function measureHeap(): Promise<number> {
  const held: number[] = [];
  for (const steps of [few, STEPS]) {
    const log = await openSqliteLog(join(folder, `${++stores}.db`));
    const session = await openSession(log, "heap");
    const run = await session.startRun();
    let last = 0;
    const graph = createLoop(steps, () => {
      collect();
      last = process.memoryUsage().heapUsed;
    });
    await runGraph(graph, { run });
    await run.finish({ reply: "done" });
    await session.close();
    await log.close();
    held.push(last);
  }
  return ((held[1] ?? 0) - (held[0] ?? 0)) / (STEPS - few);
}

await store.close();
rmSync(folder, { recursive: true, force: true });
process.exitCode = reached ? 0 : 1;
