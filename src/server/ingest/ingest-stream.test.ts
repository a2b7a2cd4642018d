// Tests of ingest without a server: reading ahead, the lease on the session, and a failing log.
import { setImmediate } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { overrideLog } from "../../../test/log-sessions.ts";
import { createStreamCheck, DIALECTS } from "../../dialects/index.ts";
import { openSession } from "../../engine/index.ts";
import { ForeignSession } from "../../engine/foreign-session.ts";
import { forkSession, listCheckpoints, type Log, MemoryLog } from "../../log/index.ts";
import { ingestStream, type IngestOptions } from "./ingest-stream.ts";
import { sampleCases } from "../../../test/sampling.ts";

const utf8 = new TextEncoder();
const RUN = [
  '{"type":"run_start","run_id":"r1"}\n',
  '{"type":"message_chunk","content":"Hi","id":"think","run_id":"r1"}\n',
  '{"reply":"Hi","run_id":"r1"}\n',
];

function ingest(log: Log, pieces: Iterable<string>, options: Partial<IngestOptions> = {}) {
  const source = pieces[Symbol.iterator]();
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const next = source.next();
        if (next.done === true) controller.close();
        else controller.enqueue(utf8.encode(next.value));
      },
    },
    { highWaterMark: 0 },
  );
  const { signal } = new AbortController();
  const limits = { maxBytes: 1e9, maxFrameBytes: 1e6, idleMs: 0 };
  return ingestStream({ log, sessionId: "s", body, signal, ...limits, ...options });
}

test("reads ahead at most the backlog of the log", async () => {
  const held = Promise.withResolvers<void>();
  const log = overrideLog(new MemoryLog(), (memory) => ({
    append: async (batch) => held.promise.then(() => memory.append(batch)),
  }));
  const piece = `{"type":"custom","value":"${"x".repeat(50_000)}","run_id":"r1"}\n`;
  let pulled = 0;
  function* speak() {
    yield RUN[0] as string;
    for (; pulled < 100; pulled++) yield piece;
    yield RUN[2] as string;
  }
  const going = ingest(log, speak());
  let before = -1;
  while (before !== pulled) {
    before = pulled;
    for (let turn = 0; turn < 20; turn++) await setImmediate();
  }
  // Half of the backlog of 1 MiB.
  expect(pulled).toBeGreaterThan(8);
  expect(pulled).toBeLessThan(20);
  held.resolve();
  expect(await going).toMatchObject({ frames: 102, runs: [{ status: "completed" }] });
});

test("stores runs that are each numbered from 1", async () => {
  const log = new MemoryLog();
  const number = (runId: string) =>
    RUN.map(
      (line, index) => `${JSON.stringify({ ...(JSON.parse(line) as object), run_id: runId, event_id: index + 1 })}\n`,
    );
  expect(await ingest(log, [...number("r1"), ...number("r2")])).toMatchObject({
    runs: [
      { runId: "r1", status: "completed", firstId: 1 },
      { runId: "r2", status: "completed", firstId: 4 },
    ],
  });
  await expect(ingest(log, [...number("r3"), ...number("r3")])).rejects.toMatchObject({ code: "ingest_invalid" });
});

/** First frame of the dialect; it contains no record. */
const GREETING =
  '{"type":"session_id","id":"m0","role":"assistant","session_id":"s1","conversation_id":"k1","tool_use_id":null,"content":"s1","toolName":null,"args":null,"result":null,"status":null,"error":null}\n';

test("a rejected body creates no session", async () => {
  const log = new MemoryLog();
  const nothing = { code: "ingest_invalid", details: { rule: "record-missing" } };
  await expect(ingest(log, [])).rejects.toMatchObject(nothing);
  const named = { dialect: DIALECTS.lumine };
  await expect(ingest(log, [GREETING], named)).rejects.toMatchObject(nothing);
  const details = { rule: "dialect-unknown", line: 1 };
  await expect(ingest(log, ["what is this\n"])).rejects.toMatchObject({ code: "ingest_invalid", details });
  expect(await log.listSessions()).toEqual([]);
});

