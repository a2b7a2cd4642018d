import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { gather, LOGS, makeChunks, makeRun, overrideLog, writeRecords } from "../../test/log-sessions.ts";
import type { StampedRecord } from "../protocol/index.ts";
import { createEntry } from "./entry.ts";
import { followRecords } from "./follow-records.ts";
import { describeHolder } from "./holder.ts";
import type { Log } from "./log.ts";
import type { Page } from "./page.ts";
import { LONG } from "../../test/sampling.ts";

const RECORDS = 100_000;

const idsOf = (pages: readonly Page[]) =>
  pages.flatMap(({ records }) => records.map(({ envelope }) => envelope.event_id));
const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, index) => first + index);

async function openWriter(log: Log): Promise<(records: readonly StampedRecord[]) => Promise<void>> {
  const { epoch } = await log.acquire("s", { holder: describeHolder(), ttlMs: 60_000, takeover: true });
  return async (records) => {
    const expectedLastId = (records[0]?.envelope.event_id ?? 1) - 1;
    await log.append({ sessionId: "s", epoch, expectedLastId, entries: records.map(createEntry) });
  };
}

/** Counts the calls of a log and its current watchers. */
function countCalls(log: Log) {
  const calls = { read: 0, peek: 0, getSession: 0, watching: 0 };
  const counted = overrideLog(log, (target) => ({
    read(...args) {
      calls.read++;
      return target.read(...args);
    },
    peek(...args) {
      calls.peek++;
      return target.peek(...args);
    },
    getSession(...args) {
      calls.getSession++;
      return target.getSession(...args);
    },
    watch(...args) {
      calls.watching++;
      const unwatch = target.watch(...args);
      return () => {
        calls.watching--;
        unwatch();
      };
    },
  }));
  return { calls, counted };
}

