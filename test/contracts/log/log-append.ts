/**
 * Tests of appending: a batch is written completely or not at all, by the right writer, after the right record, once.
 */
import { describe, expect, test } from "vitest";
import type { Append } from "../../../src/log/log.ts";
import {
  casesOf,
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

const HIGHEST = Number.MAX_SAFE_INTEGER;

export function describeAppending(store: LogStore): void {
  describe("appending", () => {
    test("returns appended records in order and byte for byte", () =>
      withLog(store, async ({ log, other }) => {
        const writer = await openWriter(log, "s");
        const first = await writer.write(draftRun("r1"));
        const second = await writer.write([drafts.note("between"), ...draftRun("r2")]);
        const entries = [...first, ...second];
        for (const handle of [log, other]) {
          const page = await handle.read("s", { after: 0 });
          expect(page.texts).toEqual(textsOf(entries));
          expect(page.records).toEqual(entries.map(({ record }) => record));
        }
        const bytes = sizeOf(entries);
        expect(await other.getSession("s")).toMatchObject({ firstId: 1, lastId: 9, bytes });
      }));

    test("accepts an empty batch only at the end of the session", () =>
      withLog(store, async ({ log }) => {
        const writer = await openWriter(log, "s");
        await writer.write(draftRun("r"));
        const { epoch } = writer.lease;
        expect(await log.append({ sessionId: "s", epoch, expectedLastId: 4, entries: [] })).toEqual({ lastId: 4 });
        await expectRefusal(log.append({ sessionId: "s", epoch, expectedLastId: 3, entries: [] }), "conflict");
        await expectRefusal(log.append({ sessionId: "s", epoch, expectedLastId: 5, entries: [] }), "conflict");
      }));

    test("rejects an unknown session", () =>
      withLog(store, async ({ log }) => {
        const entries = makeEntries("s", 0, draftRun("r"));
        await expectRefusal(log.append({ sessionId: "s", epoch: 1, expectedLastId: 0, entries }), "unknown_session");
        expect(await log.getSession("s")).toBeUndefined();
      }));

    const misplaced: readonly [about: string, change: (batch: Append) => Partial<Append>][] = [
      ["a last id that is too low", () => ({ expectedLastId: 3, entries: makeEntries("s", 3, [drafts.note("new")]) })],
      ["a last id that is too high", () => ({ expectedLastId: 5, entries: makeEntries("s", 5, [drafts.note("new")]) })],
      ["a negative last id", () => ({ expectedLastId: -1, entries: makeEntries("s", -1, [drafts.note("new")]) })],
      ["a last id that is not a number", () => ({ expectedLastId: Number.NaN, entries: [] })],
      ["records of another session", () => ({ entries: makeEntries("t", 4, [drafts.note("new")]) })],
      ["records that start too late", () => ({ entries: makeEntries("s", 5, [drafts.note("new")]) })],
      ["records that start too early", () => ({ entries: makeEntries("s", 3, [drafts.note("new")]) })],
      ["ids with a gap", () => ({ entries: [4, 6].flatMap((after) => makeEntries("s", after, [drafts.note("new")])) })],
      ["duplicate ids", () => ({ entries: [4, 4].flatMap((after) => makeEntries("s", after, [drafts.note("new")])) })],
      [
        "a last record of another session",
        () => ({ entries: [...makeEntries("s", 4, draftRun("r2")), ...makeEntries("t", 8, [drafts.note("new")])] }),
      ],
    ];
    test.each(casesOf(store, misplaced))("rejects %s as a conflict without changes", (_, change) =>
      withLog(store, async ({ log }) => {
        const writer = await openWriter(log, "s");
        const kept = await writer.write(draftRun("r"));
        const before = await log.getSession("s");
        const batch = { sessionId: "s", epoch: writer.lease.epoch, expectedLastId: 4, entries: [] };
        await expectRefusal(log.append({ ...batch, ...change(batch) }), "conflict");
        expect(await readAll(log, "s")).toEqual(textsOf(kept));
        expect(await log.listRuns("s")).toHaveLength(1);
        expect(await log.getSession("s")).toEqual(before);
        await writer.write(draftRun("r2"));
      }),
    );

    test("reports the last record ID on a conflict", () =>
      withLog(store, async ({ log }) => {
        const writer = await openWriter(log, "s");
        await writer.write(draftRun("r"));
        const entries = makeEntries("s", 0, [drafts.note("other")]);
        const refusal = await expectRefusal(
          log.append({ sessionId: "s", epoch: writer.lease.epoch, expectedLastId: 0, entries }),
          "conflict",
        );
        expect(refusal.details).toEqual({ last_event_id: 4 });
      }));

    test.each([null, undefined, 7])("rejects the session ID %j, and accepts the next batch", (id) =>
      withLog(store, async ({ log }) => {
        const writer = await openWriter(log, "s");
        const sessionId = id as unknown as string;
        const batch = { sessionId, epoch: writer.lease.epoch, expectedLastId: 0, entries: [] };
        const refused = expectRefusal(log.append(batch), "invalid_name");
        await writer.write([drafts.note("next")]);
        await refused;
      }),
    );

    test("rejects invalid run IDs", () =>
      withLog(store, async ({ log }) => {
        const writer = await openWriter(log, "s");
        for (const run of ["", "r".repeat(257), "\ud800", "a\0b"])
          await expectRefusal(writer.write([drafts.note("fine"), drafts.start(run)]), "invalid_name");
        expect(await readAll(log, "s")).toEqual([]);
        await writer.write([drafts.start("r".repeat(256))]);
      }));
  });

  describe("an identical retry", () => {
    const retryOf = (epoch: number, after: number, list: readonly RecordDraft[]): Append => ({
      sessionId: "s",
      epoch,
      expectedLastId: after,
      entries: makeEntries("s", after, list),
    });

    test("returns the same result without writing, also after later appends", () =>
      withLog(store, async ({ log }) => {
        const writer = await openWriter(log, "s");
        await writer.write([drafts.note("first")]);
        await writer.write(draftRun("r"));
        const retry = retryOf(writer.lease.epoch, 1, draftRun("r"));
        expect(await log.append(retry)).toEqual({ lastId: 5 });
        await writer.write([drafts.note("more")]);
        expect(await log.append(retry)).toEqual({ lastId: 5 });
        expect(await readAll(log, "s")).toHaveLength(6);
        expect(await log.listRuns("s")).toHaveLength(1);
      }));

    test.each(
      casesOf(store, [
        [
          "its last record differs by one character",
          [drafts.start("r"), drafts.chunk("r", "a"), drafts.chunk("r", "c")],
        ],
        [
          "its first record differs by one character",
          [drafts.start("q"), drafts.chunk("r", "a"), drafts.chunk("r", "b")],
        ],
        [
          "it is longer than the stored records",
          [drafts.start("r"), drafts.chunk("r", "a"), drafts.chunk("r", "b"), drafts.chunk("r")],
        ],
      ]),
    )("is rejected if %s", (_, list) =>
      withLog(store, async ({ log }) => {
        const writer = await openWriter(log, "s");
        const kept = await writer.write([drafts.start("r"), drafts.chunk("r", "a"), drafts.chunk("r", "b")]);
        await expectRefusal(log.append(retryOf(writer.lease.epoch, 0, list)), "conflict");
        expect(await readAll(log, "s")).toEqual(textsOf(kept));
      }),
    );

    test("is rejected with an old epoch", () =>
      withLog(store, async ({ log, other }) => {
        const writer = await openWriter(log, "s");
        await writer.write(draftRun("r"));
        await openWriter(other, "s");
        await expectRefusal(log.append(retryOf(writer.lease.epoch, 0, draftRun("r"))), "fenced");
      }));
  });

  describe("concurrent appends", () => {
    test("of one writer are stored in call order without awaiting each other", () =>
      withLog(store, async ({ log }) => {
        const { lease } = await openWriter(log, "s");
        const batches = Array.from({ length: 200 }, (_, index) => makeEntries("s", index, [drafts.note(`${index}`)]));
        const answers = await Promise.all(
          batches.map((entries, expectedLastId) =>
            log.append({ sessionId: "s", epoch: lease.epoch, expectedLastId, entries }),
          ),
        );
        expect(answers.map(({ lastId }) => lastId)).toEqual(batches.map((_, index) => index + 1));
        expect(await readAll(log, "s")).toEqual(textsOf(batches.flat()));
      }));

    test("are not affected by a rejected one", () =>
      withLog(store, async ({ log }) => {
        const names = ["a", "b", "c", "d", "e"];
        const writers = await Promise.all(names.map((name) => openWriter(log, name)));
        const wrong = { sessionId: "c", epoch: writers[2]!.lease.epoch, expectedLastId: 7 };
        const results = await Promise.allSettled([
          ...writers.slice(0, 2).map((writer, index) => writer.write(draftRun(`r${index}`))),
          log.append({ ...wrong, entries: makeEntries("c", 7, draftRun("wrong")) }),
          ...writers.slice(3).map((writer, index) => writer.write(draftRun(`r${index}`))),
        ]);
        expect(results.map(({ status }) => status === "fulfilled")).toEqual([true, true, false, true, true]);
        const lengths = await Promise.all(names.map(async (name) => (await readAll(log, name)).length));
        expect(lengths).toEqual([4, 4, 0, 4, 4]);
        expect(await log.listRuns("c")).toEqual([]);
      }));

    test("at the same position: one succeeds, the others conflict", () =>
      withLog(store, async ({ log, other }) => {
        const { lease } = await openWriter(log, "s");
        const results = await Promise.allSettled(
          [log, other, log, other].map(async (handle, index) => {
            const entries = makeEntries("s", 0, [drafts.note(`by ${index}`)]);
            return handle.append({ sessionId: "s", epoch: lease.epoch, expectedLastId: 0, entries });
          }),
        );
        expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
        expect(await readAll(log, "s")).toHaveLength(1);
      }));
  });

  describe("the highest record ID", () => {
    test("is accepted, and the next one is rejected", () =>
      withLog(store, async ({ log }) => {
        await log.createSession("s", { firstId: HIGHEST - 1 });
        const writer = await openWriter(log, "s");
        expect(writer.lastId).toBe(HIGHEST - 2);
        const entries = await writer.write([drafts.note("a"), drafts.note("b")]);
        expect(writer.lastId).toBe(HIGHEST);
        expect((await log.read("s", { after: HIGHEST - 1 })).texts).toEqual(textsOf(entries.slice(1)));
        expect((await log.read("s", { after: HIGHEST })).isEmpty).toBe(true);
        await expectRefusal(writer.write([drafts.note("c")]), "conflict");
        await expectRefusal(log.read("s", { after: HIGHEST + 1 }), "cursor_invalid");
        expect(await readAll(log, "s", HIGHEST - 2)).toEqual(textsOf(entries));
      }));

    test("does not keep a session from being pruned and deleted", () =>
      withLog(store, async ({ log }) => {
        await log.createSession("s", { firstId: HIGHEST - 7 });
        const writer = await openWriter(log, "s");
        await writer.write([...draftRun("a", NOON - 2), ...draftRun("b", NOON - 2)]);
        expect(writer.lastId).toBe(HIGHEST);
        // The ID after the last record would not be a safe integer, so the last run is kept.
        expect(await log.prune({ maxAgeMs: 1 })).toMatchObject({ runs: 1, records: 4 });
        expect(await log.getSession("s")).toMatchObject({ firstId: HIGHEST - 3, lastId: HIGHEST });
        expect(await log.deleteSession("s")).toBe(true);
        // Also deletes the rows of deleted sessions.
        expect(await log.prune({ maxAgeMs: 1 })).toMatchObject({ runs: 0 });
        expect(await openWriter(log, "s")).toMatchObject({ lastId: 0 });
      }));

    test("cannot be exceeded by a batch that starts below it", () =>
      withLog(store, async ({ log }) => {
        await log.createSession("s", { firstId: HIGHEST });
        const writer = await openWriter(log, "s");
        await expectRefusal(writer.write([drafts.note("a"), drafts.note("b")]), "conflict");
        expect(await log.getSession("s")).toMatchObject({ firstId: HIGHEST, lastId: HIGHEST - 1, bytes: 0 });
      }));
  });

  describe("batch limits", () => {
    test("limits the size of an event in bytes, not characters", () => {
      const [fits] = makeEntries("s", 0, [drafts.note("é".repeat(400))]);
      const limits = { maxEventBytes: sizeOf([fits!]) };
      expect(limits.maxEventBytes).toBeGreaterThan(fits!.text.length);
      return withLog(
        store,
        async ({ log }) => {
          const writer = await openWriter(log, "s");
          const refusal = await expectRefusal(
            writer.write([drafts.note("small"), drafts.note(`${"é".repeat(400)}!`)]),
            "event_too_large",
          );
          expect(refusal.details).toMatchObject({ limit: limits.maxEventBytes });
          expect(await readAll(log, "s")).toEqual([]);
          await writer.write([drafts.note("é".repeat(400))]);
        },
        limits,
      );
    });

    test("limits the records of a batch", () =>
      withLog(
        store,
        async ({ log }) => {
          const writer = await openWriter(log, "s");
          await expectRefusal(writer.write(draftRun("r")), "batch_too_large");
          expect(await readAll(log, "s")).toEqual([]);
          await writer.write(draftRun("r").slice(0, 3));
        },
        { maxBatchRecords: 3 },
      ));

    test("limits the bytes of a batch", () => {
      const maxBatchBytes = sizeOf(makeEntries("s", 0, draftRun("r", 5, "€")));
      return withLog(
        store,
        async ({ log }) => {
          const writer = await openWriter(log, "s");
          await expectRefusal(writer.write(draftRun("r", 5, "€.")), "batch_too_large");
          expect(await readAll(log, "s")).toEqual([]);
          await writer.write(draftRun("r", 5, "€"));
        },
        { maxBatchBytes },
      );
    });
  });
}
