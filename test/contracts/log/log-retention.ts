/** Tests of retention: whole ended runs are pruned, oldest first, never past a live one. */
import { Readable } from "node:stream";
import { describe, expect, test, vi } from "vitest";
import { copySession } from "../../../src/log/copy-session.ts";
import { forkBeforeRun } from "../../../src/log/fork-before-run.ts";
import type { Log } from "../../../src/log/log.ts";
import { MemoryLog } from "../../../src/log/memory-log.ts";
import { readContent } from "../../../src/log/model-content.ts";
import { exportSession, importSession } from "../../../src/log/transfer.ts";
import {
  type RecordDraft,
  drafts,
  draftRun,
  expectRefusal,
  type LogStore,
  makeEntries,
  NOON,
  openWriter,
  readAll,
  sizeOf,
  textsOf,
  withLog,
} from "./log-fixture.ts";

const HOUR = 3_600_000;
const NOTHING = { runs: 0, records: 0, bytes: 0 };

/** Writes records to a new session and returns their entries. */
async function fill(log: Log, sessionId: string, list: readonly RecordDraft[]) {
  return (await openWriter(log, sessionId)).write(list);
}

async function runsOf(log: Log, sessionId: string): Promise<readonly string[]> {
  return (await log.listRuns(sessionId)).map(({ runId }) => runId).toReversed();
}

