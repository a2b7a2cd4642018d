/**
 * A server that is killed while many talk to it, and started again at the same address on the same store. Clients come
 * back by themselves; what they were shown stays, every run ends, once, and a message whose answer was lost is one run
 * however often it is sent. A few kills by default; many in `npm run test:long`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { connect, createReceiver } from "../../src/client/index.ts";
import { encodeSse, encodeSseComment } from "../../src/framing/index.ts";
import { type Log, openSqliteLog, openStream } from "../../src/log/index.ts";
import { deriveRunId } from "../../src/server/commands/derive-run-id.ts";
import { contentOf } from "../client/streams.ts";
import { gather } from "../log-sessions.ts";
import { KILL_SAMPLES } from "../sampling.ts";
import { createRandom, type FaultProxy, startFaultProxy } from "./fault-proxy.ts";
import {
  createTransport,
  findPort,
  type Frame,
  type Kind,
  KINDS,
  Onlooker,
  readOn,
  Restarted,
  until,
} from "./kill-stage.ts";

const MESSAGE = "What is 2 + 3?";
const { kills: KILLS, sessions: SESSIONS, lost: LOST } = KILL_SAMPLES;

const folder = mkdtempSync(join(tmpdir(), "loom-server-kill-"));
const store = join(folder, "loom.db");
const random = createRandom(20_261_115);
let server: Restarted;
let proxy: FaultProxy;
/** The same store, read by another process than the one that is killed. */
let log: Log;

beforeAll(async () => {
  const port = await findPort(random);
  proxy = await startFaultProxy(`http://127.0.0.1:${port}`, () => undefined);
  server = new Restarted(store, port, `127.0.0.1:${proxy.port}`);
  await server.start();
  log = await openSqliteLog(store);
});
afterAll(async () => {
  await server.kill();
  await proxy.close();
  await log.close();
  rmSync(folder, { recursive: true, force: true });
});

/** All runs of these commands are over; each began once and ended once, and there are no others. */
async function expectRuns(session: string, commands: readonly string[]): Promise<readonly string[]> {
  await until(async () => {
    const runs = await log.listRuns(session);
    return runs.length === commands.length && runs.every(({ status }) => status !== "live");
  }, `${commands.length} runs of ${session} have ended`);
  const runs = await log.listRuns(session);
  expect(runs.map(({ runId }) => runId).toSorted()).toEqual(commands.map((id) => deriveRunId(session, id)).toSorted());
  for (const { status, code } of runs)
    expect(["completed", "error interrupted"]).toContain(`${status} ${code ?? ""}`.trim());
  const told = (await gather(openStream(log, session, { dialect: "loom" }))).flat().map(({ text }) => text);
  for (const type of ["run_start", "run_end"])
    expect(
      told.filter((text) => text.includes(`"type":"${type}"`)),
      `${type} of ${session}`,
    ).toHaveLength(runs.length);
  return runs.map(({ status }) => status);
}

