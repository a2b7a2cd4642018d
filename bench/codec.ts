/**
 * Codec benchmarks, against JSON in the same run: encoding to bytes against JSON.stringify and a Buffer per frame,
 * decoding with validation against plain JSON.parse, validation alone, a token in the dialects of other clients against
 * `loom`, and the memory of `loom convert` on a million frames. Exits with 1 if a goal is missed.
 */
import { spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DialectName, DIALECTS } from "../src/dialects/index.ts";
import { createBatchEncoder } from "../src/dialects/encode-batch.ts";
import { createNdjsonDecoder } from "../src/framing/index.ts";
import { encodeNdjsonBatch } from "../src/framing/ndjson.ts";
import { type EventRecord, EVENT_TYPES, type StampedRecord } from "../src/protocol/index.ts";
import { findLoomEventFault } from "../src/protocol/events.generated.ts";
import { listVectorFiles, readVector } from "../test/vectors.ts";
import { compare, type Comparison, print, report, times } from "./measure.ts";

const FRAMES = 50_000;
const FOUND =
  "Chapter two tells how the loom was built, who paid for it, and why the second beam had to be replaced. ".repeat(8);
/** The earlier turns, which the state of a conversation contains. Every fifth run is in Chinese. */
const ENGLISH = {
  words: ["The ", "answer ", "is ", "in ", "the ", "second ", "chapter", ", ", "line ", "forty-two.\n"],
  found: FOUND,
  history: [
    { role: "user", content: "Which book is this, and who wrote it?" },
    { role: "assistant", content: `It is the chronicle of a workshop. ${FOUND.slice(0, 300)}` },
    { role: "user", content: "And what is the first chapter about?" },
    { role: "assistant", content: `About its beginnings. ${FOUND.slice(0, 300)}` },
  ],
};
const CHINESE = {
  words: ["答案", "就", "在", "第二", "章", "，", "第", "四十二", "行", "。\n"],
  found: "第二章讲述织机如何建成、由谁出资，以及第二根横梁为何必须更换。".repeat(8),
  history: [
    { role: "user", content: "这是哪本书？作者是谁？" },
    { role: "assistant", content: "这是一部作坊的编年史，由三代织工共同写成。".repeat(4) },
    { role: "user", content: "第一章讲了什么？" },
    { role: "assistant", content: "第一章介绍了作坊的由来：两场火灾和一架从未完工的织机。".repeat(4) },
  ],
};
const BATCH = 64;
const CHUNK = 64 * 1024;
let missed = false;
const check = (...result: Parameters<typeof report>) => {
  if (!report(...result)) missed = true;
};

/**
 * Records of runs as agents write them: mostly text, some reasoning and tool arguments, a few of every other type, and
 * the state after each step. Ids are as long as those of real sessions and providers.
 */
function createRealisticRecords(count: number): StampedRecord[] {
  const records: StampedRecord[] = [];
  let n = 0;
  while (records.length < count) {
    const run_id = `run-8a41c6f0d2b94e7f-${++n}`;
    const { words, found, history } = n % 5 === 0 ? CHINESE : ENGLISH;
    const messages = [...history, { role: "user", content: "What does the second chapter say?" }];
    const step = (id: string, node_id: string, step: number, content: string) => {
      messages.push({ role: "assistant", content });
      const state = { messages: [...messages], iteration: step };
      put({ type: "updates", id, state: { messages: messages.slice(-1) } }, node_id);
      put({ type: "node_exit", id, result: "Ok" }, node_id);
      put({ type: "values", state });
      put({
        type: "checkpoint",
        checkpoint_id: `${run_id}-${step}`,
        timestamp: "2026-01-02T03:04:05.678Z",
        step,
        state,
        thread_id: "1e0c905e-e7a3-45ca-a553-fe0f179beaef",
        checkpoint_ns: "",
      });
    };
    const put = (event: StampedRecord["event"], node_id?: string) => {
      const event_id = records.length + 1;
      records.push({
        envelope: {
          session_id: "1e0c905e-e7a3-45ca-a553-fe0f179beaef",
          run_id,
          ...(node_id === undefined ? {} : { node_id }),
          event_id,
          ts: 1_760_000_000_000 + event_id * 11,
        },
        event,
      });
    };
    put({ type: "run_start", run_id, message: "What does the second chapter say?", agent: "react", contiguous: true });
    put({ type: "node_enter", id: "think" }, "run-think-1");
    for (let i = 0; i < 20; i++)
      put({ type: "reasoning_chunk", content: words[i % 10] ?? "", id: "think" }, "run-think-1");
    for (let i = 0; i < 15; i++)
      put(
        {
          type: "tool_call_chunk",
          call_id: "call_Jm3kT0qv9ZbXwR5uYd2LsA1c",
          name: "search",
          arguments_delta: `"q${i}":1,`,
        },
        "run-think-1",
      );
    put(
      {
        type: "tool_call",
        call_id: "call_Jm3kT0qv9ZbXwR5uYd2LsA1c",
        name: "search",
        arguments: { query: "second chapter", limit: 5 },
      },
      "run-think-1",
    );
    put({ type: "usage", prompt_tokens: 812, completion_tokens: 64, total_tokens: 876 }, "run-think-1");
    step("think", "run-think-1", 1, "I will search the book.");
    put({ type: "node_enter", id: "act" }, "run-act-2");
    put({ type: "tool_start", call_id: "call_Jm3kT0qv9ZbXwR5uYd2LsA1c", name: "search" }, "run-act-2");
    put(
      { type: "tool_output", call_id: "call_Jm3kT0qv9ZbXwR5uYd2LsA1c", name: "search", content: "5 documents" },
      "run-act-2",
    );
    put(
      {
        type: "tool_end",
        call_id: "call_Jm3kT0qv9ZbXwR5uYd2LsA1c",
        name: "search",
        result: found,
        is_error: false,
        output: { hits: [{ title: "Chapter two", score: 0.9 }] },
        duration_ms: 41,
      },
      "run-act-2",
    );
    step("act", "run-act-2", 2, found);
    put({ type: "node_enter", id: "think" }, "run-think-3");
    for (let i = 0; i < 120; i++)
      put({ type: "message_chunk", content: words[i % 10] ?? "", id: "think" }, "run-think-3");
    step("think", "run-think-3", 3, words.join("").repeat(12));
    put({ type: "run_end", status: "completed", summary: { total_tokens: 876, duration_ms: 1900, tool_calls: 1 } });
    put({ type: "reply", reply: words.join("").repeat(12) }, "run-think-3");
  }
  return records.slice(0, count);
}

