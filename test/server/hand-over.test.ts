/**
 * Real `loom serve` processes on one PostgreSQL database that are stopped with SIGTERM in the middle of an answer: another
 * one continues the run at once, and the stops do not count as failed attempts.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { folder } from "../cli-run.ts";
import { NO_POSTGRES, type PostgresServer, startPostgres } from "../postgres-server.ts";
import { LONG, HAND_OVER_SAMPLES } from "../sampling.ts";
import { killServers, type ServerProcess, startServe } from "../start-serve.ts";
import { type Frame, readWithReconnect, until } from "./kill-fixture.ts";

const AGENTS = join(folder, "handed-agents.mjs");
// The command loads the default export of a module.
const SOURCE = JSON.stringify(import.meta.resolve("./gated-agent.ts"));
writeFileSync(AGENTS, `export { SERVED as default } from ${SOURCE};`);
const TIMEOUT = 120_000;
const { restarts: RESTARTS, maxAttempts: MAX_ATTEMPTS } = HAND_OVER_SAMPLES;
/** Without hints, the sessions of a stopped server are found every 5 s; without a release, after 10 s. */
const MAX_HAND_OVER_MS = 4000;

const start = (store: string): Promise<ServerProcess> =>
  startServe(store, ["--agents", AGENTS, "--grace", "0", "--limits", `max-run-attempts=${MAX_ATTEMPTS}`]);

/** Starts a run that waits until the gate opens, and a reader that reconnects to the current server. */
async function startRun(session: string, current: () => ServerProcess) {
  const gate = join(folder, `gate-${session}`);
  const response = await fetch(`${current().url}/v1/sessions/${session}/runs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ message: `wait for ${gate} please` }),
  });
  expect(response.status).toBe(202);
  const frames: Frame[] = [];
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  void readWithReconnect(() => current().url, session, frames, stop.signal);
  const find = (text: string) => frames.find((frame) => frame.text.includes(text));
  const show = (text: string) => `the reader saw ${text}; it saw ${frames.map((frame) => frame.text).join("\n")}`;
  const saw = (text: string) =>
    until(
      () => find(text) !== undefined,
      () => show(text),
    );
  const answers = ({ process }: ServerProcess) => saw(`process ${process.pid} answers`);
  const end = async (): Promise<unknown> => {
    writeFileSync(gate, "");
    await saw('"type":"run_end"');
    return JSON.parse(find('"type":"run_end"')?.text ?? "{}");
  };
  return { frames, answers, end };
}

const countAnnouncements = (frames: readonly Frame[]): number =>
  frames.filter(({ text }) => text.includes('"handed_over":true')).length;

describe.skipIf(NO_POSTGRES !== undefined)("servers that stop", { timeout: TIMEOUT }, () => {
  let database: PostgresServer;
  beforeAll(async () => {
    database = await startPostgres();
  }, TIMEOUT);
  afterAll(async () => {
    killServers();
    await database.stop();
  }, TIMEOUT);

  test("hand their runs over to another server at once, any number of times", async ({ annotate }) => {
    let running = await start(database.url);
    const { frames, answers, end } = await startRun("handed", () => running);
    await answers(running);
    // Started only now: any server may take a message that has just been accepted.
    let next = await start(database.url);
    const took: number[] = [];
    for (let restart = 0; restart < RESTARTS; restart++) {
      const stopped = running;
      running = next;
      const began = performance.now();
      stopped.process.kill("SIGTERM");
      await answers(running);
      took.push(Math.round(performance.now() - began));
      expect((await stopped.ended).code).toBe(0);
      if (restart < RESTARTS - 1) next = await start(database.url);
    }
    await annotate(`continued after ${took.join(", ")} ms`);
    expect(await end()).toMatchObject({ status: "completed" });
    expect(Math.max(...took)).toBeLessThan(MAX_HAND_OVER_MS);
    expect(countAnnouncements(frames)).toBe(RESTARTS);
    expect(frames.filter(({ text }) => text.includes('"type":"run_start"'))).toHaveLength(1);
  });
});

describe("a server on a file that is stopped and started", { timeout: TIMEOUT }, () => {
  afterAll(killServers);

  test.runIf(LONG)("continues its run, and the stops do not count as attempts", async () => {
    const store = join(folder, "handed.db");
    let server = await start(store);
    const { frames, answers, end } = await startRun("file", () => server);
    await answers(server);
    for (let restart = 0; restart < RESTARTS; restart++) {
      server.process.kill("SIGTERM");
      expect((await server.ended).code).toBe(0);
      server = await start(store);
      await answers(server);
    }
    expect(await end()).toMatchObject({ status: "completed" });
    expect(countAnnouncements(frames)).toBe(RESTARTS);
  });
});