test("waits for an idle holder of the session, but not for one with a live run", async () => {
  const log = new MemoryLog();
  const session = await openSession(log, "s", { holder: "another" });
  await expect(ingest(log, RUN)).rejects.toMatchObject({ code: "lease_held" });
  const going = ingest(log, RUN, { waitMs: 60_000 });
  await session.close();
  expect(await going).toMatchObject({ runs: [{ runId: "r1", status: "completed" }] });
  const busy = await openSession(log, "s", { holder: "another" });
  const run = await busy.startRun();
  const refusal = { code: "run_live", details: { run_id: run.runId } };
  await expect(ingest(log, RUN, { waitMs: 60_000 })).rejects.toMatchObject(refusal);
  await busy.close();
});

test("ends a run left by a dead process, but not one that waits for approval", async () => {
  const log = new MemoryLog();
  const dead = await openSession(log, "s");
  const run = await dead.startRun({ runId: "r0" });
  // A run that has not begun to answer could still be executed from its start.
  await run.span("think", (node) => node.write("Hello"));
  await dead.close({ run: "leave" });
  expect(run.runId).toBe("r0");
  expect(await ingest(log, RUN)).toMatchObject({ runs: [{ runId: "r1" }] });
  expect(await log.getRun("s", "r0")).toMatchObject({ status: "error", code: "interrupted" });
  const asking = await openSession(log, "s");
  const question = await asking.startRun({ runId: "r2" });
  void question.requestApproval({ callId: "c", name: "send", arguments: {} }).catch(() => undefined);
  await question.settled();
  await asking.close();
  await expect(ingest(log, RUN)).rejects.toMatchObject({ code: "run_live", details: { run_id: "r2" } });
});

test("a run whose first record is too large does not start", async () => {
  const log = new MemoryLog();
  const large = `{"type":"run_start","run_id":"r1","message":"${"x".repeat(log.limits.maxEventBytes)}"}\n`;
  const refusal = { code: "ingest_invalid", details: { rule: "event_too_large", accepted: 0 } };
  await expect(ingest(log, [large], { maxFrameBytes: 1e7 })).rejects.toMatchObject(refusal);
  expect(await log.listRuns("s")).toEqual([]);
});

/** Leaves a live run without a holder, as a killed process does. */
async function leaveForeign(log: Log, frames: readonly string[]): Promise<void> {
  const check = createStreamCheck(DIALECTS.loom);
  const session = await ForeignSession.open(log, "s");
  for (const frame of frames) for (const record of check.check(frame).records) await session.write(record);
  await session.settled();
  await log.release(await log.acquire("s", { holder: "another", ttlMs: 1000, takeover: true }));
  await session.close();
}

const CHECKPOINT =
  '{"type":"checkpoint","checkpoint_id":"k1","timestamp":"2026-01-01T00:00:00Z","step":0,"state":{},"run_id":"r1"}\n';
const QUESTION = [
  '{"type":"tool_call","call_id":"c1","name":"send","arguments":{},"run_id":"r1"}\n',
  '{"type":"tool_approval","call_id":"c1","name":"send","arguments":{},"run_id":"r1"}\n',
];

test.each([
  ["a checkpoint", [CHECKPOINT]],
  ["an open approval", QUESTION],
])("a run interrupted by the death of its process is ended, also with %s", async (_, frames) => {
  const log = new MemoryLog();
  await leaveForeign(log, [RUN[0] as string, ...frames]);
  const resume = vi.fn(async () => undefined);
  const session = await openSession(log, "s", { resume, deadRuns: "leave" });
  expect(session.recovered).toEqual([{ runId: "r1", outcome: "ended" }]);
  await session.close();
  expect(resume).not.toHaveBeenCalled();
  expect(await log.getRun("s", "r1")).toMatchObject({ status: "error", code: "interrupted" });
  // The next body does not have to wait.
  await log.deleteSession("s");
  await leaveForeign(log, [RUN[0] as string, ...frames]);
  expect(await ingest(log, RUN)).toMatchObject({ runs: [{ status: "completed" }] });
});

