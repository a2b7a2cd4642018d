/** Tests of checkpoints with their full state. */
import { describe, expect, test } from "vitest";
import { makeGraphRun, writeRecords } from "../../log-sessions.ts";
import type { StampedRecord } from "../../../src/protocol/index.ts";
import { listCheckpoints, readCheckpoint } from "../../../src/log/checkpoints.ts";
import { expectRefusal, type LogStore, withLog } from "./log-fixture.ts";

/** Two runs with a to-do list between them; the second run is live. */
export function makeForkedSession(): StampedRecord[] {
  const first = makeGraphRun("run-1", { steps: 2 });
  const todo: StampedRecord = {
    envelope: { session_id: "s", event_id: first.length + 1, ts: 1 },
    event: { type: "todo_list", list_id: "list", items: [{ id: "i0", text: "x", completed: false }] },
  };
  const after = first.length + 1;
  return [...first, todo, ...makeGraphRun("run-2", { after, steps: 4, isOver: false, list: ["old"] })];
}

export function describeCheckpoints(store: LogStore): void {
  describe("checkpoints", () => {
    test("are listed newest first, starting after any of them", () =>
      withLog(store, async ({ log, other }) => {
        await writeRecords(log, makeForkedSession(), 5);
        const all = await listCheckpoints(other, "s");
        expect(all.map(({ checkpointId, step, runId }) => [checkpointId, step, runId])).toEqual([
          ...[4, 3, 2, 1, 0].map((step) => [`run-2-${step}`, step, "run-2"]),
          ...[2, 1, 0].map((step) => [`run-1-${step}`, step, "run-1"]),
        ]);
        expect(all[0]).toMatchObject({ ns: "", next: [], timestamp: "2025-01-01T00:00:00.000Z" });
        expect(all[1]).toMatchObject({ next: [{ id: "work" }] });
        expect(await listCheckpoints(other, "s", { limit: 2 })).toEqual(all.slice(0, 2));
        expect(await listCheckpoints(other, "s", { limit: 3, after: "run-2-1" })).toEqual(all.slice(4, 7));
        expect(await listCheckpoints(other, "s", { after: "run-1-0" })).toEqual([]);
        await expectRefusal(listCheckpoints(other, "s", { after: "none" }), "cursor_invalid");
        await expectRefusal(listCheckpoints(other, "t"), "unknown_session");
      }));

    test("are read with their full state", () =>
      withLog(
        store,
        async ({ log, other }) => {
          await writeRecords(log, makeForkedSession(), 5);
          for (const info of await listCheckpoints(other, "s")) {
            const list = Array.from({ length: Number(info.step) }, (_, index) => `item ${index + 1}`);
            const state = { list: info.runId === "run-1" ? list : ["old", ...list], n: info.step };
            expect(await readCheckpoint(other, "s", info.checkpointId)).toEqual({ ...info, state });
          }
          await expectRefusal(readCheckpoint(other, "s", "none"), "unknown_checkpoint");
          await expectRefusal(readCheckpoint(other, "t", "none"), "unknown_session");
        },
        { maxPageRecords: 3 },
      ));

    test("of a pruned run are unknown; those whose run lost its start are evicted", () =>
      withLog(store, async ({ log, other }) => {
        const records = makeForkedSession();
        await writeRecords(log, records, 5);
        await log.prune({ maxAgeMs: 0, now: Date.now() });
        await expectRefusal(readCheckpoint(other, "s", "run-1-1"), "unknown_checkpoint");
        expect(await readCheckpoint(other, "s", "run-2-2")).toMatchObject({
          state: { list: ["old", "item 1", "item 2"], n: 2 },
        });
        const rest = records
          .slice(-8)
          .map(({ envelope, event }) => ({ envelope: { ...envelope, session_id: "t" }, event }));
        await writeRecords(log, rest);
        await expectRefusal(readCheckpoint(other, "t", "run-2-4"), "evicted");
      }));
  });
}
