// Thousands of short runs of three servers with one database, of which one is killed again and again: each runs once.
import { setTimeout } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { OWNER } from "../chaos/chaos-world.ts";
import { deriveRunId } from "../../src/server/commands/derive-run-id.ts";
import { NO_POSTGRES } from "../postgres-server.ts";
import { MANY_RUNS_SAMPLES } from "../sampling.ts";
import { createRandom } from "../server/fault-proxy.ts";
import { until } from "../server/kill-fixture.ts";
import { type Cluster, findRepeated, openCluster } from "./cluster.ts";
import { killServer } from "./cluster-faults.ts";
import { readTexts } from "./read-texts.ts";

const { runs: RUNS, sessions: SESSIONS, killMs, maxKills, ttlMs } = MANY_RUNS_SAMPLES;
const SENDERS = 32;
const SEED = 20_261_120;
const PATIENCE_MS = 300_000;

const sessionOf = (index: number): string => `many-${index % SESSIONS}`;
const keyOf = (index: number): string => `m-${sessionOf(index)}-${Math.floor(index / SESSIONS)}`;

/** Sends a message, with the same ID each time, until a server has accepted it. Returns how often it was sent. */
async function sendUntilAccepted({ url, token }: Cluster, index: number): Promise<number> {
  const key = keyOf(index);
  for (let tries = 1; ; tries++)
    try {
      const response = await fetch(`${url}/v1/sessions/${sessionOf(index)}/runs`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          accept: "application/json",
          "idempotency-key": key,
        },
        body: JSON.stringify({ message: key }),
        signal: AbortSignal.timeout(5000),
      });
      await response.body?.cancel();
      if (response.ok) return tries;
      await setTimeout(100);
    } catch {
      // The server was killed, or the answer was lost.
      await setTimeout(20);
    }
}

/** Checks the records of a session and returns the keys whose call was interrupted: its effect is unknown. */
async function checkSession({ log, ledger }: Cluster, session: string, keys: readonly string[]): Promise<Set<string>> {
  await until(
    async () => {
      const list = await log.listRuns(session, { limit: 1000 });
      return list.length >= keys.length && list.every(({ status }) => status !== "live");
    },
    `${keys.length} runs of ${session} have ended`,
    PATIENCE_MS,
  );
  const runs = await log.listRuns(session, { limit: 1000 });
  expect(runs.map(({ runId }) => runId).toSorted()).toEqual(keys.map((key) => deriveRunId(session, key)).toSorted());
  expect(runs.filter(({ status }) => status !== "completed")).toEqual([]);
  const texts = await readTexts(log, session);
  ledger.check(session, texts);
  for (const type of ["run_start", "run_end"])
    expect(texts.filter((text) => text.includes(`"type":"${type}"`))).toHaveLength(keys.length);
  const interrupted = new Set<string>();
  for (const key of keys) {
    const run = deriveRunId(session, key);
    const ends = texts.filter((text) => text.includes(`"type":"tool_end"`) && text.includes(`"run_id":"${run}"`));
    if (!ends.some((text) => text.includes(`noted ${key}`))) interrupted.add(key);
  }
  return interrupted;
}

describe.skipIf(NO_POSTGRES !== undefined)("three servers, of which one is killed again and again", () => {
  test(`execute each of ${RUNS} runs once`, { timeout: 1_800_000 }, async ({ annotate }) => {
    const random = createRandom(SEED);
    const cluster = await openCluster({ random, ttlMs, partMs: 10, answers: 1 });
    try {
      const began = performance.now();
      const names = Array.from({ length: SESSIONS }, (_, index) => sessionOf(index));
      await Promise.all(names.map((name) => cluster.log.createSession(name, { owner: OWNER })));
      const over = new AbortController();
      let kills = 0;
      const killing = (async () => {
        while (!over.signal.aborted && kills < maxKills) {
          await setTimeout(killMs, undefined, { signal: over.signal }).catch(() => undefined);
          if (over.signal.aborted) break;
          kills++;
          await killServer({ cluster, pick: (list) => list[random(list.length)] as (typeof list)[number] });
        }
      })();
      let next = 0;
      let repeated = 0;
      await Promise.all(
        Array.from({ length: SENDERS }, async () => {
          while (next < RUNS) repeated += (await sendUntilAccepted(cluster, next++)) - 1;
        }),
      );
      const interrupted = new Set<string>();
      const keys = Array.from({ length: RUNS }, (_, index) => keyOf(index));
      for (const name of names) {
        const own = keys.filter((_, index) => sessionOf(index) === name);
        for (const key of await checkSession(cluster, name, own)) interrupted.add(key);
      }
      const seconds = Math.round((performance.now() - began) / 1000);
      over.abort();
      await killing;
      const notes = cluster.readNotes();
      expect(findRepeated(notes)).toEqual([]);
      const noted = new Set(notes);
      // Only a call that was cut off between its start and its end may have had no effect.
      expect(keys.filter((key) => !noted.has(key) && !interrupted.has(key))).toEqual([]);
      expect(notes.filter((key) => !keys.includes(key))).toEqual([]);
      expect(cluster.crashes).toEqual([]);
      expect(kills).toBeGreaterThan(0);
      const { records, late } = cluster.ledger.counts;
      await annotate(
        `${RUNS} runs in ${seconds} s, ${kills} kills, ${repeated} messages sent again, ${notes.length} effects, ` +
          `${interrupted.size} calls cut off, ${records} acknowledged records, ${late} late appends`,
      );
    } finally {
      await cluster.close();
    }
  });
});
