/**
 * A server is killed during many conversations and restarted at the same address on the same store. Clients must
 * reconnect on their own, shown text must not change, every run must end once, and a message that is sent again must be
 * one run. A few kills by default; many with `npm run test:long`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { connect, createReceiver } from "../../src/client/index.ts";
import { encodeSse } from "../../src/framing/index.ts";
import { encodeSseComment } from "../../src/framing/sse.ts";
import { type Log, openSqliteLog, openStream } from "../../src/log/index.ts";
import { deriveRunId } from "../../src/server/commands/execute-command.ts";
import { contentOf } from "../client/streams.ts";
import { gather } from "../log-sessions.ts";
import { KILL_SAMPLES, LONG } from "../sampling.ts";
import { createRandom, type FaultProxy, startFaultProxy } from "./fault-proxy.ts";
import {
  createTransport,
  findPort,
  type Frame,
  type Kind,
  KINDS,
  SessionViewer,
  readWithReconnect,
  RestartableServer,
  until,
} from "./kill-fixture.ts";

const MESSAGE = "What is 2 + 3?";
const { kills: KILLS, sessions: SESSIONS, lost: LOST } = KILL_SAMPLES;

const folder = mkdtempSync(join(tmpdir(), "loom-server-kill-"));
const store = join(folder, "loom.db");
const random = createRandom(20_261_115);
let server: RestartableServer;
let proxy: FaultProxy;
/** The same store, opened by the test process. */
let log: Log;

beforeAll(async () => {
  const port = await findPort(random);
  proxy = await startFaultProxy(`http://127.0.0.1:${port}`, () => undefined);
  server = new RestartableServer(store, port, `127.0.0.1:${proxy.port}`);
  await server.start();
  log = await openSqliteLog(store);
});
afterAll(async () => {
  await server.kill();
  await proxy.close();
  await log.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The record that announces another attempt of a run. */
const ATTEMPT = /"type":"error",.*"code":"interrupted",.*"attempt":\d/;
/** Number of attempts after the first one. */
let again = 0;

/** Waits until all runs have ended, and checks that each command has exactly one run with one start and one end. */
async function expectRuns(session: string, commands: readonly string[]): Promise<readonly string[]> {
  await until(async () => {
    const runs = await log.listRuns(session);
    return runs.length === commands.length && runs.every(({ status }) => status !== "live");
  }, `${commands.length} runs of ${session} have ended`);
  const runs = await log.listRuns(session);
  expect(runs.map(({ runId }) => runId).toSorted()).toEqual(commands.map((id) => deriveRunId(session, id)).toSorted());
  const texts = (await gather(openStream(log, session, { dialect: "loom" }))).flat().map(({ text }) => text);
  for (const { runId, status, code } of runs) {
    const attempts = texts.filter((text) => text.includes(`"run_id":"${runId}"`) && ATTEMPT.test(text)).length + 1;
    // The limit of attempts is 3, so only a run that was killed three times may fail.
    if (status !== "completed") expect([attempts, code]).toEqual([3, "too_many_attempts"]);
    again += attempts - 1;
  }
  for (const type of ["run_start", "run_end"])
    expect(
      texts.filter((text) => text.includes(`"type":"${type}"`)),
      `${type} of ${session}`,
    ).toHaveLength(runs.length);
  return runs.map(({ status }) => status);
}

test(
  `after ${KILLS} kills all clients have the same view, and nothing is lost or repeated`,
  { timeout: 600_000 },
  async ({ annotate }) => {
    const transports = {
      sse: createTransport("sse", server.url),
      ndjson: createTransport("ndjson", server.url),
      socket: createTransport("socket", server.url),
    };
    const stop = new AbortController();
    const names = Array.from({ length: SESSIONS }, (_, index) => `talk-${index}`);
    // A client stops when its session does not exist.
    for (const name of names) await log.createSession(name);
    const conversations = names.map((session) => {
      const frames: Frame[] = [];
      const viewers = KINDS.map((kind) => new SessionViewer(session, transports, kind));
      return {
        session,
        frames,
        viewers,
        commands: [] as string[],
        reading: readWithReconnect(server.url, session, frames, stop.signal),
      };
    });
    onTestFinished(() => {
      stop.abort();
      for (const { viewers } of conversations) for (const viewer of viewers) viewer.close();
      for (const transport of Object.values(transports)) transport.close();
    });
    const over = new AbortController();
    const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T;

    // Sends one message after the other until the last kill.
    const sending = conversations.map(async ({ session, viewers, commands }, index) => {
      while (!over.signal.aborted) {
        const id = `m-${session}-${commands.length}`;
        commands.push(id);
        const outcome = await (viewers[(index + commands.length) % viewers.length] as SessionViewer).say(MESSAGE, id);
        expect(outcome.kind).toMatch(/^(accepted|done)$/);
        const run = deriveRunId(session, id);
        await until(async () => ((await log.getRun(session, run))?.status ?? "live") !== "live", `${run} has ended`);
      }
    });
    const reconnecting = (async () => {
      while (!over.signal.aborted) {
        await setTimeout(20 + random(60));
        pick(pick(conversations).viewers).reconnect(pick<Kind>(KINDS));
      }
    })();

    let live = 0;
    let sentCount = 0;
    const countSent = (): number => conversations.reduce((sum, { commands }) => sum + commands.length, 0);
    for (let kill = 0; kill < KILLS; kill++) {
      // Even kills hit a run that is already answering; odd ones hit any live run.
      const isInterrupting = (viewer: SessionViewer): boolean => (kill % 2 === 0 ? viewer.isAnswering : viewer.isLive);
      await until(
        () => countSent() > sentCount && conversations.some(({ viewers }) => viewers.some(isInterrupting)),
        "a client sees a live run",
      );
      sentCount = countSent();
      await setTimeout(random(kill % 2 === 0 ? 20 : 200));
      live += conversations.filter(({ viewers }) => viewers.some(({ isLive }) => isLive)).length;
      await server.kill();
      await server.start();
    }
    over.abort();
    await Promise.all([...sending, reconnecting]);

    const statuses: string[] = [];
    for (const { session, viewers, frames, commands } of conversations) {
      statuses.push(...(await expectRuns(session, commands)));
      const receiver = createReceiver();
      const state = await connect(receiver, { transport: transports.sse, session, follow: false }).done;
      expect(state).toMatchObject({ status: "complete", verified: true });
      const wanted = contentOf(receiver.getSnapshot().sessions);
      for (const { receiver: shown, regressions: changed } of viewers) {
        const stateOf = () => shown.getSnapshot().sessions[0]?.state;
        await until(
          () => stateOf()?.status === "complete",
          () => `${session} is complete, not ${JSON.stringify(stateOf())}`,
        );
        await until(
          () => shown.getSnapshot().sessions[0]?.turns.length === commands.length,
          `${session} has all turns`,
        );
        expect(contentOf(shown.getSnapshot().sessions)).toEqual(wanted);
        expect(shown.getSnapshot().sessions[0]?.state.verified).toBe(true);
        expect(changed).toEqual([]);
      }
      const stored = (await gather(openStream(log, session, { dialect: "loom" }))).flat();
      await until(() => frames.length >= stored.length, `${session} was read`);
      expect(frames).toEqual(stored.map(({ text, cursor }) => ({ text, cursor })));
    }
    // The test proves little if no run was live.
    expect(live).toBeGreaterThan(0);
    expect(again).toBeGreaterThan(0);
    const broken = statuses.filter((status) => status === "error").length;
    if (KILLS < 20) expect(broken).toBe(0);
    await annotate(
      `${statuses.length} runs, ${live} live when killed, ${again} attempts after a kill, ${broken} runs given up`,
    );
  },
);

// `src/engine/attempts.test.ts` counts attempts without processes.
test.runIf(LONG)("a message that kills its process is tried three times", { timeout: 600_000 }, async () => {
  const session = "deadly";
  const body = JSON.stringify({ message: "Die!", run_id: "doomed" });
  const headers = { "content-type": "application/json", accept: "text/event-stream", "idempotency-key": "k" };
  const request = fetch(`${server.url}/v1/sessions/${session}/runs`, { method: "POST", headers, body });
  await request.then((response) => response.text()).catch(() => undefined);
  let deaths = 0;
  for (; deaths < 3; deaths++) {
    await server.exited;
    await server.start();
  }
  await until(async () => (await log.getRun(session, "doomed"))?.status === "error", "the run was given up");
  expect(await log.getRun(session, "doomed")).toMatchObject({ code: "too_many_attempts" });
  const texts = (await gather(openStream(log, session, { dialect: "loom" }))).flat().map(({ text }) => text);
  expect(texts.flatMap((text) => (ATTEMPT.test(text) ? /"attempt":\d/.exec(text) : []))).toEqual([
    '"attempt":2',
    '"attempt":3',
  ]);
  // The server still answers others.
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
});

/** Sends a message whose response may be lost. */
async function post(url: string, session: string, key: string): Promise<string> {
  const response = await fetch(`${url}/v1/sessions/${session}/runs`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "text/event-stream", "idempotency-key": key },
    body: JSON.stringify({ message: MESSAGE }),
  });
  // Heartbeats depend on timing.
  return (await response.text()).replaceAll(encodeSseComment("alive"), "");
}

