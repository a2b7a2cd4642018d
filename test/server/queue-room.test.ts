// Messages to a busy session through two servers on one store, each with its own connection: every accepted message
// gets one run and one end, and a refused one leaves no trace and can be sent again.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { type Log, openSqliteLog } from "../../src/log/index.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { createLoomHandler, type LoomHandler } from "../../src/server/loom-handler.ts";
import { ABUSE_SAMPLES } from "../sampling.ts";

const MESSAGES = 160;
const MAX_QUEUED = 100;
const PAIRS = ABUSE_SAMPLES.isWhole ? 300 : 25;

/** Two servers on one store, whose models answer when `open` was called. */
async function startServers() {
  const folder = mkdtempSync(join(tmpdir(), "loom-queue-"));
  const gate = Promise.withResolvers<void>();
  const model = new ScriptedModel(async () => {
    await gate.promise;
    return { text: "Yes." };
  });
  const start = async (): Promise<{ readonly log: Log; readonly handler: LoomHandler }> => {
    const log = await openSqliteLog(join(folder, "store.db"));
    return { log, handler: createLoomHandler({ log, agents: { main: agent({ model }) }, allowPublic: true }) };
  };
  const servers = [await start(), await start()] as const;
  onTestFinished(async () => {
    gate.resolve();
    for (const { handler } of servers) await handler.close({ graceMs: 0 });
    for (const { log } of servers) await log.close();
    rmSync(folder, { recursive: true, force: true });
  });
  await Promise.all(servers.map(({ handler }) => handler.ready));
  const post = (at: number, path: string, key: string, body: object): Promise<Response> =>
    servers[at % 2]!.handler.fetch(
      new Request(`http://localhost${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", "idempotency-key": key },
        body: JSON.stringify(body),
      }),
    );
  return { log: servers[0].log, post, open: gate.resolve };
}

/** The starts and ends of each run, in order. */
async function countStartsAndEnds(log: Log): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (let after = 0, lastId = 1; after < lastId;) {
    const page = await log.read("s", { after });
    for (const { envelope, event } of page.records)
      if (["run_start", "run_end", "reply"].includes(event.type))
        found.set(envelope.run_id ?? "", `${found.get(envelope.run_id ?? "") ?? ""} ${event.type}`);
    after = page.lastId;
    lastId = (await log.getSession("s"))?.lastId ?? 0;
  }
  return found;
}

it(
  `runs every accepted one of ${MESSAGES} messages to a busy session, in two servers`,
  { timeout: 120_000 },
  async () => {
    const { log, post, open } = await startServers();
    const send = (n: number) => post(n, "/v1/sessions/s/runs", `key-${n}`, { message: `${n}`, run_id: `run-${n}` });
    await send(0);
    await expect.poll(async () => (await log.listRuns("s")).length).toBe(1);
    const answers = await Promise.all(Array.from({ length: MESSAGES }, (_, index) => send(index + 1)));
    const accepted = answers.flatMap(({ status }, index) => (status === 202 ? [index + 1] : []));
    const refused = answers.flatMap(({ status }, index) => (status === 429 ? [index + 1] : []));
    expect([accepted.length, refused.length]).toEqual([MAX_QUEUED, MESSAGES - MAX_QUEUED]);
    const [first = 0] = refused;
    const refusal = await send(first);
    expect([refusal.status, refusal.headers.get("retry-after")]).toEqual([429, "1"]);
    expect(await refusal.json()).toMatchObject({ code: "queue_full", details: { limit: MAX_QUEUED } });
    const chat = await post(first, "/api/chat", "chat", { session_id: "s", content: "Hello" });
    expect([chat.status, chat.headers.get("retry-after")]).toEqual([429, "1"]);
    for (const n of refused) expect(await log.getCommand("s", `key-${n}`)).toBeUndefined();
    // A full queue leaves room for other commands.
    const cancel = await post(0, `/v1/sessions/s/runs/run-${accepted[0]}/cancel`, "cancel", {});
    expect(cancel.status).toBe(200);

    open();
    const expected = [0, ...accepted.slice(1)].map((n) => `run-${n}`);
    await expect
      .poll(async () => (await log.listRuns("s", { limit: 1000 })).filter(({ status }) => status !== "live").length, {
        timeout: 100_000,
      })
      .toBe(expected.length);
    expect(await log.listPending("s")).toEqual([]);
    const again = await send(first);
    expect([200, 202]).toContain(again.status);
    await expect
      .poll(async () => (await log.getRun("s", `run-${first}`))?.status, { timeout: 20_000 })
      .toBe("completed");
    const runs = await countStartsAndEnds(log);
    expect([...runs.keys()].sort()).toEqual([...expected, `run-${first}`].sort());
    for (const events of runs.values()) expect(events).toBe(" run_start run_end reply");
  },
);

it("accepts one of two concurrent messages with `reject`, in two servers", { timeout: 120_000 }, async () => {
  const { log, post } = await startServers();
  for (let pair = 0; pair < PAIRS; pair++) {
    const send = (n: number) =>
      post(n, `/v1/sessions/p${pair}/runs`, `key-${n}`, { message: `${n}`, when_busy: "reject" });
    const statuses = (await Promise.all([send(0), send(1)])).map(({ status }) => status);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([202, 409]);
    const winner = statuses.indexOf(202);
    // Repeating both requests gives the same results.
    expect([(await send(winner)).status, (await send(1 - winner)).status]).toEqual([202, 409]);
    const pending = await log.listPending(`p${pair}`);
    const runs = await log.listRuns(`p${pair}`);
    expect(pending.length + runs.length).toBe(1);
  }
});
