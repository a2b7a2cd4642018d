/**
 * Processor time of a receiver per record, against a plain immutable reducer (no checks, no ordering) and against the
 * core of `useChat` of the AI SDK. All receive decoded records.
 *
 * Ours is measured with a new view after every delta, which a reducer always makes, and with one view per 16 deltas,
 * about one per animation frame, as in a browser.
 */
import type { UIMessageChunk } from "ai";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { createReceiver, type Receiver } from "../src/client/index.ts";
import { PartialJson } from "../src/protocol/partial-json.ts";
import type { AnyEvent, EventRecord } from "../src/protocol/index.ts";
import { compare, print, report, times } from "./measure.ts";
import { argumentChunks, chat, runPlainly, sink, textChunks } from "./receiver-peers.ts";

const QUICK = process.argv.includes("--quick");
const TEXT_DELTAS = QUICK ? 20_000 : 100_000;
const ARGUMENT_DELTAS = QUICK ? 6000 : 30_000;
const ROUNDS = QUICK ? 5 : 15;

function createRecords(events: readonly AnyEvent[], { session = "s", run = "run-1", after = 0 } = {}): EventRecord[] {
  return events.map((event, index) => ({
    envelope: {
      session_id: session,
      run_id: run,
      node_id: "run-think-1",
      event_id: after + index + 1,
      ts: 1_700_000_000_000 + after + index,
    },
    event,
  }));
}

const START: AnyEvent[] = [
  { type: "run_start", run_id: "run-1", message: "Hello", contiguous: true },
  { type: "node_enter", id: "think" },
];

function textEvents(count: number): AnyEvent[] {
  return Array.from({ length: count }, (_, i) => ({ type: "message_chunk", content: `word${i % 100} `, id: "think" }));
}

/** Tool arguments of about `characters` characters: a list of small objects. */
function argumentsText(characters: number): string {
  const rows: string[] = [];
  for (let length = 0, i = 0; length < characters; i++) {
    const row = `{"id":${i},"name":"row ${i}","note":"some text that is a little longer"}`;
    rows.push(row);
    length += row.length + 1;
  }
  return `{"rows":[${rows.join(",")}]}`;
}

function cut(text: string, size: number): string[] {
  return Array.from({ length: Math.ceil(text.length / size) }, (_, i) => text.slice(i * size, (i + 1) * size));
}

function argumentEvents(deltas: readonly string[]): AnyEvent[] {
  return deltas.map((arguments_delta) => ({ type: "tool_call_chunk", call_id: "c1", name: "write", arguments_delta }));
}

/** Tool arguments with one long string, such as a file to write. */
function fileText(characters: number): string {
  return JSON.stringify({
    path: "notes.md",
    content: "All work and no play makes a long file. ".repeat(characters / 40),
  });
}

/** Ours: a receiver that takes all records and makes a view after every `every` of them. */
function receive(records: readonly EventRecord[], every: number, receiver = createReceiver()): Receiver {
  const source = receiver.open({ dialect: "loom" });
  let n = 0;
  for (const record of records) {
    source.pushRecord(record);
    if (++n % every === 0) receiver.getSnapshot();
  }
  receiver.getSnapshot();
  return receiver;
}

