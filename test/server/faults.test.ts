/**
 * Clients of every transport before the real server, with a network between that fails in every way it can: whatever
 * happens on the way, they end with the view of somebody who read without faults. Sampled by default; every place in
 * `npm run test:long`.
 */
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { agent } from "../../src/agents/index.ts";
import {
  connect,
  type Connection,
  createFetchTransport,
  createReceiver,
  createWebSocketTransport,
  type Receiver,
  type Transport,
} from "../../src/client/index.ts";
import { MemoryLog } from "../../src/log/index.ts";
import type { LanguageModel } from "../../src/models/index.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { type LoomServer, startLoomServer } from "../../src/server/loom-server.ts";
import { createTools } from "../agents/counted-tools.ts";
import { contentOf, isComplete } from "../client/streams.ts";
import { FAULT_SAMPLES } from "../sampling.ts";
import { createRandom, type FaultPlan, type FaultProxy, type Faults, startFaultProxy } from "./fault-proxy.ts";

const SCRIPT = [
  { text: "I look it up. ", calls: [{ name: "add", input: { a: 2, b: 3 } }] },
  { text: "It is 5 — 第一个答案, and that is all." },
];
const RECONNECT = { initialMs: 1, maxMs: 10, maxAttempts: 1000 };
/** Connections that fare ill before the network is well: a client must get through in the end. */
const ILL = 5;

const KINDS = ["sse", "ndjson", "socket"] as const;
type Kind = (typeof KINDS)[number];

let server: LoomServer;
let proxy: FaultProxy;
let log: MemoryLog;
/** Over a network that is well. */
let calm: Transport;
let sessions = 0;

beforeAll(async () => {
  log = new MemoryLog();
  const agents = { main: agent({ model: createSlowModel(), tools: createTools().tools }) };
  proxy = await startFaultProxy(
    () => server.url,
    () => undefined,
  );
  const hosts = [`127.0.0.1:${proxy.port}`];
  server = await startLoomServer({ log, agents, port: 0, limits: { heartbeatMs: 25 }, hosts });
  calm = createFetchTransport({ url: server.url });
});
afterAll(async () => {
  calm.close();
  await proxy.close();
  await server.close({ graceMs: 0 });
  await log.close();
});

/** Says the script word by word, with time between, so that what it says comes in many pieces. */
function createSlowModel(): LanguageModel {
  const model = new ScriptedModel((_, turn) => SCRIPT[turn % SCRIPT.length] as (typeof SCRIPT)[number]);
  const { specificationVersion, provider, modelId } = model;
  return {
    specificationVersion,
    provider,
    modelId,
    async doStream(request: Parameters<typeof model.doStream>[0]) {
      const { stream } = await model.doStream(request);
      const slow = new TransformStream({
        async transform(part, controller) {
          await setTimeout(1);
          controller.enqueue(part);
        },
      });
      return { stream: stream.pipeThrough(slow) };
    },
  };
}

function createTransport(kind: Kind, url: string): Transport {
  if (kind !== "socket") return createFetchTransport({ url, framing: kind, commandTimeoutMs: 300 });
  const options = { connectTimeoutMs: 300, commandTimeoutMs: 300, heartbeatMs: 60 };
  return createWebSocketTransport({ url: `${url.replace("http", "ws")}/v1/ws`, ...options });
}

function follow(receiver: Receiver, kind: Kind, session: string, url = proxy.url): Connection {
  const transport = createTransport(kind, url);
  const connection = connect(receiver, { transport, session, reconnect: RECONNECT, heartbeatMs: 120 });
  onTestFinished(() => {
    connection.close();
    transport.close();
  });
  return connection;
}

/** Somebody asks over a network that is well, and does not wait. */
async function begin(): Promise<string> {
  const session = `s${++sessions}`;
  const command = { type: "run", id: `m-${session}`, session, message: "What is 2 + 3?" } as const;
  const outcome = await calm.send(command, new AbortController().signal);
  expect(outcome.kind).toMatch(/^(accepted|done)$/);
  return session;
}

async function finish(session: string): Promise<void> {
  const waiting = { timeout: 10_000, interval: 5 };
  await vi.waitFor(async () => expect((await log.listRuns(session))[0]?.status).toBe("completed"), waiting);
}

/** The view of somebody who reads without faults. */
async function readCalmly(session: string): Promise<unknown> {
  await finish(session);
  const receiver = createReceiver();
  const state = await connect(receiver, { transport: calm, session, follow: false }).done;
  expect(state).toMatchObject({ status: "complete", verified: true });
  return contentOf(receiver.getSnapshot().sessions);
}