function encodeOurs(batches: readonly (readonly StampedRecord[])[]): number {
  const encoder = createBatchEncoder(DIALECTS.loom);
  let bytes = 0;
  for (const batch of batches) bytes += encoder.encode(batch).length;
  return bytes;
}

function splitIntoBatches(records: readonly StampedRecord[]): StampedRecord[][] {
  return Array.from({ length: Math.ceil(records.length / BATCH) }, (_, i) => records.slice(i * BATCH, (i + 1) * BATCH));
}

function encodePlain(frames: readonly object[]): number {
  let bytes = 0;
  for (const frame of frames) bytes += Buffer.from(`${JSON.stringify(frame)}\n`).length;
  return bytes;
}

/** Frames as a plain sender would have them, built in advance so that only writing is measured. */
function flatten(records: readonly StampedRecord[]): object[] {
  const encoder = DIALECTS.loom.createEncoder();
  return records.flatMap((record) => encoder.encode(record).map((text) => JSON.parse(text) as object));
}

function benchEncode(): void {
  print("\nEncoding to bytes, against JSON.stringify + Buffer.from per frame");
  const chunks = createRealisticRecords(FRAMES * 2)
    .filter((record) => record.event.type === "message_chunk")
    .slice(0, FRAMES);
  const { ours, peer, speedup } = compareEncoding(chunks);
  check(
    "message chunks, batches of 64",
    times(speedup),
    "≥ 1.5 ×",
    speedup >= 1.5,
    `${ours.toFixed(2)} µs against ${peer.toFixed(2)} µs`,
  );
  const byType = readRecordsByType();
  for (const type of EVENT_TYPES) {
    const some = byType.get(type) ?? [];
    const many = Array.from({ length: Math.ceil(10_000 / some.length) }, () => some).flat();
    const result = compareEncoding(many);
    check(type, times(result.speedup), "≥ 1 ×", result.speedup >= 1);
  }
}

function compareEncoding(records: readonly StampedRecord[]): Comparison {
  const flat = flatten(records);
  const batches = splitIntoBatches(records);
  return compare(
    () => encodeOurs(batches),
    () => encodePlain(flat),
    records.length,
  );
}

/**
 * Records of every type from the golden runs, with the IDs of one session and run: an encoder handles one session at a
 * time.
 */
function readRecordsByType(): Map<string, StampedRecord[]> {
  const groups = new Map<string, StampedRecord[]>();
  for (const file of listVectorFiles("runs")) {
    for (const record of readVector(file).records.flat() as StampedRecord[]) {
      const group = groups.get(record.event.type) ?? [];
      groups.set(record.event.type, group);
      group.push({
        ...record,
        envelope: {
          ...record.envelope,
          session_id: "1e0c905e-e7a3-45ca-a553-fe0f179beaef",
          run_id: "run-8a41c6f0d2b94e7f-1",
          event_id: record.envelope.event_id ?? 1,
        },
      });
    }
  }
  return groups;
}