test("a fork of an interrupted run can be resumed", async () => {
  const log = new MemoryLog();
  await leaveForeign(log, [RUN[0] as string, CHECKPOINT]);
  await forkSession(log, { from: "s", to: "t", checkpointId: "k1" });
  const resume = vi.fn(async () => undefined);
  await (await openSession(log, "t", { resume })).close();
  expect(resume).toHaveBeenCalledOnce();
});

test("keeps timestamps of the sender between the last record and now", async () => {
  const log = new MemoryLog();
  const now = Date.now();
  const at = (ts: number, frame: string) => `{"ts":${ts},${frame.slice(1)}`;
  const [start = "", chunk = "", reply = ""] = RUN;
  await ingest(log, [at(1000, start), at(500, chunk), at(now + 1e9, chunk), at(2000, reply)]);
  const { records } = await log.read("s", { after: 0 });
  const times = records.map(({ envelope }) => envelope.ts ?? 0);
  expect(times.slice(0, 2)).toEqual([1000, 1000]);
  expect(times[2]).toBeGreaterThanOrEqual(now);
  expect(times[2]).toBeLessThan(now + 1e6);
  expect(times[3]).toBe(times[2]);
});

test("a failing log ends the ingest and releases the session", async () => {
  let appends = 0;
  const log = overrideLog(new MemoryLog(), (memory) => ({
    append: (batch) => (++appends > 1 ? Promise.reject(new Error("disk")) : memory.append(batch)),
  }));
  const reported: unknown[] = [];
  const report = (error: unknown) => `error-${reported.push(error)}`;
  async function* speak() {
    yield RUN[0] as string;
    await setImmediate();
    await setImmediate();
    yield* RUN.slice(1);
  }
  const pieces = speak();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = await pieces.next();
      if (next.done === true) controller.close();
      else controller.enqueue(utf8.encode(next.value));
    },
  });
  await expect(ingest(log, [], { body, report })).rejects.toMatchObject({ code: "store_failed" });
  expect((await log.getSession("s"))?.holder).toBeUndefined();
});

const lines = (...frames: readonly object[]) => frames.map((frame) => `${JSON.stringify(frame)}\n`);

/** The texts of the stored runs, by run ID. */
async function readTexts(log: Log): Promise<{ readonly [runId: string]: readonly unknown[] }> {
  const { records } = await log.read("s", { after: 0 });
  const texts: { [runId: string]: unknown[] } = {};
  for (const { envelope, event } of records) {
    const { message, content, reply } = event as unknown as { readonly [field: string]: unknown };
    (texts[envelope.run_id ?? ""] ??= []).push(message ?? content ?? reply);
  }
  return texts;
}

test("assigns records without run IDs to the runs of their sessions", async () => {
  const log = new MemoryLog();
  const { runs } = await ingest(
    log,
    lines(
      { session_id: "a", type: "run_start", message: "A?" },
      { session_id: "b", type: "run_start", message: "B?" },
      { session_id: "a", type: "message_chunk", content: "A", id: "think" },
      { session_id: "b", type: "message_chunk", content: "B", id: "think" },
      { session_id: "b", reply: "B" },
      { session_id: "a", reply: "A" },
    ),
  );
  expect(runs.map(({ status }) => status)).toEqual(["completed", "completed"]);
  expect(Object.values(await readTexts(log))).toEqual([
    ["A?", "A", "A"],
    ["B?", "B", "B"],
  ]);
});

test("keeps runs of two sessions apart that have the same ID", async () => {
  const log = new MemoryLog();
  await ingest(
    log,
    lines(
      { session_id: "a", run_id: "r", type: "run_start", message: "A?" },
      { session_id: "b", run_id: "r", type: "run_start", message: "B?" },
      { session_id: "a", run_id: "r", reply: "A" },
      { session_id: "b", reply: "B" },
    ),
  );
  expect(Object.values(await readTexts(log))).toEqual([
    ["A?", "A"],
    ["B?", "B"],
  ]);
});

