/**
 * Many readers of live runs disconnect at once, miss part of the runs, and reconnect at once. Every reader must receive
 * the exact stream of its session, with a bounded number of store reads. 100 readers of 10 runs by default; 1000
 * readers of 50 runs with `npm run test:long`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { encodeNdjson, encodeSse } from "../../src/framing/index.ts";
import { type Log, openSqliteLog, openStream } from "../../src/log/index.ts";
import { startLoomServer } from "../../src/server/loom-server.ts";
import { SERVER_LIMITS, type ServerLimits } from "../../src/server/guard/server-limits.ts";
import { gather } from "../log-sessions.ts";
import { CROWD_SAMPLES } from "../sampling.ts";
import { type CrowdReader, createSocketReader, createSseReader } from "./crowd-readers.ts";
import { until } from "./kill-fixture.ts";
import { createPacedModel } from "./paced-model.ts";

const { readers: READERS, runs: RUNS } = CROWD_SAMPLES;
const TEXT = "The answer is streamed in many small pieces, 一点一点地, and every reader receives all of them. ".repeat(
  4,
);
/** Stream parts after which the model waits: when the readers disconnect, and when they reconnect. */
const LEAVING = 15;
const RETURNING = 60;

const folder = mkdtempSync(join(tmpdir(), "loom-crowd-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Blocks stream parts from a given number on. */
function createGate() {
  let open = 0;
  let waiting: { readonly part: number; readonly go: () => void }[] = [];
  return {
    pass: (part: number) => (part < open ? undefined : new Promise<void>((go) => waiting.push({ part, go }))),
    open(upTo: number): void {
      open = upTo;
      const free = waiting.filter(({ part }) => part < open);
      waiting = waiting.filter(({ part }) => part >= open);
      for (const { go } of free) go();
    },
    /** The number of blocked streams. */
    get size() {
      return waiting.length;
    },
  };
}

/** Counts store reads, and how many run at the same time. */
function countReads(log: Log) {
  const tally = { reads: 0, now: 0, most: 0 };
  const read: Log["read"] = async (...args) => {
    tally.reads++;
    tally.most = Math.max(tally.most, ++tally.now);
    try {
      return await log.read(...args);
    } finally {
      tally.now--;
    }
  };
  const counted = new Proxy(log, {
    get(target, name) {
      if (name === "read") return read;
      const value: unknown = Reflect.get(target, name, target);
      // Bound, because the log has private fields.
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
  return {
    log: counted,
    tally,
    /** Resets the counts. */
    clear: () => Object.assign(tally, { reads: 0, most: 0 }),
  };
}

async function runCrowd(name: string, limits: Partial<ServerLimits>) {
  const store = await openSqliteLog(join(folder, `${name}.db`));
  const { log, tally, clear } = countReads(store);
  const gate = createGate();
  const agents = { main: agent({ model: createPacedModel(() => ({ text: TEXT }), gate.pass) }) };
  const server = await startLoomServer({ log, agents, port: 0, limits: { heartbeatMs: 0, ...limits } });
  const sessions = Array.from({ length: RUNS }, (_, index) => `crowd-${index}`);
  const crowd: CrowdReader[] = [];
  onTestFinished(async () => {
    for (const reader of crowd) reader.disconnect();
    await server.close({ graceMs: 0 });
    await store.close();
  });
  for (const session of sessions) {
    const response = await fetch(`${server.url}/v1/sessions/${session}/runs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ message: "Tell me" }),
    });
    expect(response.status).toBe(202);
  }
  for (let index = 0; index < READERS; index++) {
    const create = index % 2 === 0 ? createSseReader : createSocketReader;
    crowd.push(create(server.url, sessions[(index >> 1) % RUNS] as string));
  }
  await Promise.all(crowd.map((reader) => reader.connect()));
  gate.open(LEAVING);
  await until(() => crowd.every(({ count }) => count > LEAVING / 2), "every reader receives frames");
  gate.open(RETURNING);
  await until(() => crowd.some(({ count }) => count > LEAVING + 5), "a reader receives more frames");
  for (const [index, reader] of crowd.entries()) reader.disconnect(index % 7);
  await until(() => gate.size === RUNS, "the runs have continued without readers");
  clear();
  const startedAt = performance.now();
  const connecting = Promise.all(crowd.map((reader) => reader.connect()));
  gate.open(Number.POSITIVE_INFINITY);
  await connecting;
  const expected = new Map<string, readonly [string, string]>();
  for (const session of sessions) {
    await until(async () => (await store.listRuns(session))[0]?.status === "completed", `${session} has ended`);
    const frames = (await gather(openStream(store, session, { dialect: "loom" }))).flat();
    expected.set(session, [
      frames.map(({ text, cursor }) => encodeSse({ id: cursor, data: text })).join(""),
      frames.map(({ text }) => encodeNdjson(text)).join(""),
    ]);
  }
  for (const [index, reader] of crowd.entries()) {
    const whole = expected.get(reader.session)?.[index % 2] ?? "";
    await until(
      () => reader.received.length >= whole.length || reader.errors.length > 0,
      `reader ${index} has everything`,
    );
    expect(reader.errors, `reader ${index}`).toEqual([]);
    expect(reader.received, `reader ${index}`).toBe(whole);
  }
  return { ...tally, seconds: Math.ceil((performance.now() - startedAt) / 1000) };
}

test(
  `${READERS} readers of ${RUNS} runs reconnect soon with few store reads`,
  { timeout: 600_000 },
  async ({ annotate }) => {
    const { reads, seconds } = await runCrowd("soon", {});
    await annotate(`${reads} store reads`);
    // The channel of each session still exists and serves all readers. Only the channel reads from the store: for
    // positions that are no longer in memory.
    expect(reads).toBeLessThanOrEqual((2 + seconds) * RUNS);
  },
);

test(
  `${READERS} readers of ${RUNS} runs reconnect late with bounded concurrent store reads`,
  { timeout: 600_000 },
  async ({ annotate }) => {
    const { reads, most, seconds } = await runCrowd("late", { lingerMs: 0 });
    await annotate(`${reads} store reads, at most ${most} at the same time`);
    // Nothing is retained, so each reader reads on its own: the record before its position, a page of missed records,
    // the records after that and, if the run has continued, once more. At most `maxCatchUps` readers read at the same
    // time, in addition to the channels.
    expect(reads).toBeLessThanOrEqual(4 * READERS + (2 + seconds) * RUNS);
    expect(most).toBeLessThanOrEqual(SERVER_LIMITS.maxCatchUps + RUNS);
  },
);