function benchDecode(): void {
  print("\nDecoding NDJSON with validation, against plain JSON.parse of the same lines");
  const records = createRealisticRecords(FRAMES);
  const encoder = DIALECTS.loom.createEncoder();
  const lines = records.flatMap((record) => encoder.encode(record));
  const bytes = encodeNdjsonBatch(lines);
  const parse = () => {
    for (const line of lines) JSON.parse(line);
  };
  const ours = () => {
    const framing = createNdjsonDecoder();
    const decoder = DIALECTS.loom.createDecoder();
    let count = 0;
    const take = (outcomes: ReturnType<typeof framing.push>) => {
      for (const outcome of outcomes) if (outcome.ok) count += decoder.decode(outcome.text).records.length;
    };
    for (let at = 0; at < bytes.length; at += CHUNK) take(framing.push(bytes.subarray(at, at + CHUNK)));
    take(framing.end());
    if (count !== lines.length) throw new Error(`decoded ${count} of ${lines.length} frames`);
  };
  const result = compare(ours, parse, lines.length);
  const cost = 1 / result.speedup;
  check(
    "bytes to validated records",
    times(cost),
    "≤ 1.5 ×",
    cost <= 1.5,
    `${result.ours.toFixed(2)} µs against ${result.peer.toFixed(2)} µs`,
  );
  const events = records.map((record: EventRecord) => record.event);
  const validate = () => {
    for (const event of events) findLoomEventFault(event);
  };
  const each = compare(validate, validate, events.length).ours;
  check("validation alone", `${each.toFixed(2)} µs per event`, "≤ 0.3 µs", each <= 0.3);
}

/** Reads the peak memory of each process from /proc. */
/** Dialects of clients that other projects make. */
const FOREIGN_DIALECTS = ["ai-sdk", "ag-ui", "openai-responses", "openai-chat"] as const;

function benchTokens(): void {
  print("A token in the dialects of other clients, compared with loom:");
  const envelope = { session_id: "s", run_id: "run-1", node_id: "n-1", ts: 1_700_000_000_000 };
  const tokens = Array.from({ length: FRAMES }, (_, i): StampedRecord => ({
    envelope: { ...envelope, event_id: i + 3 },
    event: { type: "message_chunk", content: ENGLISH.words[i % ENGLISH.words.length] ?? "", id: "think" },
  }));
  const opening: readonly StampedRecord[] = [
    { envelope: { ...envelope, event_id: 1 }, event: { type: "run_start", run_id: "run-1", message: "Talk" } },
    { envelope: { ...envelope, event_id: 2 }, event: { type: "node_enter", id: "think" } },
  ];
  const encodeAs = (name: DialectName) => (): void => {
    const encoder = DIALECTS[name].createEncoder();
    for (const record of opening) encoder.encode(record);
    let length = 0;
    for (const record of tokens) for (const frame of encoder.encode(record)) length += frame.length;
    if (length < FRAMES * 20) throw new Error(`only ${length} characters for ${FRAMES} tokens`);
  };
  for (const name of FOREIGN_DIALECTS) {
    const { ours, speedup } = compare(encodeAs(name), encodeAs("loom"), FRAMES);
    check(name, times(1 / speedup), "≤ 1.5 ×", 1 / speedup <= 1.5, `${ours.toFixed(2)} µs`);
  }
}

async function benchConvertMemory(): Promise<void> {
  print("\nPeak memory of `loom convert` with 1,000,000 frames");
  const folder = mkdtempSync(join(tmpdir(), "loom-bench-"));
  try {
    const file = join(folder, "million.ndjson");
    writeMillion(file);
    for (const to of Object.keys(DIALECTS)) {
      const { peak, seconds, code } = await runConvert(file, to);
      const reached = code === 0 && peak < 250;
      check(`loom → ${to}`, `${peak.toFixed(0)} MB`, "< 250 MB", reached, `${seconds.toFixed(1)} s`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function writeMillion(file: string): void {
  const out = openSync(file, "w");
  const encoder = DIALECTS.loom.createEncoder();
  const records = createRealisticRecords(10_000);
  for (let round = 0; round < 100; round++) {
    const shifted = records.map(({ envelope, event }): StampedRecord => ({
      envelope: { ...envelope, session_id: `sess-${round}` },
      event,
    }));
    writeSync(out, encodeNdjsonBatch(shifted.flatMap((record) => encoder.encode(record))));
  }
  closeSync(out);
}

async function runConvert(file: string, to: string): Promise<{ peak: number; seconds: number; code: number | null }> {
  const started = performance.now();
  const loom = join(import.meta.dirname, "..", "bin", "loom.js");
  const child = spawn(process.execPath, [loom, "convert", "--from", "loom", "--to", to, file], {
    stdio: ["ignore", "ignore", "ignore"],
  });
  let peak = 0;
  const timer = setInterval(() => {
    try {
      const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
      peak = Math.max(peak, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
    } catch {
      // The process has just ended, or there is no /proc here.
    }
  }, 20);
  const code = await new Promise<number | null>((resolve) => child.on("exit", resolve));
  clearInterval(timer);
  return { peak, seconds: (performance.now() - started) / 1000, code };
}

print(`Node ${process.versions.node}`);
benchEncode();
benchDecode();
benchTokens();
if (!process.argv.includes("--quick")) await benchConvertMemory();
if (missed) process.exitCode = 1;
