/**
 * Readers of every kind stop reading while a run writes many megabytes. The memory that the server uses for them must
 * be bounded, they must be closed with a cursor and be able to resume there, and other readers must receive everything
 * without waiting for them. More megabytes with `npm run test:long`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openSqliteLog, openStream, type StreamOptions } from "../../src/log/index.ts";
import { startChild } from "../durability/child.ts";
import { gather } from "../log-sessions.ts";
import { LONG, STALL_SAMPLES } from "../sampling.ts";
import { until } from "./kill-fixture.ts";
import { type Closed, STALL_READERS, type StallReader } from "./stall-readers.ts";

const MB = 1024 * 1024;
const { bytes: BYTES } = STALL_SAMPLES;
/**
 * The most additional memory, independent of how much the run writes: measured about 35 MB for 12, 24, 48 and 96 MB.
 * Each of the two dialects has a channel that retains one megabyte as text and as bytes in up to three encodings; each
 * of eight readers may have one megabyte in flight and a chunk of the same size; the queues of the writer need as much.
 * If unread data were kept, it would be everything written, in four encodings.
 */
const BOUND = 48 * MB;

/** RFC 6455 §7.4.1: the connection was closed without a close frame. */
const ABNORMAL_CLOSURE = 1006;

const KINDS = Object.keys(STALL_READERS);

/** Joins the frames that a reader received over several connections. */
function joinTexts(connections: readonly StallReader[], stored: readonly string[]): readonly string[] {
  const texts: string[] = [];
  for (const { greeting, texts: more } of connections) {
    // The greeting replaces the frame it equals.
    if (greeting !== undefined && greeting === stored[texts.length]) texts.push(greeting);
    for (const text of more) texts.push(text);
  }
  return texts;
}

function expectSame(texts: readonly string[], stored: readonly string[], what: string): void {
  // Do not print a diff of megabytes.
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

test.runIf(LONG)(
  `closes stalled readers and serves the others while ${BYTES / MB} MB are written`,
  { timeout: 600_000 },
  async ({ annotate }) => {
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
    const open = (kind: string, resumeFrom: string): StallReader => {
      const reader = STALL_READERS[kind]?.(url, resumeFrom) as StallReader;
      all.push(reader);
      return reader;
    };
    const stalled = KINDS.map((kind) => open(kind, ""));
    const good = KINDS.map((kind) => open(kind, ""));
    await Promise.all(all.map(({ opened }) => opened));
    for (const reader of good) reader.wake();

    const slow = (): readonly string[] => child.lines.filter((line) => line.startsWith("slow"));
    await until(() => slow().length === KINDS.length, "the stalled readers are closed");
    // The other readers receive everything written so far, although the stalled ones have read nothing.
    const pieces = Number(slow().at(-1)?.split(" ")[1]);
    await until(() => good.every(({ texts }) => texts.length >= pieces), "the other readers have continued");
    for (const { texts } of stalled) expect(texts).toEqual([]);
    for (const reader of stalled) reader.wake();
    const closed = await Promise.all(stalled.map((reader) => reader.closed));
    // A connection that is woken late was already terminated without a close frame; it starts from the beginning.
    const hasReason = closed.map(({ code }) => code !== ABNORMAL_CLOSURE);
    const resumed = KINDS.map((kind, index) =>
      open(kind, hasReason[index] === true ? (stalled[index]?.resumeFrom ?? "") : ""),
    );
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
      // Over HTTP there is no close reason; the client resumes with the last ID, or with the number of lines.
      if (code !== 0 && hasReason[index] === true)
        expect(`${code} ${reason}`).toBe(`1013 backlog_full after=${first.resumeFrom}`);
      const both = hasReason[index] === true ? [first, second] : [second];
      await until(() => joinTexts(both, frames).length >= frames.length, `${kind} has everything after resuming`);
      expectSame(joinTexts(both, frames), frames, kind);
    }
    expect(slow()).toHaveLength(KINDS.length);
    const show = (size: number): string => `${(size / MB).toFixed(1)} MB`;
    await annotate(
      `memory: ${show(before)} before, ${show(grown)} more at most, ${show(after - before)} more at the end`,
    );
    await annotate(`frames before they were closed: ${lengths.join(", ")}`);
    expect(grown).toBeLessThan(BOUND);
  },
);
