/**
 * What a step of a graph costs: without a store, with the events and checkpoints of specification 001 in memory, and in
 * SQLite; beside LangGraph.js in the same run. And how cost, memory and bytes grow with the number of steps, where each
 * adds to a list in the state.
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

/** A loop of one node that counts and adds a message of some words to a list. */
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

/** The same in LangGraph. */
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
  if (updates !== steps) throw new Error(`the peer took ${updates} steps, not ${steps}`);
}

async function runBare(steps: number): Promise<void> {
  let updates = 0;
  await invokeGraph(createLoop(steps), {}, { onEvent: ({ type }) => (updates += type === "updates" ? 1 : 0) });
  if (updates !== steps) throw new Error(`${updates} steps, not ${steps}`);
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

/** One store for all, as a server has it. */
function runInSqlite(steps: number): Promise<number> {
  return runInLog(store, steps);
}

/** Processor time of the whole process, all its threads, in microseconds per step. */
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

print(`a step, ${STEPS} of them with a list that grows; LangGraph ${PEER_STEPS} steps, which flatters it`);
let reached = true;
const µs = (value: number): string => `${value.toFixed(1)} µs`;
reached &&= report("without a store", µs(cost.bare), "≤ 20 µs", cost.bare <= 20);
reached = report("with SQLite", µs(cost.sqlite), "≤ 40 µs", cost.sqlite <= 40) && reached;
print(`      in memory, with every event: ${µs(cost.memory)}`);
const bareRatio = cost.peer / cost.bare;
const storeRatio = cost.peerSaver / cost.sqlite;
reached =
  report("LangGraph without a saver is dearer by", times(bareRatio), "≥ 25 ×", bareRatio >= 25, µs(cost.peer)) &&
  reached;
print(`      LangGraph with its memory saver beside ours on disk: ${times(storeRatio)} (${µs(cost.peerSaver)})`);

// Growth: ten times the steps cost ten times as much, in time, memory and bytes.
const few = STEPS / 10;
const growth = { time: [] as number[], bytes: 0, heap: 0 };
for (let turn = 0; turn < TURNS; turn++)
  growth.time.push((await timeOf(runInSqlite, STEPS)) / (await timeOf(runInSqlite, few)));
growth.bytes = (await runInSqlite(STEPS)) / (await runInSqlite(few)) / 10;
growth.heap = await measureHeap();
const timeGrowth = median(growth.time);
reached = report("time per step at ten times the steps", times(timeGrowth), "≤ 1.2 ×", timeGrowth <= 1.2) && reached;
reached =
  report("bytes per step at ten times the steps", times(growth.bytes), "≤ 1.05 ×", growth.bytes <= 1.05) && reached;
reached =
  report("heap per step while it runs", `${growth.heap.toFixed(0)} bytes`, "≤ 500", growth.heap <= 500) && reached;

/** What a long graph holds when it is nearly done, beyond what a short one does. */
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
