/** Log tests: encoder snapshots. */
import { describe, expect, test } from "vitest";
import { draftRun, drafts, expectRefusal, type LogStore, NOON, openWriter, withLog } from "./log-fixture.ts";
import type { EncoderSnapshot, Log } from "../../../src/log/log.ts";

const HOUR = 3_600_000;

function makeSnapshot(eventId: number, key = "a", size = 1): EncoderSnapshot {
  return { key, eventId, state: new Uint8Array(size).fill(eventId) };
}

async function listIds(log: Log, key: string, ids: readonly number[]): Promise<(number | undefined)[]> {
  return Promise.all(ids.map(async (id) => (await log.findSnapshot("s", key, id))?.eventId));
}

export function describeSnapshots(store: LogStore): void {
  describe("snapshots", () => {
    test("the latest one at or before a record is found by its key", () =>
      withLog(store, async ({ log, other }) => {
        await (await openWriter(log, "s")).write([...draftRun("a"), ...draftRun("b")]);
        for (const eventId of [3, 6]) await log.saveSnapshot("s", makeSnapshot(eventId));
        await log.saveSnapshot("s", makeSnapshot(5, "b"));
        for (const handle of [log, other]) {
          expect(await listIds(handle, "a", [2, 3, 5, 6, 8])).toEqual([undefined, 3, 3, 6, 6]);
          expect(await listIds(handle, "b", [4, 5, 8])).toEqual([undefined, 5, 5]);
          const found = await handle.findSnapshot("s", "a", 7);
          expect([...(found?.state ?? [])]).toEqual([6]);
        }
        await log.saveSnapshot("s", makeSnapshot(6, "a", 2));
        expect((await other.findSnapshot("s", "a", 6))?.state).toHaveLength(2);
      }));

    test("belong to one session, and are removed with it and with their records", () =>
      withLog(store, async ({ log, other }) => {
        const writer = await openWriter(log, "s");
        await writer.write([...draftRun("a", NOON - 2 * HOUR), ...draftRun("b", NOON)]);
        await log.createSession("t");
        for (const eventId of [2, 4, 6]) await log.saveSnapshot("s", makeSnapshot(eventId));
        expect(await log.findSnapshot("t", "a", 8)).toBeUndefined();
        await expectRefusal(log.findSnapshot("u", "a", 8), "unknown_session");
        await log.saveSnapshot("u", makeSnapshot(1));
        await log.prune({ maxAgeMs: HOUR });
        expect(await listIds(other, "a", [4, 5, 8])).toEqual([undefined, undefined, 6]);
        // Nor is one stored of a record that was pruned.
        await log.saveSnapshot("s", makeSnapshot(3));
        expect(await listIds(other, "a", [4, 5])).toEqual([undefined, undefined]);
        await log.deleteSession("s");
        await (await openWriter(log, "s")).write([drafts.note("x")]);
        expect(await listIds(other, "a", [8])).toEqual([undefined]);
      }));

    test("are limited in size per session: the oldest are deleted", () =>
      withLog(
        store,
        async ({ log, other }) => {
          await (await openWriter(log, "s")).write([...draftRun("a"), ...draftRun("b")]);
          for (let eventId = 1; eventId <= 8; eventId++) await log.saveSnapshot("s", makeSnapshot(eventId, "a", 40));
          expect(await listIds(other, "a", [6, 7, 8])).toEqual([undefined, 7, 8]);
        },
        { maxSessionSnapshotBytes: 100 },
      ));
  });
}
