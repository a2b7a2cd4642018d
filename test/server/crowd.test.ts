/**
 * A crowd that reads live runs is cut off in one moment, misses a part of them, and comes back in one moment: everybody
 * has the stream of their session, to the byte, and the store was asked no more than it must be. A hundred on ten runs by
 * default; a thousand on fifty in `npm run test:long`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { encodeNdjson, encodeSse } from "../../src/framing/index.ts";
import { type Log, openSqliteLog, openStream } from "../../src/log/index.ts";
import { startLoomServer } from "../../src/server/loom-server.ts";
import { SERVER_LIMITS, type ServerLimits } from "../../src/server/server-limits.ts";
import { gather } from "../log-sessions.ts";
import { CROWD_SAMPLES } from "../sampling.ts";
import { type CrowdReader, createSocketReader, createSseReader } from "./crowd-readers.ts";
import { until } from "./kill-stage.ts";
import { createPacedModel } from "./story-model.ts";

const { readers: READERS, runs: RUNS } = CROWD_SAMPLES;
const TEXT = "What there is to say is said a little at a time, 一点一点地, and nobody may miss any of it. ".repeat(4);
/** Parts of the model's stream after which it waits: when the crowd leaves, and when it comes back. */
const LEAVING = 15;
const RETURNING = 60;

const folder = mkdtempSync(join(tmpdir(), "loom-crowd-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Lets parts through up to a number. */
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
    /** Those that wait here. */
    get size() {
      return waiting.length;
    },
  };
}

/** Counts what is read from the store, and how much of it at once. */
function countReads(log: Log) {
  const tally = { reads: 0, now: 0, most: 0 };
  const read: Log["read"] = async (...asked) => {
    tally.reads++;
    tally.most = Math.max(tally.most, ++tally.now);
    try {
      return await log.read(...asked);
    } finally {
      tally.now--;
    }
  };
  const counted = new Proxy(log, {
    get(target, name) {
      if (name === "read") return read;
      const value: unknown = Reflect.get(target, name, target);
      // Its private fields are its own.
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
  return {
    log: counted,
    tally,
    /** Begins to count anew. */
    clear: () => Object.assign(tally, { reads: 0, most: 0 }),
  };
}

async function play(name: string, limits: Partial<ServerLimits>) {
  const own = await openSqliteLog(join(folder, `${name}.db`));
  const { log, tally, clear } = countReads(own);
  const gate = createGate();
  const agents = { main: agent({ model: createPacedModel(() => ({ text: TEXT }), gate.pass) }) };
  const server = await startLoomServer({ log, agents, port: 0, limits: { heartbeatMs: 0, ...limits } });
  const sessions = Array.from({ length: RUNS }, (_, index) => `crowd-${index}`);
  const crowd: CrowdReader[] = [];
  onTestFinished(async () => {
    for (const reader of crowd) reader.drop();
    await server.close({ graceMs: 0 });
    await own.close();
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
  await Promise.all(crowd.map((reader) => reader.come()));
  gate.open(LEAVING);
  await until(() => crowd.every(({ count }) => count > LEAVING / 2), "everybody reads");
  gate.open(RETURNING);
  await until(() => crowd.some(({ count }) => count > LEAVING + 5), "somebody reads on");
  for (const [index, reader] of crowd.entries()) reader.drop(index % 7);
  await until(() => gate.size === RUNS, "the runs have gone on alone");
  clear();
  const since = performance.now();
  const coming = Promise.all(crowd.map((reader) => reader.come()));
  gate.open(Number.POSITIVE_INFINITY);
  await coming;
  const expected = new Map<string, readonly [string, string]>();
  for (const session of sessions) {
    await until(async () => (await own.listRuns(session))[0]?.status === "completed", `${session} has ended`);
    const frames = (await gather(openStream(own, session, { dialect: "loom" }))).flat();
    expected.set(session, [
      frames.map(({ text, cursor }) => encodeSse({ id: cursor, data: text })).join(""),
      frames.map(({ text }) => encodeNdjson(text)).join(""),
    ]);
  }
  for (const [index, reader] of crowd.entries()) {
    const whole = expected.get(reader.session)?.[index % 2] ?? "";
    await until(() => reader.got.length >= whole.length || reader.faults.length > 0, `reader ${index} has it all`);
    expect(reader.faults, `reader ${index}`).toEqual([]);
    expect(reader.got, `reader ${index}`).toBe(whole);
  }
  return { ...tally, seconds: Math.ceil((performance.now() - since) / 1000) };
}

test(
  `${READERS} readers of ${RUNS} runs come back soon: the store is hardly asked`,
  { timeout: 600_000 },
  async ({ annotate }) => {
    const { reads, seconds } = await play("soon", {});
    await annotate(`${reads} reads of the store`);
    // The stream of a session is still there, and all who come back share it. It alone reads: at a place that memory does
    // not have, and once a second for hints that were lost; never on account of how many readers there are.
    expect(reads).toBeLessThanOrEqual((2 + seconds) * RUNS);
  },
);

test(
  `${READERS} readers of ${RUNS} runs come back late: the store is asked in turns`,
  { timeout: 600_000 },
  async ({ annotate }) => {
    const { reads, most, seconds } = await play("late", { lingerMs: 0 });
    await annotate(`${reads} reads of the store, at most ${most} at once`);
    // Nothing is kept for them, so each asks for itself: for the record before its place, for a page of what it has missed,
    // for what comes after that, and, where the run has gone on meanwhile, once more. So many at once as may catch up, and
    // the streams themselves.
    expect(reads).toBeLessThanOrEqual(4 * READERS + (2 + seconds) * RUNS);
    expect(most).toBeLessThanOrEqual(SERVER_LIMITS.maxCatchUps + RUNS);
  },
);