async function expectSame(receiver: Receiver, session: string): Promise<void> {
  const wanted = await readCalmly(session);
  await vi.waitFor(
    () => {
      const { sessions: shown } = receiver.getSnapshot();
      expect(shown[0]?.state).toMatchObject({ status: "complete", verified: true });
      expect(contentOf(shown)).toEqual(wanted);
    },
    { timeout: 10_000, interval: 5 },
  );
}

/** A client follows a run that is just beginning, over a network with this plan. */
async function tryPlan(kind: Kind, plan: FaultPlan): Promise<void> {
  proxy.follow(plan);
  const session = await begin();
  const receiver = createReceiver();
  const connection = follow(receiver, kind, session);
  await expectSame(receiver, session);
  connection.close();
}

const always =
  (faults: Faults): FaultPlan =>
  (index) =>
    index < ILL ? faults : undefined;

/** How many frames a client gets who reads all at once, and how many bytes. */
const FRAMES = 45;
const BYTES = 9000;

function sampleFrames(offset: number): number[] {
  const places: number[] = [];
  for (let frames = 1 + (offset % FAULT_SAMPLES.step); frames <= FRAMES; frames += FAULT_SAMPLES.step)
    places.push(frames);
  return places;
}

describe.each(KINDS)("%s ends with the same view", (kind) => {
  test.each(["end", "reset"] as const)("cut after frames by %s", async (how) => {
    for (const frames of sampleFrames(how === "end" ? 0 : 7)) {
      await tryPlan(kind, always({ breach: { frames, how } }));
      if (frames < 5) expect(proxy.breaches).toBeGreaterThan(0);
    }
  });

  test.each(["down", "up"] as const)("cut after any byte, %s", async (direction) => {
    const random = createRandom(kind.length + direction.length);
    for (let round = 0; round < FAULT_SAMPLES.random; round++) {
      const bytes = 1 + random(direction === "up" ? 400 : BYTES);
      const how = random(2) === 0 ? "end" : "reset";
      await tryPlan(kind, always({ breach: { bytes, direction, how } }));
    }
  });

  test("half open", async () => {
    // By what has happened, not by how often was tried: on a busy machine a client may give up before it does.
    await tryPlan(kind, (index) =>
      proxy.breaches < 2 ? { breach: { frames: 3 + (index % 2), how: "stall" } } : undefined,
    );
    expect(proxy.breaches).toBeGreaterThan(0);
  });

  test("a byte at a time, late, and twice", async () => {
    // A message that takes longer than silence may last is never heard: not for ever, then.
    await tryPlan(kind, always({ dribble: FAULT_SAMPLES.singles }));
    await tryPlan(kind, () => ({ delayMs: 3 }));
    await tryPlan(kind, () => ({ doubleEach: 2 }));
  });

  test("a message whose answer is lost is one run", async () => {
    const random = createRandom(kind.length);
    for (let round = 0; round < FAULT_SAMPLES.random; round++) {
      const bytes = 1 + random(900);
      proxy.follow((index) => (index < 4 ? { breach: { bytes, how: "reset" } } : undefined));
      const session = `s${++sessions}`;
      const receiver = createReceiver();
      const connection = follow(receiver, kind, session);
      const outcome = await connection.run({ message: "What is 2 + 3?" });
      expect(outcome.kind).toMatch(/^(accepted|done)$/);
      await expectSame(receiver, session);
      expect(await log.listRuns(session)).toHaveLength(1);
      connection.close();
    }
  });
});

test("switching between transports in the middle of a run", async () => {
  for (let round = 0; round < FAULT_SAMPLES.random; round++) {
    const random = createRandom(round);
    proxy.follow(() => ({ breach: { frames: 2 + random(6), how: random(2) === 0 ? "end" : "reset" }, delayMs: 1 }));
    const session = await begin();
    const receiver = createReceiver();
    for (let turn = 0; turn < 6; turn++) {
      const connection = follow(receiver, KINDS[(round + turn) % KINDS.length] as Kind, session);
      await vi.waitFor(() => expect(proxy.breaches > turn || isComplete(receiver.getSnapshot().sessions)).toBe(true), {
        timeout: 5000,
        interval: 2,
      });
      connection.close();
    }
    expect(proxy.breaches).toBeGreaterThan(1);
    proxy.heal();
    const last = follow(receiver, KINDS[round % KINDS.length] as Kind, session);
    await expectSame(receiver, session);
    last.close();
  }
});