export function describeRetention(store: LogStore): void {
  describe("retention", () => {
    test("by age prunes old runs and the records before and between them", () =>
      withLog(store, async ({ log, other }) => {
        const entries = await fill(log, "s", [
          drafts.note("1"),
          drafts.todo("gone"),
          ...draftRun("a", NOON - 3 * HOUR), // 3 to 6
          drafts.note("7"),
          drafts.start("b", NOON - 3 * HOUR), // 8 to 10
          drafts.checkpoint("c", "b"),
          drafts.end("b", "error", "x", NOON - 2 * HOUR),
          drafts.note("11"),
          ...draftRun("c", NOON - HOUR), // 12 to 15
          drafts.todo("kept"), // 16
        ]);
        expect(await log.prune({ maxAgeMs: 2 * HOUR, now: NOON })).toMatchObject({ runs: 1, records: 6 });
        const bytes = sizeOf(entries.slice(6, 10));
        expect(await log.prune({ maxAgeMs: 2 * HOUR - 1 })).toEqual({ runs: 1, records: 4, bytes });
        expect(await log.prune({ maxAgeMs: 2 * HOUR - 1 })).toEqual(NOTHING);
        const kept = entries.slice(10);
        for (const handle of [log, other]) {
          expect(await handle.getSession("s")).toMatchObject({ firstId: 11, lastId: 16, bytes: sizeOf(kept) });
          expect(await readAll(handle, "s", 10)).toEqual(textsOf(kept));
          for (const after of [0, 1, 6, 9]) {
            const refusal = await expectRefusal(handle.read("s", { after }), "evicted");
            expect(refusal.details).toMatchObject({ first_event_id: 11 });
          }
          expect(await runsOf(handle, "s")).toEqual(["c"]);
          expect(await handle.getRun("s", "a")).toBeUndefined();
          expect(await handle.getLandmark("s", "todo_list", "gone")).toBeUndefined();
          expect(await handle.getLandmark("s", "checkpoint", "c")).toBeUndefined();
          expect(await handle.listLandmarks("s", "todo_list")).toHaveLength(1);
          expect(await handle.findFoldStart("s", 13)).toBe(11);
        }
      }));

    test("keeps the position of a session without records", () =>
      withLog(store, async ({ log, other }) => {
        const writer = await openWriter(log, "s");
        await writer.write(draftRun("a", NOON - HOUR));
        expect(await other.prune({ maxAgeMs: 1 })).toMatchObject({ runs: 1, records: 4 });
        expect(await log.getSession("s")).toMatchObject({ firstId: 5, lastId: 4, bytes: 0 });
        expect((await log.read("s", { after: 4 })).isEmpty).toBe(true);
        await expectRefusal(log.read("s", { after: 3 }), "evicted");
        await expectRefusal(log.read("s", { after: 5 }), "cursor_ahead");
        const gone = makeEntries("s", 0, draftRun("a", NOON - HOUR));
        const retry = { sessionId: "s", epoch: writer.lease.epoch, expectedLastId: 0, entries: gone };
        await expectRefusal(log.append(retry), "conflict");
        const entries = await writer.write(draftRun("b"));
        expect(writer.lastId).toBe(8);
        expect(await readAll(other, "s", 4)).toEqual(textsOf(entries));
        expect(await runsOf(log, "s")).toEqual(["b"]);
      }));

    test("never prunes a live run or records after its start", () =>
      withLog(store, async ({ log }) => {
        const entries = await fill(log, "s", [
          ...draftRun("old", 1), // 1 to 4
          drafts.note("5"),
          drafts.start("live", 1), // 6
          ...draftRun("inside", 1), // 7 to 10
          drafts.chunk("live", "x", 1),
          ...draftRun("behind", 1),
        ]);
        const policy = { maxAgeMs: 0, maxSessionBytes: 0, maxBytes: 0 };
        expect(await log.prune(policy)).toEqual({ runs: 1, records: 4, bytes: sizeOf(entries.slice(0, 4)) });
        expect(await readAll(log, "s", 4)).toEqual(textsOf(entries.slice(4)));
        expect(await runsOf(log, "s")).toEqual(["live", "inside", "behind"]);
      }));

    test("prunes overlapping runs together", () =>
      withLog(store, async ({ log }) => {
        const entries = await fill(log, "s", [
          drafts.start("a", 1),
          drafts.start("b", 1),
          drafts.reply("a", 10), // a is over, b is not
          drafts.start("c", 10),
          drafts.reply("b", 20),
          drafts.reply("c", 30), // 6: all are
          ...draftRun("d", 40),
        ]);
        expect(await log.prune({ maxAgeMs: 0, now: 30 })).toEqual(NOTHING);
        expect(await log.prune({ maxAgeMs: 0, now: 31 })).toMatchObject({ runs: 3, records: 6 });
        expect(await readAll(log, "s", 6)).toEqual(textsOf(entries.slice(6)));
        expect(await runsOf(log, "s")).toEqual(["d"]);
      }));

    test("never prunes an ended run that overlaps a live one", () =>
      withLog(store, async ({ log }) => {
        await fill(log, "s", [drafts.start("a", 1), drafts.start("live", 1), drafts.reply("a", 2)]);
        expect(await log.prune({ maxAgeMs: 0, maxSessionBytes: 0, maxBytes: 0 })).toEqual(NOTHING);
        expect(await readAll(log, "s")).toHaveLength(3);
      }));

    test("by session size prunes as many runs of that session as needed", () =>
      withLog(store, async ({ log }) => {
        const runs = ["a", "b", "c", "d"].map((name) => draftRun(name, NOON, "x".repeat(100)));
        const entries = await fill(log, "s", runs.flat());
        await fill(log, "small", draftRun("old", 1));
        const maxSessionBytes = sizeOf(entries.slice(8));
        expect(await log.prune({ maxSessionBytes: sizeOf(entries) })).toEqual(NOTHING);
        const bytes = sizeOf(entries.slice(0, 8));
        expect(await log.prune({ maxSessionBytes })).toEqual({ runs: 2, records: 8, bytes });
        expect(await runsOf(log, "s")).toEqual(["c", "d"]);
        expect(await log.prune({ maxSessionBytes: maxSessionBytes - 1 })).toMatchObject({ runs: 1 });
        expect(await runsOf(log, "s")).toEqual(["d"]);
        expect(await runsOf(log, "small")).toEqual(["old"]);
      }));

    test("by total size prunes the runs that ended first, in all sessions", () =>
      withLog(store, async ({ log }) => {
        const s = await fill(log, "s", [...draftRun("s1", 10), ...draftRun("s2", 40), ...draftRun("s3", 50)]);
        const t = await fill(log, "t", [...draftRun("t1", 20), ...draftRun("t2", 30), drafts.start("live", 60)]);
        const all = sizeOf(s) + sizeOf(t);
        expect(await log.prune({ maxBytes: all })).toEqual(NOTHING);
        const one = sizeOf(s.slice(0, 4));
        expect(await log.prune({ maxBytes: all - 1 })).toEqual({ runs: 1, records: 4, bytes: one });
        expect([await runsOf(log, "s"), await runsOf(log, "t")]).toEqual([
          ["s2", "s3"],
          ["t1", "t2", "live"],
        ]);
        const two = sizeOf(t.slice(0, 8));
        expect(await log.prune({ maxBytes: all - one - two })).toEqual({ runs: 2, records: 8, bytes: two });
        expect([await runsOf(log, "s"), await runsOf(log, "t")]).toEqual([["s2", "s3"], ["live"]]);
        expect(await log.prune({ maxBytes: 0 })).toMatchObject({ runs: 2, records: 8 });
        expect([await runsOf(log, "s"), await runsOf(log, "t")]).toEqual([[], ["live"]]);
      }));

    test("by total size keeps no run that ended before one that it prunes", () =>
      withLog(store, async ({ log }) => {
        const large = drafts.note("x".repeat(200));
        const first = await fill(log, "first", [
          ...draftRun("a", NOON - 3 * HOUR),
          large,
          ...draftRun("c", NOON - HOUR),
        ]);
        const second = await fill(log, "second", draftRun("b", NOON - 2 * HOUR));
        const oldest = sizeOf(first.slice(0, 4)) + sizeOf(second);
        const maxBytes = sizeOf(first) + sizeOf(second) - oldest - 1;
        expect(await log.prune({ maxBytes })).toMatchObject({ runs: 3 });
      }));

    test("without limits prunes nothing, and never a session without runs", () =>
      withLog(store, async ({ log }) => {
        await fill(log, "s", draftRun("r", 1));
        await fill(log, "t", [drafts.note("x")]);
        expect(await log.prune({})).toEqual(NOTHING);
        expect(await readAll(log, "s")).toHaveLength(4);
        await log.prune({ maxAgeMs: 0, maxSessionBytes: 0, maxBytes: 0 });
        expect(await readAll(log, "t")).toHaveLength(1);
        expect(await log.listSessions()).toHaveLength(2);
      }));

    test("prunes many runs at once", () =>
      withLog(store, async ({ log, other }) => {
        const list = Array.from({ length: 1000 }, (_, index) => draftRun(`r${index}`, index)).flat();
        const entries = await fill(log, "s", list);
        const bytes = sizeOf(entries.slice(0, 3600));
        expect(await other.prune({ maxAgeMs: 0, now: 900 })).toEqual({ runs: 900, records: 3600, bytes });
        expect(await readAll(log, "s", 3600)).toEqual(textsOf(entries.slice(3600)));
        expect(await log.listRuns("s", { limit: 1000 })).toHaveLength(100);
      }));

    test("two processes that prune at once delete no more than the policy allows", () =>
      withLog(store, async ({ log, other }) => {
        const names = ["s", "t", "u", "v"];
        const times = Array.from({ length: 75 }, (_, index) => index);
        const entries = await Promise.all(
          names.map(async (name) =>
            fill(
              log,
              name,
              times.flatMap((time) => draftRun(`${time}`, time)),
            ),
          ),
        );
        const all = sizeOf(entries.flat());
        const largest = Math.max(...entries.map((list) => sizeOf(list.slice(-4))));
        const maxBytes = Math.floor(all / 2);
        // Both handles are ready to write, so that they prune side by side.
        await other.prune({});
        const reports = await Promise.all([log.prune({ maxBytes }), other.prune({ maxBytes }), log.prune({})]);
        const infos = await Promise.all(names.map(async (name) => log.getSession(name)));
        const left = infos.reduce((sum, info) => sum + (info?.bytes ?? 0), 0);
        expect(left).toBeLessThanOrEqual(maxBytes);
        expect(left).toBeGreaterThan(maxBytes - largest);
        expect(reports.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(all - left);
        expect(await log.prune({ maxBytes })).toEqual(NOTHING);
      }));

    test.each([
      ["has expired", 30_000],
      ["is older than a clock that was set back", -HOUR],
    ])("another process prunes once the right of one that stopped %s", (_, passed) =>
      withLog(store, async ({ log, other, clock }) => {
        await fill(log, "s", [...draftRun("a", 1), ...draftRun("b", 2)]);
        await fill(log, "t", draftRun("c", 3));
        const { promise: stopped, resolve: proceed } = Promise.withResolvers<undefined>();
        const { promise: reached, resolve: reach } = Promise.withResolvers<undefined>();
        const listRuns = vi.spyOn(log, "listRuns").mockImplementationOnce(async () => {
          reach(undefined);
          await stopped;
          return [];
        });
        const first = log.prune({ maxAgeMs: 0, now: 3 });
        await reached;
        listRuns.mockRestore();
        expect(await other.prune({ maxBytes: 0 })).toEqual({ ...NOTHING, isBusy: true });
        expect(await runsOf(log, "s")).toEqual(["a", "b"]);
        // Without limits, nothing is pruned and nothing has to wait.
        expect(await other.prune({})).toEqual(NOTHING);
        clock.now += passed;
        expect(await other.prune({ maxAgeMs: 0, now: 2 })).toMatchObject({ runs: 1 });
        proceed(undefined);
        expect(await first).toMatchObject({ isBusy: true });
        expect(await log.prune({ maxAgeMs: 0, now: 3 })).toMatchObject({ runs: 1 });
        expect(await runsOf(log, "t")).toEqual(["c"]);
      }),
    );

    test("keeps pending commands and recent outcomes", () =>
      withLog(store, async ({ log, clock }) => {
        const writer = await openWriter(log, "s");
        for (const commandId of ["waits", "answered"])
          await log.submit({ commandId, sessionId: "s", kind: "cancel", body: {} });
        await writer.write([], [{ commandId: "answered", outcome: { code: "done" } }]);
        clock.now += 24 * HOUR;
        await log.prune({});
        expect(await log.getCommand("s", "answered")).toMatchObject({ outcome: { code: "done" } });
        clock.now += 365 * 24 * HOUR;
        await log.prune({ maxAgeMs: 0, maxSessionBytes: 0, maxBytes: 0 });
        expect(await log.getCommand("s", "waits")).toMatchObject({ outcome: undefined });
        expect(await log.getCommand("s", "answered")).toBeUndefined();
      }));
  });

  describe("prompts of kept runs", () => {
    const values = (...list: string[]) => list.map((value) => ({ value }));
    const repeat = (event_id: number, start: number, count: number) => ({ event_id, start, count });
    /** A run of four records; its prompt is the second. */
    const promptRun = (run: string, ts: number, parts: Parameters<typeof drafts.prompt>[1]): readonly RecordDraft[] => {
      const [start, , end, reply] = draftRun(run, ts) as [RecordDraft, RecordDraft, RecordDraft, RecordDraft];
      return [start, drafts.prompt(run, parts, ts), end, reply];
    };
    const LIST = [
      ...promptRun("a", 10, values("settings", "tools", "a1", "not used later")), // 2
      ...promptRun("b", 20, [repeat(2, 0, 3), ...values("b1", "b2")]), // 6
      ...promptRun("c", 30, [repeat(6, 0, 4), ...values("c1")]), // 10
      ...promptRun("d", 40, [repeat(10, 0, 5), repeat(6, 4, 1), ...values("d1")]), // 14
      ...promptRun("e", 50, [repeat(6, 0, 2), repeat(14, 2, 3)]), // 18
    ];
    const PROMPTS = {
      d: ["settings", "tools", "a1", "b1", "c1", "b2", "d1"],
      e: ["settings", "tools", "a1", "b1", "c1"],
    };
    const readPrompt = async (log: Log, sessionId: string, runId: string) => {
      const run = await log.getRun(sessionId, runId);
      return readContent(log, sessionId, (run?.firstId ?? 0) + 1);
    };
    const collect = async (source: AsyncIterable<string>) => {
      const lines: string[] = [];
      for await (const line of source) lines.push(line);
      return lines;
    };
    const readPrompts = async (log: Log, sessionId = "s") => ({
      d: await readPrompt(log, sessionId, "d"),
      e: await readPrompt(log, sessionId, "e"),
    });

    test("stay complete however often earlier runs are pruned", () =>
      withLog(store, async ({ log, other }) => {
        const entries = await fill(log, "s", LIST);
        for (const [count, now] of [11, 21, 31].entries()) {
          expect(await log.prune({ maxAgeMs: 0, now })).toMatchObject({ runs: 1, records: 4 });
          const carried = await other.readCarried("s");
          expect(carried).toHaveLength(count + 1);
          expect(JSON.stringify(carried)).not.toContain("not used later");
          expect(await readPrompts(other)).toEqual(PROMPTS);
          const bytes = sizeOf(entries.slice(4 * (count + 1))) + sizeOf(carried);
          expect(await other.getSession("s")).toMatchObject({ bytes });
        }
        expect(await log.prune({ maxAgeMs: 0, now: 41 })).toMatchObject({ runs: 1 });
        expect(await readPrompt(log, "s", "e")).toEqual(PROMPTS.e);
        expect(JSON.stringify(await log.readCarried("s"))).not.toContain("d1");
        expect(await log.prune({ maxAgeMs: 0, now: 51 })).toMatchObject({ runs: 1 });
        expect(await log.readCarried("s")).toEqual([]);
        expect(await log.getSession("s")).toMatchObject({ bytes: 0 });
      }));

    test("stay complete in forks, copies and imports", () =>
      withLog(store, async ({ log, other, clock }) => {
        await fill(log, "s", LIST);
        // The lease of the writer ends.
        clock.now += 24 * HOUR;
        await log.prune({ maxAgeMs: 0, now: 31 });
        await forkBeforeRun(log, { from: "s", to: "fork" });
        await forkBeforeRun(log, { from: "s", to: "foreign", owner: "someone" });
        expect(await readPrompts(other, "fork")).toEqual(PROMPTS);
        expect(await other.readCarried("foreign")).toEqual([]);
        const lines = await collect(exportSession(log, "s"));
        await importSession(other, Readable.from(lines), { sessionId: "imported" });
        expect(await readPrompts(log, "imported")).toEqual(PROMPTS);
        expect((await log.getSession("imported"))?.bytes).toBeGreaterThan((await log.getSession("s"))?.bytes ?? 0);
        // Only with the same prompts it is the same session.
        await importSession(log, Readable.from(lines), { sessionId: "s" });
        const [, ...rest] = lines;
        await expectRefusal(importSession(log, Readable.from(rest), { sessionId: "s" }), "session_exists");
        const forOthers = await collect(exportSession(log, "s", { isForOwner: false }));
        expect(forOthers.join("")).not.toContain("settings");
        const before = (await log.getSession("fork"))?.bytes ?? 0;
        expect(await log.prune({ maxSessionBytes: before - 1 })).toMatchObject({ runs: 2 });
        expect(await readPrompt(log, "fork", "e")).toEqual(PROMPTS.e);
        const target = new MemoryLog();
        const info = await log.getSession("s");
        expect(await copySession(log, target, info as NonNullable<typeof info>)).toMatchObject({ status: "copied" });
        expect(await readPrompt(target, "s", "e")).toEqual(PROMPTS.e);
      }));

    /** Runs of which each sends the whole conversation so far. */
    const converse = (runs: number) =>
      Array.from({ length: runs }, (_, index) => {
        const before = index === 0 ? values("settings", "tools") : [repeat(4 * index - 2, 0, index + 2)];
        return promptRun(`${index}`, index, [...before, ...values(`message ${index}`)]);
      });

    test("do not make pruning by size prune one run at a time", () =>
      withLog(store, async ({ log }) => {
        const entries = await fill(log, "s", converse(80).flat());
        const maxBytes = Math.floor(sizeOf(entries) / 2);
        const reads = vi.spyOn(log, "read");
        const cuts = vi.spyOn(log, "listRuns");
        await log.prune({ maxBytes });
        expect(cuts.mock.calls.length).toBeLessThan(10);
        // Pruned prompts are read many at a time.
        expect(reads.mock.calls.length).toBeLessThan(50);
        const { bytes = 0 } = (await log.getSession("s")) ?? {};
        expect(bytes).toBeLessThanOrEqual(maxBytes);
        expect(bytes).toBeGreaterThan(maxBytes - 2 * sizeOf(entries.slice(-4)));
        await log.prune({ maxSessionBytes: bytes - sizeOf(entries.slice(-8)) });
        expect(cuts.mock.calls.length).toBeLessThan(20);
        const [newest] = await log.listRuns("s", { limit: 1 });
        expect(await readContent(log, "s", (newest?.firstId ?? 0) + 1)).toHaveLength(82);
      }));

    test("count as freed once no kept run needs them", () =>
      withLog(store, async ({ log }) => {
        const long = "x".repeat(10_000);
        await fill(log, "s", [...promptRun("a", 1, values(long)), ...promptRun("b", 2, [repeat(2, 0, 1)])]);
        const names = Array.from({ length: 20 }, (_, index) => `${index}`);
        await fill(
          log,
          "t",
          names.flatMap((name, index) => draftRun(name, 10 + index, "y".repeat(900))),
        );
        await log.prune({ maxAgeMs: 0, now: 2 });
        const bytesOf = async (name: string) => (await log.getSession(name))?.bytes ?? 0;
        const before = await bytesOf("s");
        expect(before).toBeGreaterThan(long.length);
        // Pruning run `b` is enough, because it frees what it refers to.
        expect(await log.prune({ maxBytes: before + (await bytesOf("t")) - 9000 })).toMatchObject({ runs: 1 });
        expect([await runsOf(log, "s"), await runsOf(log, "t")]).toEqual([[], names]);
        // Nothing is freed by a run whose prompt a later one needs.
        await fill(log, "u", [...promptRun("a", 3, values(long)), ...promptRun("b", 4, [repeat(2, 0, 1)])]);
        const all = (await bytesOf("t")) + (await bytesOf("u"));
        expect(await log.prune({ maxBytes: all - 9000 })).toMatchObject({ runs: 2 });
        expect([await runsOf(log, "t"), await runsOf(log, "u")]).toEqual([names, []]);
      }));

    test("are not searched in a session that has none", () =>
      withLog(store, async ({ log }) => {
        await fill(log, "s", [...draftRun("a", 1), ...draftRun("b", 2)]);
        const read = vi.spyOn(log, "read");
        expect(await log.prune({ maxAgeMs: 0, now: 2 })).toMatchObject({ runs: 1 });
        // Only the pruned records are read.
        expect(read.mock.calls).toEqual([["s", { after: 0, limit: 4 }]]);
      }));

    test("stay complete if the run is live while others are pruned", () =>
      withLog(store, async ({ log }) => {
        const writer = await openWriter(log, "s");
        await writer.write([...LIST.slice(0, 8), drafts.start("live", 60)]);
        for (const now of [11, 60]) expect(await log.prune({ maxAgeMs: 0, now })).toMatchObject({ runs: 1 });
        await writer.write([drafts.prompt("live", [repeat(6, 0, 5), repeat(2, 3, 1)], 60)]);
        expect(await readContent(log, "s", 10)).toEqual(["settings", "tools", "a1", "b1", "b2", "not used later"]);
        await writer.write([...draftRun("live", 70).slice(2), ...draftRun("next", 80)]);
        await log.prune({ maxAgeMs: 0, now: 71 });
        expect(await log.readCarried("s")).toEqual([]);
      }));
  });
}