test("assigns a record without session to the only run that matches", async () => {
  const log = new MemoryLog();
  const { runs } = await ingest(
    log,
    lines(
      { session_id: "a", type: "run_start", message: "A?" },
      { type: "message_chunk", content: "A", id: "think" },
      { reply: "A" },
      { session_id: "a", run_id: "r1", type: "run_start", message: "1?" },
      { session_id: "b", run_id: "r2", type: "run_start", message: "2?" },
      { run_id: "r2", reply: "2" },
      { run_id: "r1", reply: "1" },
    ),
  );
  expect(runs.map(({ status }) => status)).toEqual(["completed", "completed", "completed"]);
  expect(Object.values(await readTexts(log))).toEqual([
    ["A?", "A", "A"],
    ["1?", "1"],
    ["2?", "2"],
  ]);
});

test("refuses a record that may belong to several runs, with its line and rule", async () => {
  const log = new MemoryLog();
  const going = ingest(
    log,
    lines(
      { session_id: "a", type: "run_start", message: "A?" },
      { session_id: "b", type: "run_start", message: "B?" },
      { reply: "A" },
    ),
  );
  const details = { line: 3, rule: "session-unmatched", accepted: 2 };
  await expect(going).rejects.toMatchObject({ code: "ingest_invalid", details });
  const runs = await log.listRuns("s");
  expect(runs.map(({ status }) => status)).toEqual(["error", "error"]);
});

test("accepts a checkpoint with a numeric time and a step that is a text", async () => {
  const log = new MemoryLog();
  const checkpoint = { checkpoint_id: "c", timestamp: 1718000000, step: "plan", state: {} };
  const { warningCount } = await ingest(
    log,
    lines(
      { session_id: "a", event_id: 1, type: "run_start" },
      { session_id: "a", event_id: 2, type: "checkpoint", ...checkpoint, thread_id: "a", checkpoint_ns: "" },
      { session_id: "a", event_id: 3, reply: "A" },
    ),
  );
  expect(warningCount).toBe(0);
  expect(await listCheckpoints(log, "s")).toMatchObject([{ timestamp: 1718000000, step: "plan" }]);
});

test.each(
  sampleCases([
    ["node runs", (index: number) => `{"type":"node_enter","id":"n","run_id":"r1","node_id":"x${index}"}\n`],
    ["tool calls", (index: number) => `{"type":"tool_start","name":"t","call_id":"c${index}","run_id":"r1"}\n`],
  ]),
)("refuses a stream with too many open %s, and closes them", async (_, line) => {
  const log = new MemoryLog();
  const pieces = [RUN[0] as string, ...Array.from({ length: 10_100 }, (_one, index) => line(index))];
  await expect(ingest(log, pieces)).rejects.toMatchObject({
    code: "ingest_invalid",
    details: { rule: "too_many_open", line: 10_002 },
  });
  expect(await log.listRuns("s")).toMatchObject([{ status: "error", code: "ingest_invalid" }]);
});

test("counts only what is open", async () => {
  const log = new MemoryLog();
  const span = (index: number) =>
    `{"type":"node_enter","id":"n","run_id":"r1","node_id":"x${index}"}\n` +
    `{"type":"node_exit","id":"n","result":"Ok","run_id":"r1","node_id":"x${index}"}\n`;
  const pieces = [RUN[0] as string, ...Array.from({ length: 10_100 }, (_, index) => span(index)), RUN[2] as string];
  expect(await ingest(log, pieces)).toMatchObject({ runs: [{ status: "completed" }] });
});

test("a recorded stream cannot allow tools in the session", async () => {
  const log = new MemoryLog();
  await ingest(log, ['{"type":"tool_permission","name":"rm","rule":"allow"}\n', ...RUN]);
  const { records } = await log.read("s", { after: 0 });
  expect(records[0]?.event).toMatchObject({ type: "tool_permission", name: "rm", rule: "ask" });
});
