/**
 * Readers of every kind that stop reading while a run writes many megabytes: what the server holds on their account is
 * bounded, they are closed and told where to go on, and from there they get the rest, to the byte. Who reads beside them
 * gets everything and does not wait for them. More megabytes in `npm run test:long`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openSqliteLog, openStream, type StreamOptions } from "../../src/log/index.ts";
import { startChild } from "../durability/child.ts";
import { gather } from "../log-sessions.ts";
import { STALL_SAMPLES } from "../sampling.ts";
import { until } from "./kill-stage.ts";
import { type Closed, STALL_READERS, type StallReader } from "./stall-readers.ts";

const MB = 1024 * 1024;
const { bytes: BYTES } = STALL_SAMPLES;
/**
 * What the server may hold more than before, however much the run writes: measured are about 35 MB at 12, 24, 48 and 96 MB.
 * Each of the two dialects has a stream, whose last megabyte is kept as texts and as bytes in up to three forms; each of
 * eight readers may have a megabyte on its way and a chunk of the same size; the writer's queues have as much. Were what
 * nobody reads kept, it would be all that is written, in four forms.
 */
const BOUND = 48 * MB;

/** RFC 6455 §7.4.1: the connection is gone, and nobody has said why. */
const NOT_TOLD = 1006;

const KINDS = Object.keys(STALL_READERS);

/** The frames of one reader that came over these connections, one after the other. */
function joinTexts(connections: readonly StallReader[], stored: readonly string[]): readonly string[] {
  const texts: string[] = [];
  for (const { greeting, texts: more } of connections) {
    // It stands for the frame that would be the same.
    if (greeting !== undefined && greeting === stored[texts.length]) texts.push(greeting);
    for (const text of more) texts.push(text);
  }
  return texts;
}

function expectSame(texts: readonly string[], stored: readonly string[], what: string): void {
  // A difference of megabytes is nothing to print.
  const index = texts.findIndex((text, at) => text !== stored[at]);
  expect([index, texts.length], what).toEqual([-1, stored.length]);
}

async function readStore(store: string): Promise<{ readonly [D in "loom" | "lumine"]: readonly string[] }> {
  const log = await openSqliteLog(store);
  const read = async (options: StreamOptions) =>
    (await gather(openStream(log, "s", options))).flat().map(({ text }) => text);
  const loom = await read({ dialect: "loom" });
  const lumine = await read({ dialect: "lumine", encoderOptions: { follow: true } });
  await log.close();
  return { loom, lumine };
}

test(`readers that do not read while ${BYTES / MB} MB are written`, { timeout: 600_000 }, async ({ annotate }) => {
  const folder = mkdtempSync(join(tmpdir(), "loom-stall-"));
  const store = join(folder, "loom.db");
  const child = startChild("../server/stall-child.ts", [store, String(2 * KINDS.length), String(BYTES)]);
  const all: StallReader[] = [];
  onTestFinished(async () => {
    for (const reader of all) reader.end();
    child.process.kill("SIGKILL");
    await child.ended;
    rmSync(folder, { recursive: true, force: true });
  });
  const [, url = ""] = (await child.next("listening"))?.split(" ") ?? [];
  const open = (kind: string, place: string): StallReader => {
    const reader = STALL_READERS[kind]?.(url, place) as StallReader;
    all.push(reader);
    return reader;
  };
  const stalled = KINDS.map((kind) => open(kind, ""));
  const good = KINDS.map((kind) => open(kind, ""));
  await Promise.all(all.map(({ opened }) => opened));
  for (const reader of good) reader.wake();

  const slow = (): readonly string[] => child.lines.filter((line) => line.startsWith("slow"));
  await until(() => slow().length === KINDS.length, "those who do not read are given up");
  // Whoever reads gets what has been written meanwhile, though the others have not taken anything.
  const pieces = Number(slow().at(-1)?.split(" ")[1]);
  await until(() => good.every(({ texts }) => texts.length >= pieces), "the others have gone on");
  for (const { texts } of stalled) expect(texts).toEqual([]);
  for (const reader of stalled) reader.wake();
  const closed = await Promise.all(stalled.map((reader) => reader.closed));
  // Whoever is slow to wake is not waited for: then there was no last word, and it begins anew.
  const isTold = closed.map(({ code }) => code !== NOT_TOLD);
  const resumed = KINDS.map((kind, index) => open(kind, isTold[index] === true ? (stalled[index]?.place ?? "") : ""));
  await Promise.all(resumed.map(({ opened }) => opened));
  for (const reader of resumed) reader.wake();

  const done = await child.next("done");
  const [before = 0, most = 0, after = 0] = done?.split(" ").slice(1).map(Number) ?? [];
  const grown = most - before;
  const stored = await readStore(store);
  const lengths: string[] = [];
  for (const [index, kind] of KINDS.entries()) {
    const frames = stored[kind.includes("004") ? "lumine" : "loom"];
    const [reader, first, second] = [good[index], stalled[index], resumed[index]] as [
      StallReader,
      StallReader,
      StallReader,
    ];
    await until(() => joinTexts([reader], frames).length >= frames.length, `${kind} has everything`);
    expectSame(joinTexts([reader], frames), frames, kind);
    const had = joinTexts([first], frames).length;
    lengths.push(`${kind} ${had} of ${frames.length}`);
    expect(had, kind).toBeLessThan(pieces);
    const { code, reason } = closed[index] as Closed;
    // Over HTTP there is no more to say than the ids of the frames; and of lines, how many there were.
    if (code !== 0 && isTold[index] === true)
      expect(`${code} ${reason}`).toBe(`1013 backlog_full after=${first.place}`);
    const both = isTold[index] === true ? [first, second] : [second];
    await until(() => joinTexts(both, frames).length >= frames.length, `${kind} has everything in the end`);
    expectSame(joinTexts(both, frames), frames, kind);
  }
  expect(slow()).toHaveLength(KINDS.length);
  const show = (size: number): string => `${(size / MB).toFixed(1)} MB`;
  await annotate(`held ${show(before)} before, ${show(grown)} more at most, ${show(after - before)} more in the end`);
  await annotate(`frames before they were closed: ${lengths.join(", ")}`);
  expect(grown).toBeLessThan(BOUND);
});
