/**
 * Clients of every transport against the real server over a faulty network. After any fault they must end with the same
 * view as a client without faults. Cut positions are sampled by default; `npm run test:long` tests all of them.
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
/** The first connections have faults; later ones have none, so that a client gets through. */
const FAULTY_CONNECTIONS = 5;

const KINDS = ["sse", "ndjson", "socket"] as const;
type Kind = (typeof KINDS)[number];

let server: LoomServer;
let proxy: FaultProxy;
let log: MemoryLog;
/** A transport that bypasses the proxy. */
let direct: Transport;
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
  direct = createFetchTransport({ url: server.url });
});
afterAll(async () => {
  direct.close();
  await proxy.close();
  await server.close({ graceMs: 0 });
  await log.close();
});

/** Streams the script word by word with a delay, so that it arrives in many pieces. */
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

/** Starts a run without faults and does not wait for it. */
async function startRun(): Promise<string> {
  const session = `s${++sessions}`;
  const command = { type: "run", id: `m-${session}`, session, message: "What is 2 + 3?" } as const;
  const outcome = await direct.send(command, new AbortController().signal);
  expect(outcome.kind).toMatch(/^(accepted|done)$/);
  return session;
}

async function finish(session: string): Promise<void> {
  const waiting = { timeout: 10_000, interval: 5 };
  await vi.waitFor(async () => expect((await log.listRuns(session))[0]?.status).toBe("completed"), waiting);
}

/** Returns the view of a client without faults. */
async function readDirectly(session: string): Promise<unknown> {
  await finish(session);
  const receiver = createReceiver();
  const state = await connect(receiver, { transport: direct, session, follow: false }).done;
  expect(state).toMatchObject({ status: "complete", verified: true });
  return contentOf(receiver.getSnapshot().sessions);
}

async function expectSame(receiver: Receiver, session: string): Promise<void> {
  const wanted = await readDirectly(session);
  await vi.waitFor(
    () => {
      const { sessions: shown } = receiver.getSnapshot();
      expect(shown[0]?.state).toMatchObject({ status: "complete", verified: true });
      expect(contentOf(shown)).toEqual(wanted);
    },
    { timeout: 10_000, interval: 5 },
  );
}

/** Follows a new run over a network with this plan. */
async function checkPlan(kind: Kind, plan: FaultPlan): Promise<void> {
  proxy.setPlan(plan);
  const session = await startRun();
  const receiver = createReceiver();
  const connection = follow(receiver, kind, session);
  await expectSame(receiver, session);
  connection.close();
}

const faultyFirst =
  (faults: Faults): FaultPlan =>
  (index) =>
    index < FAULTY_CONNECTIONS ? faults : undefined;

/** The approximate number of frames and bytes of a complete stream. */
const FRAMES = 45;
const BYTES = 9000;

function sampleFrames(offset: number): number[] {
  const counts: number[] = [];
  for (let frames = 1 + (offset % FAULT_SAMPLES.step); frames <= FRAMES; frames += FAULT_SAMPLES.step)
    counts.push(frames);
  return counts;
}

describe.each(KINDS)("%s ends with the same view", (kind) => {
  test.each(["end", "reset"] as const)("when cut after a frame by %s", async (how) => {
    for (const frames of sampleFrames(how === "end" ? 0 : 7)) {
      await checkPlan(kind, faultyFirst({ breach: { frames, how } }));
      if (frames < 5) expect(proxy.breaches).toBeGreaterThan(0);
    }
  });

  test.each(["down", "up"] as const)("when cut after any byte, %s", async (direction) => {
    const random = createRandom(kind.length + direction.length);
    for (let round = 0; round < FAULT_SAMPLES.random; round++) {
      const bytes = 1 + random(direction === "up" ? 400 : BYTES);
      const how = random(2) === 0 ? "end" : "reset";
      await checkPlan(kind, faultyFirst({ breach: { bytes, direction, how } }));
    }
  });

  test("when a connection stalls", async () => {
    // Count breaches, not attempts: on a busy machine a client may give up before a breach.
    await checkPlan(kind, (index) =>
      proxy.breaches < 2 ? { breach: { frames: 3 + (index % 2), how: "stall" } } : undefined,
    );
    expect(proxy.breaches).toBeGreaterThan(0);
  });

  test("when data is dribbled, delayed or duplicated", async () => {
    // Only the first connections: a message that takes longer than the heartbeat timeout never arrives.
    await checkPlan(kind, faultyFirst({ dribble: FAULT_SAMPLES.singles }));
    await checkPlan(kind, () => ({ delayMs: 3 }));
    await checkPlan(kind, () => ({ doubleEach: 2 }));
  });

  test("when the reply to a message is lost, with one run", async () => {
    const random = createRandom(kind.length);
    for (let round = 0; round < FAULT_SAMPLES.random; round++) {
      const bytes = 1 + random(900);
      proxy.setPlan((index) => (index < 4 ? { breach: { bytes, how: "reset" } } : undefined));
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

test("a client can switch transports during a run", async () => {
  for (let round = 0; round < FAULT_SAMPLES.random; round++) {
    const random = createRandom(round);
    proxy.setPlan(() => ({ breach: { frames: 2 + random(6), how: random(2) === 0 ? "end" : "reset" }, delayMs: 1 }));
    const session = await startRun();
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
