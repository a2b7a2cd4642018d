/**
 * Thousands of short runs of three servers with one database, of which one is killed again and again: each runs once. Only
 * in the long run: `cluster.test.ts` kills servers of a database in every run.
 */
import { setTimeout } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { OWNER } from "../chaos/chaos-world.ts";
import type { RunInfo } from "../../src/log/index.ts";
import { deriveRunId } from "../../src/server/commands/execute-command.ts";
import { NO_POSTGRES } from "../postgres-server.ts";
import { LONG } from "../sampling.ts";
import { createRandom } from "../server/fault-proxy.ts";
import { type Cluster, findRepeated, openCluster } from "./cluster.ts";
import { killServer } from "./cluster-faults.ts";
import { readTexts } from "./read-texts.ts";

const RUNS = 5000;
const SESSIONS = 500;
const KILL_MS = 5000;
/** A killed server is found at once; a busy one keeps its sessions. */
const TTL_MS = 10_000;
const SENDERS = 32;
const SEED = 20_261_120;
const PATIENCE_MS = 900_000;
const POLL_MS = 200;

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

interface CheckedRuns {
  /** Runs that did not complete. */
  readonly failed: readonly string[];
  /** Keys whose call was interrupted: its effect is unknown. */
  readonly interrupted: readonly string[];
}

/** Waits for the runs of a session and checks its records. */
async function checkSession({ log, ledger }: Cluster, session: string, keys: readonly string[]): Promise<CheckedRuns> {
  const list = (): Promise<readonly RunInfo[]> => log.listRuns(session, { limit: 1000 });
  const isOver = ({ status }: RunInfo): boolean => status !== "live";
  let runs = await list();
  for (const end = performance.now() + PATIENCE_MS; runs.length < keys.length || !runs.every(isOver);) {
    if (performance.now() > end) throw new Error(`timed out waiting until the runs of ${session} have ended`);
    await setTimeout(POLL_MS);
    runs = await list();
  }
  expect(runs.map(({ runId }) => runId).toSorted()).toEqual(keys.map((key) => deriveRunId(session, key)).toSorted());
  const texts = await readTexts(log, session);
  ledger.check(session, texts);
  for (const type of ["run_start", "run_end"])
    expect(texts.filter((text) => text.includes(`"type":"${type}"`))).toHaveLength(keys.length);
  const isNoted = (key: string): boolean => {
    const run = `"run_id":"${deriveRunId(session, key)}"`;
    const wanted = ['"type":"tool_end"', run, `noted ${key}`];
    return texts.some((text) => wanted.every((part) => text.includes(part)));
  };
  const failed = runs.filter(({ status }) => status !== "completed");
  return {
    failed: failed.map(({ runId, status, code }) => `${session} ${runId} ${status} ${code ?? ""}`),
    interrupted: keys.filter((key) => !isNoted(key)),
  };
}

describe.runIf(LONG && NO_POSTGRES === undefined)("three servers, of which one is killed again and again", () => {
  test(`execute each of ${RUNS} runs once`, { timeout: 1_800_000 }, async ({ annotate }) => {
    const random = createRandom(SEED);
    const cluster = await openCluster({ random, ttlMs: TTL_MS, partMs: 10, answers: 0 });
    try {
      const began = performance.now();
      const names = Array.from({ length: SESSIONS }, (_, index) => sessionOf(index));
      await Promise.all(names.map((name) => cluster.log.createSession(name, { owner: OWNER })));
      const over = new AbortController();
      let kills = 0;
      const killing = (async () => {
        while (!over.signal.aborted) {
          await setTimeout(KILL_MS, undefined, { signal: over.signal }).catch(() => undefined);
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
      const failed: string[] = [];
      const keys = Array.from({ length: RUNS }, (_, index) => keyOf(index));
      for (const name of names) {
        const own = keys.filter((_, index) => sessionOf(index) === name);
        const checked = await checkSession(cluster, name, own);
        for (const key of checked.interrupted) interrupted.add(key);
        failed.push(...checked.failed);
      }
      const seconds = Math.round((performance.now() - began) / 1000);
      over.abort();
      await killing;
      const notes = cluster.readNotes();
      const { records, late } = cluster.ledger.counts;
      await annotate(
        `${RUNS} runs in ${seconds} s, ${kills} kills, ${repeated} messages sent again, ${notes.length} effects, ` +
          `${interrupted.size} calls cut off, ${records} acknowledged records, ${late} late appends, ` +
          `${cluster.falseTakeovers.count} false takeovers`,
      );
      expect(failed).toEqual([]);
      expect(findRepeated(notes)).toEqual([]);
      const noted = new Set(notes);
      // Only a call that was cut off between its start and its end may have had no effect.
      expect(keys.filter((key) => !noted.has(key) && !interrupted.has(key))).toEqual([]);
      expect(notes.filter((key) => !keys.includes(key))).toEqual([]);
      expect(cluster.crashes).toEqual([]);
      expect(kills).toBeGreaterThan(0);
    } finally {
      await cluster.close();
    }
  });
});
