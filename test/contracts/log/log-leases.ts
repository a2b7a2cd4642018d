/** Tests of leases: one writer at a time, by epoch. Clocks decide when a lease can be taken, never what is written. */
import { describe, expect, test } from "vitest";
import { describeHolder } from "../../../src/log/holder.ts";
import type { Lease, Log } from "../../../src/log/log.ts";
import {
  drafts,
  draftRun,
  expectRefusal,
  type LogStore,
  makeEntries,
  NOON,
  openWriter,
  readAll,
  withLog,
} from "./log-fixture.ts";

/** A holder on this machine whose process has ended; the pid is above all real ones. */
const GONE = describeHolder().replace(/\/\d+\//, "/2147483646/");

async function writeAs(log: Log, { sessionId, epoch }: Lease, expectedLastId: number): Promise<number> {
  const entries = makeEntries(sessionId, expectedLastId, [drafts.note(`epoch ${epoch}`)]);
  return (await log.append({ sessionId, epoch, expectedLastId, entries })).lastId;
}

export function describeLeases(store: LogStore): void {
  describe("a lease", () => {
    test("has the next epoch and the last record ID", () =>
      withLog(store, async ({ log, other }) => {
        const lease = await log.acquire("s", { holder: "a", ttlMs: 1000 });
        const session = await other.getSession("s");
        expect(lease).toEqual({
          sessionId: "s",
          epoch: session?.epoch,
          incarnation: session?.incarnation,
          lastId: 0,
          expiresAt: NOON + 1000,
          lastTs: 0,
          liveRuns: [],
          todoLists: [],
          toolPermissions: [],
          wasHandedOver: false,
        });
        expect(session?.holder).toBe("a");
        await writeAs(log, lease, 0);
        const next = await other.acquire("s", { holder: "b", ttlMs: 1000, takeover: true });
        expect(next.epoch).toBeGreaterThan(lease.epoch);
        expect(next.lastId).toBe(1);
      }));

    test("has the time of the last record, the live runs and the to-do lists", () =>
      withLog(store, async ({ log, other, clock }) => {
        const writer = await openWriter(log, "s");
        await writer.write([...draftRun("over"), drafts.todo("a"), drafts.start("r1"), drafts.start("r2", NOON + 77)]);
        await writer.write([drafts.todo("b", "r1"), drafts.todo("a", "r2")]);
        const lease = await other.acquire("s", { holder: "b", ttlMs: 1000, takeover: true });
        expect(lease).toMatchObject({ lastId: 9, lastTs: NOON + 9 });
        expect(lease.liveRuns).toEqual([await log.getRun("s", "r1"), await log.getRun("s", "r2")]);
        expect(lease.todoLists).toEqual(await log.listLandmarks("s", "todo_list"));
        expect(lease.todoLists.map(({ key, eventId }) => [key, eventId])).toEqual([
          ["a", 9],
          ["b", 8],
        ]);
        // Without stored records, the time is that of the last change.
        await (await openWriter(log, "pruned")).write(draftRun("r", NOON + 500));
        clock.now += 1_000_000;
        await log.prune({ maxAgeMs: 1000 });
        const next = await other.acquire("pruned", { holder: "b", ttlMs: 1000, takeover: true });
        expect(next).toMatchObject({ lastId: 4, lastTs: NOON + 500, liveRuns: [] });
      }));

    test("has the latest permission of each tool that was written outside a run", () =>
      withLog(store, async ({ log, other }) => {
        const writer = await openWriter(log, "s");
        const { permit } = drafts;
        await writer.write([permit("a", "allow"), permit("b", "allow"), drafts.start("r"), permit("c", "allow", "r")]);
        await writer.write([permit("a", "ask")]);
        const { toolPermissions } = await other.acquire("s", { holder: "b", ttlMs: 1000, takeover: true });
        expect(toolPermissions.map(({ key, eventId }) => [key, eventId])).toEqual([
          ["a", 5],
          ["b", 2],
        ]);
      }));

    test("creates the session only if requested", () =>
      withLog(store, async ({ log, other }) => {
        await expectRefusal(log.acquire("s", { holder: "a", ttlMs: 1000, create: false }), "unknown_session");
        expect(await other.getSession("s")).toBeUndefined();
        await other.createSession("s");
        expect((await log.acquire("s", { holder: "a", ttlMs: 1000, create: false })).lastId).toBe(0);
      }));

    test("is refused while the session has a holder", () =>
      withLog(store, async ({ log, other, clock }) => {
        await log.acquire("s", { holder: "a", ttlMs: 1000 });
        const before = await log.getSession("s");
        clock.now += 999;
        for (const holder of ["a", "b"]) {
          const refusal = await expectRefusal(other.acquire("s", { holder, ttlMs: 1000 }), "lease_held");
          expect(refusal.details).toEqual({ holder: "a" });
        }
        expect(await log.getSession("s")).toEqual(before);
      }));

    test("is granted to one of several concurrent callers", () =>
      withLog(store, async ({ log, other }) => {
        const asked = Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? log : other));
        const results = await Promise.allSettled(
          asked.map((handle, index) => handle.acquire("s", { holder: `h${index}`, ttlMs: 1000 })),
        );
        expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
        expect(await log.listSessions()).toHaveLength(1);
      }));

    test("can be taken after it expires; the old holder can write until then", () =>
      withLog(store, async ({ log, other, clock }) => {
        const old = await log.acquire("s", { holder: "a", ttlMs: 1000 });
        clock.now += 1000;
        expect(await other.getSession("s")).toMatchObject({ holder: undefined });
        await writeAs(log, old, 0);
        const next = await other.acquire("s", { holder: "b", ttlMs: 1000 });
        const refusal = await expectRefusal(writeAs(log, old, 1), "fenced");
        expect(refusal.details).toEqual({ epoch: next.epoch });
        await expectRefusal(log.renew(old, 1000), "fenced");
        await log.release(old);
        expect(await log.getSession("s")).toMatchObject({ holder: "b", epoch: next.epoch });
        await writeAs(other, next, 1);
      }));

    test("can be taken over from a live holder, which is fenced at once", () =>
      withLog(store, async ({ log, other }) => {
        const old = await log.acquire("s", { holder: "a", ttlMs: 1000 });
        await writeAs(log, old, 0);
        const next = await other.acquire("s", { holder: "b", ttlMs: 1000, takeover: true });
        await expectRefusal(writeAs(log, old, 1), "fenced");
        expect(await readAll(log, "s")).toHaveLength(1);
        await writeAs(other, next, 1);
      }));

    test.skipIf(store.seesProcesses === false)("can be taken at once from a process that has ended", () =>
      withLog(store, async ({ log, other }) => {
        const old = await log.acquire("s", { holder: GONE, ttlMs: 1_000_000 });
        expect(await other.getSession("s")).toMatchObject({ holder: undefined });
        const next = await other.acquire("s", { holder: describeHolder(), ttlMs: 1000 });
        expect(next.epoch).toBeGreaterThan(old.epoch);
        await expectRefusal(log.acquire("s", { holder: "b", ttlMs: 1000 }), "lease_held");
      }),
    );

    test("can be renewed, also after it expired if no other writer took it", () =>
      withLog(store, async ({ log, other, clock }) => {
        const lease = await log.acquire("s", { holder: "a", ttlMs: 1000 });
        clock.now += 900;
        const renewed = await log.renew(lease, 1000);
        const { sessionId, epoch, incarnation, lastId } = lease;
        expect(renewed).toEqual({ sessionId, epoch, incarnation, lastId, expiresAt: NOON + 1900 });
        clock.now += 900;
        await expectRefusal(other.acquire("s", { holder: "b", ttlMs: 1 }), "lease_held");
        clock.now += 5000;
        await log.renew(renewed, 1000);
        await expectRefusal(other.acquire("s", { holder: "b", ttlMs: 1 }), "lease_held");
        await writeAs(log, lease, 0);
      }));

    test("ends when released: its epoch is fenced and the session is free", () =>
      withLog(store, async ({ log, other }) => {
        const lease = await log.acquire("s", { holder: "a", ttlMs: 1000 });
        await log.release(lease);
        expect(await other.getSession("s")).toMatchObject({ holder: undefined });
        await expectRefusal(writeAs(log, lease, 0), "fenced");
        await expectRefusal(log.renew(lease, 1000), "fenced");
        await log.release(lease);
        const next = await other.acquire("s", { holder: "b", ttlMs: 1000 });
        expect(next.epoch).toBeGreaterThan(lease.epoch);
        await log.release(lease);
        await writeAs(other, next, 0);
      }));

    test("reports to the next holder whether the session was handed over", () =>
      withLog(store, async ({ log, other, clock }) => {
        const take = async (handle: Log, takeover = false) =>
          handle.acquire("s", { holder: "h", ttlMs: 1000, takeover });
        const first = await take(log);
        expect(first.wasHandedOver).toBe(false);
        await log.release(first, { handsOver: true });
        const second = await take(other);
        expect(second.wasHandedOver).toBe(true);
        // A lease that ends in any other way hands nothing over, also after it was handed over before.
        clock.now += 1000;
        const third = await take(log);
        expect(third.wasHandedOver).toBe(false);
        await log.release(third);
        const fourth = await take(other);
        expect(fourth.wasHandedOver).toBe(false);
        await log.release(third, { handsOver: true });
        expect((await take(log, true)).wasHandedOver).toBe(false);
        await other.release(fourth, { handsOver: true });
        clock.now += 1000;
        expect((await take(log)).wasHandedOver).toBe(false);
      }));

    test("is required for writing: an epoch that was not granted is fenced", () =>
      withLog(store, async ({ log }) => {
        const { epoch, incarnation } = await log.createSession("s");
        const guess = { sessionId: "s", incarnation, lastId: 0, expiresAt: 0 };
        for (const wrong of [epoch, epoch + 1, epoch - 1, Number.NaN])
          await expectRefusal(writeAs(log, { ...guess, epoch: wrong }, 0), "fenced");
        const lease = await log.acquire("s", { holder: "a", ttlMs: 1000 });
        await log.release(lease);
        const after = (await log.getSession("s"))?.epoch ?? 0;
        for (const wrong of [after, after + 1, after - 1])
          await expectRefusal(writeAs(log, { ...guess, epoch: wrong }, 0), "fenced");
        expect(await readAll(log, "s")).toEqual([]);
      }));

    test("is not valid for a deleted session or a new one with the same ID", () =>
      withLog(store, async ({ log, other }) => {
        const old = await log.acquire("s", { holder: "a", ttlMs: 1_000_000 });
        await other.deleteSession("s");
        await expectRefusal(writeAs(log, old, 0), "unknown_session");
        await expectRefusal(log.renew(old, 1000), "unknown_session");
        await log.release(old);
        await other.createSession("s");
        await expectRefusal(writeAs(log, old, 0), "fenced");
        const next = await other.acquire("s", { holder: "b", ttlMs: 1_000_000 });
        await expectRefusal(writeAs(log, old, 0), "fenced");
        await expectRefusal(log.renew(old, 1000), "fenced");
        await log.release(old);
        expect(await writeAs(other, next, 0)).toBe(1);
        expect(await log.getSession("s")).toMatchObject({ holder: "b" });
      }));

    test("keeps its epoch when the clock jumps", () =>
      withLog(store, async ({ log, other, clock }) => {
        const first = await log.acquire("s", { holder: "a", ttlMs: 1000 });
        clock.now -= 1_000_000;
        await expectRefusal(other.acquire("s", { holder: "b", ttlMs: 1000 }), "lease_held");
        await writeAs(log, first, 0);
        clock.now += 2_000_000;
        const second = await other.acquire("s", { holder: "b", ttlMs: 1000 });
        clock.now -= 2_000_000;
        // By this clock the first lease has not expired; it is fenced all the same.
        await expectRefusal(writeAs(log, first, 1), "fenced");
        await writeAs(other, second, 1);
        expect(await readAll(log, "s")).toHaveLength(2);
      }));
  });

  describe("orphans", () => {
    test("are sessions with a live run or a pending command and no holder", () =>
      withLog(store, async ({ log, other, clock }) => {
        const command = { commandId: "c", kind: "cancel", body: {} } as const;
        await log.createSession("idle");
        await log.createSession("pending");
        await log.submit({ ...command, sessionId: "pending" });
        const busy = await openWriter(log, "held");
        await busy.write([drafts.start("r")]);
        const over = await openWriter(log, "ended");
        await over.write(draftRun("r"));
        await log.release(over.lease);
        const left = await openWriter(log, "left");
        await left.write([drafts.start("r")]);
        await log.release(left.lease);
        const killed = await openWriter(log, "killed", GONE);
        await killed.write([...draftRun("r1"), drafts.chunk("r2")]);
        if (store.seesProcesses === false) await log.release(killed.lease);
        expect([...(await other.listOrphans())].sort()).toEqual(["killed", "left", "pending"]);
        expect(await other.listOrphans({ limit: 2 })).toHaveLength(2);
        clock.now += 60_000;
        expect(await other.listOrphans()).toContain("held");
        await log.renew(busy.lease, 1000);
        expect(await other.listOrphans()).not.toContain("held");
        await other.acquire("killed", { holder: "b", ttlMs: 1000 });
        const { lease } = await openWriter(log, "pending");
        const settle = [{ commandId: "c", outcome: { code: "done" } }] as const;
        await log.append({ sessionId: lease.sessionId, epoch: lease.epoch, expectedLastId: 0, entries: [], settle });
        await log.release(lease);
        await log.deleteSession("left");
        expect(await other.listOrphans()).toEqual([]);
      }));

    test("are hinted to all processes when a writer releases them, if the log has hints", () =>
      withLog(store, async ({ log, other }) => {
        if (other.watchOrphans === undefined) return;
        let hints = 0;
        const unwatch = other.watchOrphans(() => hints++);
        for (const sessionId of ["a", "b"]) {
          const writer = await openWriter(log, sessionId);
          await writer.write([drafts.start("r")]);
          const before = hints;
          await log.release(writer.lease);
          await expect.poll(() => hints).toBeGreaterThan(before);
        }
        unwatch();
      }));
  });
}