function cpu(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** Median processor time of each, in microseconds. The contestants take turns. */
async function race(rounds: number, ...runs: readonly (() => void | Promise<void>)[]): Promise<number[]> {
  return (await timeAll(rounds, ...runs)).map(median);
}

async function timeAll(rounds: number, ...runs: readonly (() => void | Promise<void>)[]): Promise<number[][]> {
  const found = runs.map((): number[] => []);
  for (const run of runs) await run();
  for (let round = 0; round < rounds; round++) {
    for (const [index, run] of runs.entries()) {
      const before = cpu();
      await run();
      found[index]?.push(cpu() - before);
    }
  }
  return found;
}

/** The exponent e of cost ~ n^e between two sizes. */
function exponentOf(small: number, large: number, factor: number): number {
  return Math.log(large / small) / Math.log(factor);
}

const results: boolean[] = [];

function compareWithPlain(what: string, records: readonly EventRecord[], every: number, plain: () => void): void {
  const { ours, peer } = compare(() => void receive(records, every), plain, records.length, ROUNDS);
  const detail = `${ours.toFixed(3)} µs against ${peer.toFixed(3)} µs`;
  results.push(report(what, times(ours / peer), "≤ 1.5 ×", ours / peer <= 1.5, detail));
}

/**
 * Ours with a view per 16 deltas against the core without clones. The detail has ours with a view after every delta,
 * and the core with the hook's clones.
 */
async function raceChat(
  what: string,
  records: readonly EventRecord[],
  chunks: readonly UIMessageChunk[],
  goal: number,
) {
  const [used = 0, dearest = 0, core = 0, hook = 0] = await race(
    QUICK ? 1 : 3,
    () => void receive(records, 16),
    () => void receive(records, 1),
    () => chat(chunks),
    () => chat(chunks, true),
  );
  const detail = `ours with a view per delta ${times(core / dearest)}; useChat with clones ${times(hook / used)}`;
  const ratio = core / used;
  results.push(
    report(
      `${what} against the core of useChat, a view per 16 deltas`,
      times(ratio),
      `≥ ${goal} ×`,
      ratio >= goal,
      detail,
    ),
  );
}

async function compareWithChat(): Promise<void> {
  const text = textEvents(QUICK ? 5000 : 30_000);
  await raceChat(`${text.length} text deltas`, createRecords([...START, ...text]), textChunks(text), 5);
  // The peer's cost grows quadratically: more deltas would take minutes.
  const deltas = cut(argumentsText(QUICK ? 8000 : 20_000), 4);
  const records = createRecords([...START, ...argumentEvents(deltas)]);
  await raceChat(`${deltas.length} tool-argument deltas`, records, argumentChunks(deltas), 100);
}

/** A conversation of short turns. */
function conversation(turns: number): EventRecord[] {
  const records: EventRecord[] = [];
  for (let turn = 1; turn <= turns; turn++) {
    const after = records.length;
    const run = `run-${turn}`;
    const events: AnyEvent[] = [
      { type: "run_start", run_id: run, message: "Hello", contiguous: true },
      { type: "node_enter", id: "think" },
      { type: "message_chunk", content: `answer ${turn}`, id: "think" },
      { type: "node_exit", id: "think", result: "Ok" },
      { type: "run_end", status: "completed", first_event_id: after + 1, last_event_id: after + 6, frame_count: 6 },
      { type: "reply", reply: `answer ${turn}` },
    ];
    records.push(...createRecords(events, { run, after }));
  }
  return records;
}

function toolEvents(count: number): AnyEvent[] {
  return Array.from({ length: count }, (_, i): AnyEvent[] => [
    { type: "tool_call", call_id: `c${i}`, name: "search", arguments: { query: `q${i}` } },
    { type: "tool_start", call_id: `c${i}`, name: "search" },
    { type: "tool_end", call_id: `c${i}`, name: "search", result: "found", is_error: false },
  ]).flat();
}

function searchEvents(count: number): AnyEvent[] {
  return Array.from({ length: count }, (_, i): AnyEvent[] => [
    { type: "tot_expand", candidates: ["a", "b"], ids: [`a${i}`, `b${i}`], depth: i + 1 },
    { type: "tot_evaluate", chosen: 0, scores: [0.5, 0.2], ids: [`a${i}`, `b${i}`], kept: [`a${i}`], depth: i + 1 },
  ]).flat();
}

function graphEvents(count: number): AnyEvent[] {
  return Array.from({ length: count }, (_, i): AnyEvent[] => [
    {
      type: "got_expand",
      node_id: "root",
      nodes_added: 1,
      edges_added: 1,
      nodes: [`n${i}`],
      edges: [["root", `n${i}`]],
    },
    { type: "got_node_start", id: `n${i}` },
    { type: "got_node_complete", id: `n${i}`, result_summary: "done" },
  ]).flat();
}

/**
 * A changed list is copied once per view, so lists of many thousand entries in one turn would grow faster than
 * linearly. A thousand is more than a run has. Streamed content is measured at realistic lengths.
 */
async function measureGrowth(): Promise<void> {
  const n = 1000;
  const workloads: { readonly [name: string]: (size: number) => EventRecord[] } = {
    "text deltas": (size) => createRecords([...START, ...textEvents(size * 40)]),
    "tool-argument deltas, one long string": (size) =>
      createRecords([...START, ...argumentEvents(cut(fileText(size * 80), 4))]),
    "tool-argument deltas, a long list": (size) =>
      createRecords([...START, ...argumentEvents(cut(argumentsText(size * 80), 4))]),
    "turns of a conversation": (size) => conversation(size),
    "tool calls of one run": (size) => createRecords([...START, ...toolEvents(size)]),
    "thoughts in a tree": (size) => createRecords([...START, ...searchEvents(size)]),
    "nodes in a graph": (size) => createRecords([...START, ...graphEvents(size)]),
  };
  for (const [name, create] of Object.entries(workloads)) {
    const [small, large] = [create(n / 4), create(n)];
    // The minimum: disturbances only add time, and add more to the longer run.
    const [a = 0, b = 0] = (
      await timeAll(
        QUICK ? 5 : 20,
        () => {
          for (let i = 0; i < 16; i++) receive(small, 16);
        },
        () => {
          for (let i = 0; i < 4; i++) receive(large, 16);
        },
      )
    ).map((found) => Math.min(...found));
    const exponent = 1 + exponentOf(a, b, 4);
    results.push(
      report(
        `growth exponent with ${name}`,
        exponent.toFixed(2),
        "≤ 1.10",
        exponent <= 1.1,
        `${(b / 4 / large.length).toFixed(3)} µs per record with ${large.length} records`,
      ),
    );
  }
}

async function measureHistory(): Promise<void> {
  const history = conversation(1000);
  const tokens = createRecords(
    [{ type: "run_start", run_id: "run-live", message: "Hello", contiguous: true }, ...textEvents(1000)],
    { run: "run-live", after: history.length },
  );
  const alone = createRecords(
    [{ type: "run_start", run_id: "run-live", message: "Hello", contiguous: true }, ...textEvents(1000)],
    { run: "run-live" },
  );
  const found: [number, number][] = [];
  for (let round = 0; round < (QUICK ? 40 : 200); round++) {
    const full = receive(history, 1000);
    const empty = createReceiver();
    const order = round % 2 === 0;
    const time = (receiver: Receiver, records: readonly EventRecord[]): number => {
      const before = performance.now();
      receive(records, 16, receiver);
      return performance.now() - before;
    };
    const first = order ? time(full, tokens) : time(empty, alone);
    const second = order ? time(empty, alone) : time(full, tokens);
    found.push(order ? [first, second] : [second, first]);
  }
  const ratio = median(found.slice(5).map(([full, empty]) => full / empty));
  results.push(
    report("1,000 tokens after 1,000 turns, compared with an empty session", times(ratio), "≤ 1.2 ×", ratio <= 1.2),
  );
}

async function measureArguments(): Promise<void> {
  for (const [what, text] of [
    ["a long list", argumentsText(64 * 1024)],
    ["one long string", fileText(64 * 1024)],
  ] as const) {
    const records = createRecords([...START, ...argumentEvents(cut(text, 4))]);
    const [used = 0] = await race(5, () => void receive(records, 1));
    results.push(
      report(
        `64 KB of tool arguments in 4-byte deltas, ${what}, a view per delta`,
        `${(used / 1000).toFixed(1)} ms`,
        "≤ 100 ms",
        used <= 100_000,
      ),
    );
  }
}

async function measureBundle(): Promise<void> {
  const sizes: string[] = [];
  for (const entry of ["receiver-page", "any-receiver-page", "../../src/client/index"]) {
    const input = new URL(`../test/browser/${entry}.ts`, import.meta.url).pathname;
    const bundle = await rolldown({ input, platform: "browser" });
    const { output } = await bundle.generate({ format: "esm", minify: true });
    sizes.push((gzipSync(output[0].code, { level: 9 }).length / 1000).toFixed(1));
  }
  const [loom, any, all] = sizes;
  const detail = `all dialects ${any} kB; with connections and all transports ${all} kB`;
  const isSmall = Number(loom) <= 25;
  results.push(
    report("size of the receiver for the loom dialect, minified and gzipped", `${loom} kB`, "≤ 25 kB", isSmall, detail),
  );
}

const text = createRecords([...START, ...textEvents(TEXT_DELTAS)]);
const plainText = `${TEXT_DELTAS} text deltas against a plain reducer`;
compareWithPlain(`${plainText}, a view per delta`, text, 1, () => runPlainly(text));
compareWithPlain(`${plainText}, a view per 16 deltas`, text, 16, () => runPlainly(text));
const deltas = cut(argumentsText(ARGUMENT_DELTAS * 4), 4).slice(0, ARGUMENT_DELTAS);
const toolDeltas = createRecords([...START, ...argumentEvents(deltas)]);
const plainTool = `${ARGUMENT_DELTAS} tool-argument deltas against a plain reducer`;
compareWithPlain(`${plainTool} that parses them, a view per delta`, toolDeltas, 1, () =>
  runPlainly(toolDeltas, new PartialJson()),
);
compareWithPlain(`${plainTool} that appends them, a view per 16 deltas`, toolDeltas, 16, () => runPlainly(toolDeltas));
await compareWithChat();
await measureGrowth();
await measureHistory();
await measureArguments();
await measureBundle();
print(sink.last === undefined ? "" : `${results.filter(Boolean).length} of ${results.length} goals reached`);
process.exitCode = results.every(Boolean) ? 0 : 1;