test.runIf(LONG)(
  "a message that is sent again after a lost response is one run, with or without a kill",
  { timeout: 600_000 },
  async ({ annotate }) => {
    let started = 0;
    for (const [round, isKilled] of [false, true].entries()) {
      // The response is cut at different points: before the head, inside it, or after some frames.
      proxy.setPlan((index) =>
        index % 3 === 0
          ? { breach: { bytes: 1 + random(700), how: "reset" } }
          : index % 3 === 1
            ? { breach: { frames: 1 + random(20), how: "reset" } }
            : { breach: { bytes: 1, how: "stall" } },
      );
      const sessions = Array.from({ length: LOST }, (_, index) => `lost-${round}-${index}`);
      const lost = Promise.allSettled(sessions.map((session) => post(proxy.url, session, `key-${session}`)));
      await until(() => proxy.breaches > random(LOST - 1), "a response is lost");
      if (isKilled) {
        await server.kill();
        for (const session of sessions) if ((await log.listRuns(session).catch(() => [])).length > 0) started++;
        await server.start();
      } else await until(() => proxy.breaches === LOST, "all responses are lost");
      proxy.heal();
      const outcomes = await lost;
      if (!isKilled) expect(outcomes.every(({ status }) => status === "rejected")).toBe(true);
      const texts = await Promise.all(sessions.map((session) => post(server.url, session, `key-${session}`)));
      for (const [index, session] of sessions.entries()) {
        await expectRuns(session, [`key-${session}`]);
        const stored = (await gather(openStream(log, session, { dialect: "loom" }))).flat();
        expect(texts[index]).toBe(stored.map(({ text, cursor }) => encodeSse({ id: cursor, data: text })).join(""));
      }
    }
    await annotate(`${started} of ${LOST} messages had become runs when the server was killed`);
  },
);