test(
  `after ${KILLS} kills everybody sees the same, and nothing is lost or done twice`,
  { timeout: 600_000 },
  async ({ annotate }) => {
    const transports = {
      sse: createTransport("sse", server.url),
      ndjson: createTransport("ndjson", server.url),
      socket: createTransport("socket", server.url),
    };
    const stop = new AbortController();
    const names = Array.from({ length: SESSIONS }, (_, index) => `talk-${index}`);
    // Whoever looks at a session that is not there is told so, and looks no further.
    for (const name of names) await log.createSession(name);
    const talks = names.map((session) => {
      const frames: Frame[] = [];
      const onlookers = KINDS.map((kind) => new Onlooker(session, transports, kind));
      return {
        session,
        frames,
        onlookers,
        commands: [] as string[],
        reading: readOn(server.url, session, frames, stop.signal),
      };
    });
    onTestFinished(() => {
      stop.abort();
      for (const { onlookers } of talks) for (const onlooker of onlookers) onlooker.close();
      for (const transport of Object.values(transports)) transport.close();
    });
    const over = new AbortController();
    const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T;

    // One message after the other, for as long as there is somebody to kill.
    const talking = talks.map(async ({ session, onlookers, commands }, index) => {
      while (!over.signal.aborted) {
        const id = `m-${session}-${commands.length}`;
        commands.push(id);
        const outcome = await (onlookers[(index + commands.length) % onlookers.length] as Onlooker).say(MESSAGE, id);
        expect(outcome.kind).toMatch(/^(accepted|done)$/);
        const run = deriveRunId(session, id);
        await until(async () => ((await log.getRun(session, run))?.status ?? "live") !== "live", `${run} has ended`);
      }
    });
    const leaving = (async () => {
      while (!over.signal.aborted) {
        await setTimeout(20 + random(60));
        pick(pick(talks).onlookers).comeBack(pick<Kind>(KINDS));
      }
    })();

    let live = 0;
    let said = 0;
    const countSaid = (): number => talks.reduce((sum, { commands }) => sum + commands.length, 0);
    for (let kill = 0; kill < KILLS; kill++) {
      // Some die while they look something up, and go on from there; some while they answer, and cannot take that back.
      const isIn = (onlooker: Onlooker): boolean => (kill % 2 === 0 ? onlooker.isAnswering : onlooker.isLive);
      await until(
        () => countSaid() > said && talks.some(({ onlookers }) => onlookers.some(isIn)),
        "somebody sees a run",
      );
      said = countSaid();
      await setTimeout(random(kill % 2 === 0 ? 20 : 200));
      live += talks.filter(({ onlookers }) => onlookers.some(({ isLive }) => isLive)).length;
      await server.kill();
      await server.start();
    }
    over.abort();
    await Promise.all([...talking, leaving]);

    const statuses: string[] = [];
    for (const { session, onlookers, frames, commands } of talks) {
      statuses.push(...(await expectRuns(session, commands)));
      const receiver = createReceiver();
      const state = await connect(receiver, { transport: transports.sse, session, follow: false }).done;
      expect(state).toMatchObject({ status: "complete", verified: true });
      const wanted = contentOf(receiver.getSnapshot().sessions);
      for (const { receiver: shown, changed } of onlookers) {
        const stateOf = () => shown.getSnapshot().sessions[0]?.state;
        await until(
          () => stateOf()?.status === "complete",
          () => `${session} is complete, not ${JSON.stringify(stateOf())}`,
        );
        await until(() => shown.getSnapshot().sessions[0]?.turns.length === commands.length, `${session} is all there`);
        expect(contentOf(shown.getSnapshot().sessions)).toEqual(wanted);
        expect(shown.getSnapshot().sessions[0]?.state.verified).toBe(true);
        expect(changed).toEqual([]);
      }
      const stored = (await gather(openStream(log, session, { dialect: "loom" }))).flat();
      await until(() => frames.length >= stored.length, `${session} was read`);
      expect(frames).toEqual(stored.map(({ text, cursor }) => ({ text, cursor })));
    }
    // It would prove less if nobody had been in the middle of something.
    expect(live).toBeGreaterThan(0);
    const broken = statuses.filter((status) => status === "error").length;
    // Of few kills none may have come between two words of an answer.
    if (KILLS >= 20) expect(broken).toBeGreaterThan(0);
    await annotate(`${statuses.length} runs, ${live} live when killed, ${broken} of them interrupted`);
  },
);

/** A message whose answer may never come; whether it does is of no interest. */
async function post(url: string, session: string, key: string): Promise<string> {
  const response = await fetch(`${url}/v1/sessions/${session}/runs`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "text/event-stream", "idempotency-key": key },
    body: JSON.stringify({ message: MESSAGE }),
  });
  // Signs of life come when they will.
  return (await response.text()).replaceAll(encodeSseComment("alive"), "");
}

test(
  "a message whose answer is lost, with the server or without it, and sent again, is one run",
  { timeout: 600_000 },
  async ({ annotate }) => {
    let started = 0;
    for (const [round, isKilled] of [false, true].entries()) {
      // Of every connection, another piece of the answer comes through: nothing, the head, or the head and some frames.
      proxy.follow((index) =>
        index % 3 === 0
          ? { breach: { bytes: 1 + random(700), how: "reset" } }
          : index % 3 === 1
            ? { breach: { frames: 1 + random(20), how: "reset" } }
            : { breach: { bytes: 1, how: "stall" } },
      );
      const sessions = Array.from({ length: LOST }, (_, index) => `lost-${round}-${index}`);
      const lost = Promise.allSettled(sessions.map((session) => post(proxy.url, session, `key-${session}`)));
      await until(() => proxy.breaches > random(LOST - 1), "an answer is lost");
      if (isKilled) {
        await server.kill();
        for (const session of sessions) if ((await log.listRuns(session).catch(() => [])).length > 0) started++;
        await server.start();
      } else await until(() => proxy.breaches === LOST, "all answers are lost");
      proxy.heal();
      const outcomes = await lost;
      if (!isKilled) expect(outcomes.every(({ status }) => status === "rejected")).toBe(true);
      const told = await Promise.all(sessions.map((session) => post(server.url, session, `key-${session}`)));
      for (const [index, session] of sessions.entries()) {
        await expectRuns(session, [`key-${session}`]);
        const stored = (await gather(openStream(log, session, { dialect: "loom" }))).flat();
        expect(told[index]).toBe(stored.map(({ text, cursor }) => encodeSse({ id: cursor, data: text })).join(""));
      }
    }
    await annotate(`${started} of ${LOST} messages had become runs when the server was killed`);
  },
);