describe.each(LOGS)("followRecords on a $name log", ({ name, open }) => {
  test("yields the remaining records once and in order, from any position and with any page size", async () => {
    const log = await open();
    await writeRecords(log, makeChunks(40), 7);
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 40 }), fc.integer({ min: 1, max: 50 }), async (after, limit) => {
        const pages = await gather(followRecords(log, "s", { after, limit }));
        expect(idsOf(pages)).toEqual(range(after + 1, 40));
        expect(pages.every((page) => page.length <= limit)).toBe(true);
      }),
    );
    await log.close();
  });

  // A log that shares its store may find a commit there before its own writer reports it.
  test.runIf(name === "memory")("live tails get records from memory without reading the store", async () => {
    const { calls, counted } = countCalls(await open());
    await counted.createSession("s");
    const write = await openWriter(counted);
    const tails = [1, 2].map(() => followRecords(counted, "s", { after: 0, follow: true }));
    for (let id = 1; id <= 50; id++) {
      const pending = tails.map((tail) => tail.next());
      await settle();
      if (id === 3) Object.assign(calls, { read: 0, getSession: 0 });
      await write(makeChunks(1, { after: id - 1 }));
      const [a, b] = await Promise.all(pending);
      expect(a?.value).toMatchObject({ after: id - 1, lastId: id });
      // All tails share one page, which is parsed once.
      expect(b?.value).toBe(a?.value);
    }
    expect(calls).toMatchObject({ read: 0, getSession: 0 });
    await Promise.all(tails.map((tail) => tail.return()));
    expect(calls.watching).toBe(0);
    await counted.close();
  });

  test("applies the limit to live pages", async () => {
    const log = await open();
    await log.createSession("s");
    const write = await openWriter(log);
    const tail = followRecords(log, "s", { after: 0, follow: true, limit: 3 });
    const first = tail.next();
    await write(makeChunks(10));
    const pages = [(await first).value, ...(await take(tail, 3))] as Page[];
    expect(pages.map(({ length }) => length)).toEqual([3, 3, 3, 1]);
    expect(idsOf(pages)).toEqual(range(1, 10));
    await tail.return();
    await log.close();
  });

  test.each([2.5, 0, -1, Number.NaN, Number.POSITIVE_INFINITY, 0.1])(
    "loses no records with a limit of %d, stored or live",
    async (limit) => {
      const log = await open();
      const write = await openWriter(log);
      await write(makeChunks(5));
      expect(idsOf(await gather(followRecords(log, "s", { after: 0, limit })))).toEqual(range(1, 5));
      const tail = followRecords(log, "s", { after: 5, follow: true, limit });
      const first = tail.next();
      await settle();
      await write(makeChunks(5, { after: 5 }));
      const pages = [(await first).value as Page];
      while ((pages.at(-1)?.lastId ?? 0) < 10) pages.push((await tail.next()).value as Page);
      expect(idsOf(pages)).toEqual(range(6, 10));
      await tail.return();
      await log.close();
    },
  );

  test("splits long appends into pages within the limits", async () => {
    const maxPageBytes = 2000;
    const log = await open({ maxPageBytes, maxPageRecords: 30 });
    await log.createSession("s");
    const write = await openWriter(log);
    const tail = followRecords(log, "s", { after: 0, follow: true });
    const pages: Page[] = [];
    for (const [after, count] of [
      [0, 500],
      [500, 3],
      [503, 200],
    ] as const) {
      const next = tail.next();
      await settle();
      await write(makeChunks(count, { after }));
      pages.push((await next).value as Page);
      while ((pages.at(-1)?.lastId ?? 0) < after + count) pages.push((await tail.next()).value as Page);
    }
    expect(idsOf(pages)).toEqual(range(1, 703));
    expect(Math.max(...pages.map(({ text }) => text.length))).toBeLessThanOrEqual(maxPageBytes);
    expect(Math.max(...pages.map(({ length }) => length))).toBeLessThanOrEqual(30);
    await tail.return();
    await log.close();
  });

  test("loses no hint between reading and waiting", async () => {
    const log = await open();
    await log.createSession("s");
    const write = await openWriter(log);
    let written = false;
    const late = overrideLog(log, (target) => ({
      async read(...args) {
        const page = await target.read(...args);
        if (!written) {
          written = true;
          await write(makeChunks(1));
        }
        return page;
      },
    }));
    const tail = followRecords(late, "s", { after: 0, follow: true });
    expect((await tail.next()).value).toMatchObject({ lastId: 1 });
    await tail.return();
    await log.close();
  });

  test("tolerates unnecessary and duplicate hints", async () => {
    const log = await open();
    await log.createSession("s");
    const write = await openWriter(log);
    const loud = overrideLog(log, (target) => ({
      watch(sessionId, listener) {
        listener();
        return target.watch(sessionId, () => [1, 2].forEach(listener));
      },
    }));
    const tail = followRecords(loud, "s", { after: 0, follow: true });
    for (let id = 1; id <= 5; id++) {
      const next = tail.next();
      await write(makeChunks(1, { after: id - 1 }));
      expect((await next).value).toMatchObject({ after: id - 1, lastId: id });
    }
    await tail.return();
    await log.close();
  });

  test.runIf(LONG)(
    `a stalled reader costs nothing while ${RECORDS} records arrive, and then gets them all`,
    async () => {
      const { calls, counted } = countCalls(await open());
      await writeRecords(counted, makeChunks(10));
      const tail = followRecords(counted, "s", { after: 0, follow: true });
      expect((await tail.next()).value).toMatchObject({ lastId: 10 });
      const write = await openWriter(counted);
      Object.assign(calls, { read: 0, peek: 0, getSession: 0 });
      for (let after = 10; after < RECORDS; after += 1000)
        await write(makeChunks(Math.min(1000, RECORDS - after), { after }));
      // Nothing was read or kept for the stalled reader.
      expect(calls).toEqual({ read: 0, peek: 0, getSession: 0, watching: 1 });
      let expected = 11;
      for await (const page of tail) {
        expect(page.after).toBe(expected - 1);
        expect(page.text.length).toBeLessThanOrEqual(counted.limits.maxPageBytes);
        for (const { envelope } of page.records) if (envelope.event_id !== expected++) throw new Error("out of order");
        if (page.lastId === RECORDS) break;
      }
      expect(expected).toBe(RECORDS + 1);
      expect(calls.watching).toBe(0);
      await counted.close();
    },
  );

  test("rejects invalid positions with their error code", async () => {
    const log = await open();
    await writeRecords(log, makeChunks(5, { after: 10 }));
    const cases: readonly (readonly [string, number])[] = [
      ["cursor_invalid", -1],
      ["cursor_invalid", 12.5],
      ["cursor_invalid", Number.NaN],
      ["cursor_invalid", 2 ** 53],
      ["cursor_ahead", 16],
      ["cursor_ahead", 2 ** 53 - 1],
      ["evicted", 0],
      ["evicted", 9],
    ];
    for (const follow of [false, true])
      for (const [code, after] of cases)
        await expect(gather(followRecords(log, "s", { after, follow })), `${after}`).rejects.toMatchObject({ code });
    const unknown = gather(followRecords(log, "t", { after: 0, follow: true }));
    await expect(unknown).rejects.toMatchObject({ code: "unknown_session" });
    const stale = gather(followRecords(log, "s", { after: 10, incarnation: "another" }));
    await expect(stale).rejects.toMatchObject({ code: "cursor_stale" });
    await log.close();
  });

  /** What a reader does after it has read everything: wait for more, or stop pulling. */
  const states = [
    ["waits", (tail: AsyncGenerator<Page>) => tail.next()],
    ["stalls", () => undefined],
  ] as const;
  /** Where it read the records from. */
  const ways = [
    ["from the store", {}],
    ["from a store with little memory", { maxFeedBytes: 1 }],
    ["from memory", {}],
  ] as const;
  describe.each(ways.flatMap((way) => states.map((state) => [state[0], way[0], way[1], state[1]] as const)))(
    "while a reader %s after reading %s",
    (_state, way, limits, ask) => {
      /** Starts a reader of five records; `outcome` returns the error code of its next read. */
      const begin = async () => {
        const log = await open(limits);
        await log.createSession("s");
        const write = await openWriter(log);
        if (way !== "from memory") await write(makeChunks(5));
        const tail = followRecords(log, "s", { after: 0, follow: true });
        for (let id = 1; id <= 5; id++) {
          const next = tail.next();
          await settle();
          if (way === "from memory") await write(makeChunks(1, { after: id - 1 }));
          if ((await next).value?.lastId === 5) break;
        }
        const asked = ask(tail);
        const refused = asked === undefined ? undefined : codeOf(asked);
        await settle();
        return { log, outcome: async () => refused ?? codeOf(tail.next()) };
      };

      test("fails with unknown_session if the session is deleted", async () => {
        const { log, outcome } = await begin();
        await log.deleteSession("s");
        expect(await outcome()).toBe("unknown_session");
        await log.close();
      });

      test.each([0, 3, 5, 9])("fails with cursor_stale if the session is recreated with %i records", async (count) => {
        const { log, outcome } = await begin();
        // Not awaited one by one, so that a waiting reader does not see the time in between.
        const done = [log.deleteSession("s"), log.createSession("s"), writeRecords(log, makeChunks(count), 1)];
        await Promise.all(done);
        expect(await outcome()).toBe("cursor_stale");
        await log.close();
      });
    },
  );

  test("rejects a fractional position even if memory has the next records", async () => {
    const log = await open();
    await log.createSession("s");
    const unwatch = log.watch("s", () => undefined);
    const write = await openWriter(log);
    await write(makeChunks(5));
    expect(await codeOf(followRecords(log, "s", { after: 1.5 }).next())).toBe("cursor_invalid");
    unwatch();
    await log.close();
  });

  test("fails with evicted and the first stored record if unread records are pruned", async () => {
    const log = await open({ maxFeedBytes: 1 });
    await writeRecords(log, makeRun("run-1"));
    const tail = followRecords(log, "s", { after: 0, follow: true, limit: 2 });
    expect((await tail.next()).value).toMatchObject({ lastId: 2 });
    await writeRecords(log, makeRun("run-2", { after: 4 }));
    await log.prune({ maxSessionBytes: 0 });
    await expect(tail.next()).rejects.toMatchObject({ code: "evicted", details: { first_event_id: 9 } });
    await log.close();
  });

  test("is not affected by pruning records it has read", async () => {
    const log = await open();
    await writeRecords(log, makeRun("run-1"));
    const tail = followRecords(log, "s", { after: 0, follow: true });
    await tail.next();
    const next = tail.next();
    await log.prune({ maxSessionBytes: 0 });
    await writeRecords(log, makeRun("run-2", { after: 4 }));
    expect((await next).value).toMatchObject({ after: 4, lastId: 8 });
    await tail.return();
    await log.close();
  });

  test("an abort ends it without an error: before the start, while waiting, and while stalled", async () => {
    const { calls, counted } = countCalls(await open());
    await writeRecords(counted, makeChunks(5));
    const start = (signal: AbortSignal) => followRecords(counted, "s", { after: 0, follow: true, signal, limit: 1 });
    expect(await start(AbortSignal.abort()).next()).toEqual({ done: true, value: undefined });

    const waiting = new AbortController();
    const tail = start(waiting.signal);
    await take(tail, 5);
    const next = tail.next();
    await settle();
    waiting.abort();
    expect(await next).toEqual({ done: true, value: undefined });

    const idle = new AbortController();
    const stalled = start(idle.signal);
    await stalled.next();
    idle.abort();
    expect(await stalled.next()).toEqual({ done: true, value: undefined });
    expect(calls.watching).toBe(0);
    await counted.close();
  });

  test("stops watching when the consumer stops", async () => {
    const { calls, counted } = countCalls(await open());
    await writeRecords(counted, makeChunks(5));
    for await (const page of followRecords(counted, "s", { after: 0, follow: true })) if (!page.isEmpty) break;
    expect(calls.watching).toBe(0);
    await counted.close();
  });
});

async function take(tail: AsyncGenerator<Page>, count: number): Promise<Page[]> {
  const pages: Page[] = [];
  for (let index = 0; index < count; index++) pages.push((await tail.next()).value as Page);
  return pages;
}

/** Returns the error code of a rejected promise. */
async function codeOf(outcome: Promise<unknown>): Promise<unknown> {
  return outcome.then(
    () => "not refused",
    (error: unknown) => (error as { readonly code?: unknown }).code,
  );
}

/** Runs everything that is ready, so that the reader waits. */
async function settle(): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(resolve));
}
