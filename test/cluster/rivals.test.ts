/**
 * Ten logs fight for one session of a database: it has one writer at any time, as its records show. They are ten
 * processes in `npm run test:long`, and in fewer processes by default.
 */
import { setTimeout } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { openPostgresLog } from "../../src/log/index.ts";
import { type Child, startChild } from "../durability/child.ts";
import { NO_POSTGRES, startPostgres } from "../postgres-server.ts";
import { LONG, RIVAL_SAMPLES } from "../sampling.ts";
import { createRandom } from "../server/fault-proxy.ts";
import { until } from "../server/kill-fixture.ts";
import { readTexts } from "./read-texts.ts";

const { processes: PROCESSES, kills: KILLS, appends: APPENDS } = RIVAL_SAMPLES;
const WRITERS = 10;
const SESSION = "prize";
const STOP_MS = 100;
const random = createRandom(20_261_119);

const countLines = (children: readonly Child[], word: string): number =>
  children.reduce((sum, { lines }) => sum + lines.filter((line) => line.startsWith(word)).length, 0);

interface WrittenRecord {
  readonly event_id: number;
  readonly value: { readonly epoch: number; readonly writer: string };
}

describe.skipIf(NO_POSTGRES !== undefined)("ten logs", () => {
  test.runIf(LONG)("have one writer of a session at any time", { timeout: 600_000 }, async ({ annotate }) => {
    const server = await startPostgres();
    const log = await openPostgresLog(server.url);
    await log.createSession(SESSION);
    const failures: unknown[] = [];
    let started = 0;
    const start = (): Child => {
      const count = Math.ceil((WRITERS - (started % PROCESSES)) / PROCESSES);
      const child = startChild("../cluster/rival-child.ts", [server.url, SESSION, String(++started), String(count)]);
      child.ended.catch((error: unknown) => failures.push(error));
      return child;
    };
    const children = Array.from({ length: PROCESSES }, start);
    try {
      await Promise.all(children.map((child) => child.next("ack")));
      for (let kills = 0; kills < KILLS; kills++) {
        const live = children.filter(({ process: { signalCode } }) => signalCode === null);
        const [stopped, killed] = [live[random(live.length)], live[random(live.length)]];
        // Longer than its lease, and maybe while it is about to write.
        stopped?.process.kill("SIGSTOP");
        await setTimeout(STOP_MS);
        stopped?.process.kill("SIGCONT");
        killed?.process.kill("SIGKILL");
        await killed?.ended;
        children.push(start());
      }
      const isEnough = (): boolean =>
        failures.length > 0 || (countLines(children, "ack") >= APPENDS && countLines(children, "late") > 0);
      await until(isEnough, "enough is written", 500_000);
    } finally {
      for (const { process } of children) process.stdin?.end();
    }
    await Promise.allSettled(children.map(({ ended }) => ended));
    expect(failures).toEqual([]);
    const records = (await readTexts(log, SESSION)).map((text) => JSON.parse(text) as WrittenRecord);
    await log.close();
    await server.stop();

    expect(records.map(({ event_id }) => event_id)).toEqual(records.map((_, index) => index + 1));
    const epochs = records.map(({ value }) => value.epoch);
    // A writer that was replaced has written nothing since, or its epoch would appear after a later one.
    expect(epochs).toEqual(epochs.toSorted((a, b) => a - b));
    const writerOf = new Map(records.map(({ value }) => [value.epoch, value.writer]));
    expect(records.filter(({ value }) => writerOf.get(value.epoch) !== value.writer)).toEqual([]);
    // Everything that was acknowledged is stored, once, as it was written.
    const acknowledged = new Set<number>();
    for (const { lines } of children)
      for (const line of lines) {
        const [word, writer, epoch, first, last] = line.split(" ");
        if (word !== "ack") continue;
        for (let id = Number(first); id <= Number(last); id++) {
          if (acknowledged.has(id)) throw new Error(`record ${id} was acknowledged twice`);
          acknowledged.add(id);
          expect(records[id - 1]?.value).toEqual({ epoch: Number(epoch), writer });
        }
      }
    const late = countLines(children, "late");
    expect(late).toBeGreaterThan(0);
    expect(new Set(epochs).size).toBeGreaterThan(WRITERS);
    expect(new Set(writerOf.values()).size).toBeGreaterThan(WRITERS / 2);
    await annotate(
      `${records.length} records of ${new Set(epochs).size} epochs, ${acknowledged.size} acknowledged, ${late} late appends refused`,
    );
  });
});
