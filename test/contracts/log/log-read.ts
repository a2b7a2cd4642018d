/** Tests of reading: complete or rejected with an error code, in bounded pages, and only durable records. */
import { describe, expect, test } from "vitest";
import type { Log } from "../../../src/log/log.ts";
import {
  casesOf,
  drafts,
  draftRun,
  expectRefusal,
  type LogStore,
  makeEntries,
  openWriter,
  readAll,
  sizeOf,
  textsOf,
  withLog,
} from "./log-fixture.ts";

/** Strings that a store might not keep intact. */
const TRICKY_TEXTS: readonly (readonly [about: string, text: string])[] = [
  ["nothing", ""],
  ["all kinds of line breaks", "a\nb\rc\r\nd\u2028e\u2029f\u0085g"],
  ["characters beyond the basic plane", "👩‍👩‍👧‍👦 🏳️‍🌈 𝒳 \u{10ffff}"],
  ["lone surrogates", "\ud83d and \ude00, \ude00\ud83d"],
  ["NUL and other control characters", "a\0b\u0001\u001f\u007f\u009f"],
  ["quotes and slashes", `'"\\/ %s ? $1 '; DROP TABLE records; --`],
  ["characters that change under normalization", "e\u0301 é \ufb01 \u212b"],
  ["byte order and direction marks", "\ufeff\ufffe\uffff\ufffd\u200f\u202e"],
  ["text that looks like a frame", '{"type":"run_end","event_id":1}\n{"reply":"x"}'],
  ["a long text", "0123456789ab\u00e9\u4e2d👍".repeat(3000)],
];

export function describeReading(store: LogStore): void {
  describe("reading", () => {
    test("rejects an unknown session", () =>
      withLog(store, async ({ log }) => {
        const refusal = await expectRefusal(log.read("s", { after: 0 }), "unknown_session");
        expect(refusal.details).toMatchObject({ session_id: "s" });
        expect(log.peek("s", 0)).toBeUndefined();
      }));

    test("returns an empty page at the end and rejects a position past it", () =>
      withLog(store, async ({ log }) => {
        await log.createSession("s");
        expect((await log.read("s", { after: 0 })).isEmpty).toBe(true);
        await expectRefusal(log.read("s", { after: 1 }), "cursor_ahead");
        await (await openWriter(log, "s")).write(draftRun("r"));
        const page = await log.read("s", { after: 4 });
        expect([page.isEmpty, page.after, page.lastId, page.texts, page.records]).toEqual([true, 4, 4, [], []]);
        const refusal = await expectRefusal(log.read("s", { after: 5 }), "cursor_ahead");
        expect(refusal.details).toMatchObject({ last_event_id: 4 });
        await expectRefusal(log.read("s", { after: Number.MAX_SAFE_INTEGER }), "cursor_ahead");
      }));

    test.each(
      casesOf(store, [-1, -0.5, 0.5, 1.5, Number.NaN, 2 ** 53, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]),
    )("rejects %d as a position", (after) =>
      withLog(store, async ({ log }) => {
        await (await openWriter(log, "s")).write(draftRun("r"));
        await expectRefusal(log.read("s", { after }), "cursor_invalid");
      }),
    );

    test("reports the first record of a session that starts late", () =>
      withLog(store, async ({ log }) => {
        await log.createSession("s", { firstId: 100 });
        const entries = await (await openWriter(log, "s")).write(draftRun("r"));
        expect(await readAll(log, "s", 99)).toEqual(textsOf(entries));
        for (const after of [0, 1, 98]) {
          const refusal = await expectRefusal(log.read("s", { after }), "evicted");
          expect(refusal.details).toMatchObject({ session_id: "s", first_event_id: 100 });
        }
      }));

    test.each(casesOf(store, TRICKY_TEXTS))("returns %s unchanged", (_, text) =>
      withLog(store, async ({ log, other }) => {
        const writer = await openWriter(log, "s");
        const event = { type: "custom", value: { [text]: text } };
        const entries = await writer.write([{ event, run: undefined, ts: 0.5 }, drafts.chunk("r", text)]);
        const page = await other.read("s", { after: 0 });
        expect(page.texts).toEqual(textsOf(entries));
        expect(page.records.map((record) => record.event)).toEqual(entries.map(({ record }) => record.event));
        expect(await other.getSession("s")).toMatchObject({ bytes: sizeOf(entries) });
      }),
    );

    test("returns an event of an unknown type", () =>
      withLog(store, async ({ log }) => {
        const event = { type: "from_tomorrow", deep: [[{ a: null }]], __proto: 1 };
        await (await openWriter(log, "s")).write([{ event, run: "r", ts: 1 }]);
        expect((await log.read("s", { after: 0 })).records[0]?.event).toEqual(event);
      }));

    test("returns a batch of the largest size", () =>
      withLog(store, async ({ log, other }) => {
        const writer = await openWriter(log, "s");
        const list = Array.from({ length: log.limits.maxBatchRecords }, (_, index) => drafts.chunk("r", `${index}`));
        const entries = await writer.write(list);
        expect(await readAll(other, "s")).toEqual(textsOf(entries));
      }));
  });

  describe("a page", () => {
    /** Writes ten records of different sizes. */
    const fill = async (log: Log) => {
      const list = Array.from({ length: 10 }, (_, index) => drafts.chunk("r", "é".repeat(index * 10)));
      return (await openWriter(log, "s")).write(list);
    };

    test("has the requested number of records and continues at its end", () =>
      withLog(store, async ({ log }) => {
        const texts = textsOf(await fill(log));
        for (const limit of [1, 2, 3, 9, 10, 11]) {
          for (let after = 0; after <= 10; after++) {
            const page = await log.read("s", { after, limit });
            expect(page.texts).toEqual(texts.slice(after, after + limit));
            expect([page.after, page.lastId, page.length]).toEqual([
              after,
              after + page.texts.length,
              page.texts.length,
            ]);
          }
        }
      }));

    test("has at least one record, regardless of the limits", () =>
      withLog(store, async ({ log }) => {
        const texts = textsOf(await fill(log));
        for (const options of [{ limit: 0 }, { limit: -1 }, { maxBytes: 0 }, { maxBytes: 1 }, { maxBytes: -1 }])
          expect((await log.read("s", { after: 4, ...options })).texts).toEqual(texts.slice(4, 5));
      }));

    test("has as many records as fit into the bytes", () =>
      withLog(store, async ({ log }) => {
        const entries = await fill(log);
        for (const count of [1, 2, 5, 9]) {
          const room = sizeOf(entries.slice(1, 1 + count));
          for (const [maxBytes, expected] of [
            [room - 1, Math.max(1, count - 1)],
            [room, count],
            [room + 1, count],
          ] as const)
            expect((await log.read("s", { after: 1, maxBytes })).length).toBe(expected);
        }
      }));

    test("counts the bytes of records only, regardless of how they were appended", () =>
      withLog(store, async ({ log }) => {
        const writer = await openWriter(log, "s");
        for (const count of [4, 1, 3])
          await writer.write(Array.from({ length: count }, (_, index) => drafts.note(`${count} ${index}`)));
        const texts = await readAll(log, "s");
        for (let count = 1; count <= texts.length; count++) {
          const maxBytes = texts.slice(0, count).reduce((sum, text) => sum + Buffer.byteLength(text), 0);
          expect((await log.read("s", { after: 0, maxBytes })).texts).toEqual(texts.slice(0, count));
        }
      }));

    test("never exceeds the limits of the log", () =>
      withLog(
        store,
        async ({ log }) => {
          const entries = await fill(log);
          expect((await log.read("s", { after: 0 })).length).toBe(3);
          expect((await log.read("s", { after: 0, limit: 100, maxBytes: 1e9 })).length).toBe(3);
          for (let after = 3; after < 10; after++) {
            const { length } = await log.read("s", { after, limit: 100, maxBytes: 1e9 });
            if (length > 1) expect(sizeOf(entries.slice(after, after + length))).toBeLessThanOrEqual(400);
          }
          expect(await readAll(log, "s")).toEqual(textsOf(entries));
        },
        { maxPageRecords: 3, maxPageBytes: 400 },
      ));
  });

  describe("a hint", () => {
    test("follows an append, which can then be read and peeked", () =>
      withLog(store, async ({ log }) => {
        const writer = await openWriter(log, "s");
        await writer.write([drafts.note("before watching")]);
        const look = async () => ({ page: await log.read("s", { after: 1 }), peeked: log.peek("s", 1) });
        const seen = watchUntil(log, "s", look, ({ page }) => !page.isEmpty);
        const entries = await writer.write(draftRun("r"));
        const { page, peeked } = await seen;
        expect(page.texts).toEqual(textsOf(entries));
        if (peeked !== undefined) expect([peeked.after, peeked.texts]).toEqual([1, page.texts]);
      }));

    test("reaches another process", () =>
      withLog(store, async ({ log, other }) => {
        const writer = await openWriter(log, "s");
        const seen = watchUntil(
          other,
          "s",
          () => readAll(other, "s"),
          (texts) => texts.length > 0,
        );
        const entries = await writer.write(draftRun("r"));
        expect(await seen).toEqual(textsOf(entries));
      }));

    test("follows a command, which is then pending", () =>
      withLog(store, async ({ log, other }) => {
        await log.createSession("s");
        const seen = [log, other].map((handle) =>
          watchUntil(
            handle,
            "s",
            () => handle.listPending("s"),
            (pending) => pending.length > 0,
          ),
        );
        const state = await log.submit({ commandId: "c", sessionId: "s", kind: "cancel", body: {} });
        expect(await Promise.all(seen)).toEqual([[state], [state]]);
      }));

    test("follows the deletion of the session", () =>
      withLog(store, async ({ log }) => {
        await (await openWriter(log, "s")).write(draftRun("r"));
        const gone = watchUntil(
          log,
          "s",
          () => log.getSession("s"),
          (session) => session === undefined,
        );
        await log.deleteSession("s");
        await gone;
      }));

    test("reaches all listeners, also one registered twice, until they stop", () =>
      withLog(store, async ({ log }) => {
        const writer = await openWriter(log, "s");
        let count = 0;
        const listener = () => void count++;
        const unwatch = [log.watch("s", listener), log.watch("s", listener)];
        /** Appends a record and waits for a hint and for `atLeast` calls of the listener. */
        const hear = async (atLeast: number): Promise<void> => {
          count = 0;
          const heard = watchUntil(
            log,
            "s",
            async () => count,
            () => count >= atLeast,
          );
          await writer.write([drafts.note("x")]);
          await heard;
        };
        await hear(2);
        unwatch[0]!();
        unwatch[0]!();
        await hear(1);
        unwatch[1]!();
        await hear(0);
        expect(count).toBe(0);
      }));

    test("is not affected by listeners that throw or register again", () =>
      withLog(store, async ({ log }) => {
        const purpose = "listener fails on purpose";
        const warned = hearWarning(purpose);
        const writer = await openWriter(log, "s");
        const stop = log.watch("s", () => {
          throw new Error(purpose);
        });
        const again = () => {
          unwatch();
          unwatch = log.watch("s", again);
        };
        let unwatch = log.watch("s", again);
        const heard = watchUntil(
          log,
          "s",
          () => readAll(log, "s"),
          (texts) => texts.length > 0,
        );
        await writer.write(draftRun("r"));
        expect(await heard).toHaveLength(4);
        await warned;
        stop();
        await writer.write(draftRun("r2"));
      }));
  });

  describe("peek", () => {
    test("shows the records after a position, or nothing", () =>
      withLog(store, async ({ log }) => {
        const writer = await openWriter(log, "s");
        log.watch("s", () => undefined);
        const entries = [
          ...(await writer.write(draftRun("r1"))),
          ...(await writer.write([drafts.note("x")])),
          ...(await writer.write(draftRun("r2"))),
        ];
        for (let after = 0; after <= 9; after++) {
          const page = log.peek("s", after);
          if (page === undefined) continue;
          expect(page.isEmpty).toBe(false);
          expect(page.after).toBe(after);
          expect(page.texts).toEqual(textsOf(entries.slice(after, page.lastId)));
          expect(page.records.map(({ envelope }) => envelope.event_id)).toEqual(
            page.texts.map((_, index) => after + 1 + index),
          );
        }
        for (const after of [9, 10, -1, Number.NaN, 2 ** 53]) expect(log.peek("s", after)).toBeUndefined();
      }));

    test("shows nothing of a deleted session, nor mixes it with a new one of the same ID", () =>
      withLog(store, async ({ log }) => {
        const writer = await openWriter(log, "s");
        log.watch("s", () => undefined);
        await writer.write(draftRun("old"));
        await log.deleteSession("s");
        for (let after = 0; after < 4; after++) expect(log.peek("s", after)).toBeUndefined();
        const entries = await (await openWriter(log, "s")).write([drafts.note("new")]);
        expect(log.peek("s", 0)?.texts ?? textsOf(entries)).toEqual(textsOf(entries));
        for (let after = 1; after < 4; after++) expect(log.peek("s", after)).toBeUndefined();
      }));
  });

  describe("a closed log", () => {
    test("has finished pending operations and rejects new ones", async () => {
      const log = await store.open({});
      const { lease } = await openWriter(log, "s");
      const batch = {
        sessionId: "s",
        epoch: lease.epoch,
        expectedLastId: 0,
        entries: makeEntries("s", 0, draftRun("r")),
      };
      const pending = log.append(batch);
      const closed = log.close();
      expect(await pending).toEqual({ lastId: 4 });
      await closed;
      await log.close();
      const calls: readonly (() => Promise<unknown>)[] = [
        () => log.createSession("s"),
        () => log.getSession("s"),
        () => log.listSessions(),
        () => log.updateSession("s", { title: "t" }),
        () => log.deleteSession("s"),
        () => log.listOrphans(),
        () => log.acquire("s", { holder: "h", ttlMs: 1 }),
        () => log.renew(lease, 1),
        () => log.release(lease),
        () => log.append(batch),
        () => log.read("s", { after: 0 }),
        () => log.getRun("s", "r"),
        () => log.listRuns("s"),
        () => log.findFoldStart("s", 0),
        () => log.getLandmark("s", "checkpoint", "c"),
        () => log.listLandmarks("s", "checkpoint"),
        () => log.submit({ commandId: "c", sessionId: "s", kind: "cancel", body: {} }),
        () => log.getCommand("s", "c"),
        () => log.listPending("s"),
        () => log.prune({}),
      ];
      for (const call of calls) await expectRefusal(call(), "store_closed");
    });

    test.skipIf(store.reopen === undefined)(
      "shows the same when its store is opened again (needs a durable store)",
      async () => {
        let log = await store.open({});
        const writer = await openWriter(log, "s");
        await log.submit({ commandId: "c", sessionId: "s", kind: "cancel", body: { run_id: "r" } });
        const entries = await writer.write([...draftRun("r"), drafts.todo("list"), drafts.start("live")]);
        const ask = async () => ({
          session: await log.getSession("s"),
          texts: await readAll(log, "s"),
          runs: await log.listRuns("s"),
          landmark: await log.getLandmark("s", "todo_list", "list"),
          pending: await log.listPending("s"),
        });
        const before = await ask();
        log = await store.reopen!(log);
        expect(await ask()).toEqual(before);
        expect(before.texts).toEqual(textsOf(entries));
        // The lease outlives the handle.
        const { epoch } = writer.lease;
        const more = makeEntries("s", 6, [drafts.chunk("live")]);
        await log.append({ sessionId: "s", epoch, expectedLastId: 6, entries: more });
        await log.close();
      },
    );
  });
}

/** Returns the first result of `look` that is done, called after each hint. */
async function watchUntil<T>(
  log: Log,
  sessionId: string,
  look: () => Promise<T>,
  isDone: (seen: T) => boolean,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const unwatch = log.watch(sessionId, () => {
      look().then((seen) => {
        if (!isDone(seen)) return;
        unwatch();
        resolve(seen);
      }, reject);
    });
  });
}

async function hearWarning(message: string): Promise<void> {
  return new Promise((resolve) => {
    const listener = (warning: Error) => {
      if (warning.message !== message) return;
      process.off("warning", listener);
      resolve();
    };
    process.on("warning", listener);
  });
}
