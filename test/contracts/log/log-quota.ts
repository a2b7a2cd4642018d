/** Tests of storage quotas per owner. Each decision is made where the data is stored, over all processes. */
import { describe, expect, test } from "vitest";
import { writeRecords, makeRun } from "../../log-sessions.ts";
import { forkBeforeRun } from "../../../src/log/fork-before-run.ts";
import { drafts, expectRefusal, type LogStore, makeEntries, openWriter, withLog } from "./log-fixture.ts";
import type { Log } from "../../../src/log/log.ts";
import { exportSession, importSession } from "../../../src/log/transfer.ts";

const enqueue = (log: Log, sessionId: string, commandId: string) =>
  log.submit({ sessionId, commandId, kind: "enqueue", body: { message: "hi" } }, { create: { owner: "alice" } });

export function describeQuotas(store: LogStore): void {
  describe("a quota", () => {
    test("limits the sessions of an owner, however they are created", () =>
      withLog(
        store,
        async ({ log, other }) => {
          await log.createSession("a", { owner: "alice" });
          await other.createSession("b", { owner: "alice" });
          for (const each of [log, other]) {
            const error = await expectRefusal(each.createSession("c", { owner: "alice" }), "quota_exceeded");
            expect(error.details).toEqual({ quota: "sessions", limit: 2 });
          }
          await expectRefusal(enqueue(log, "c", "1"), "quota_exceeded");
          await expectRefusal(log.createSession("c", { owner: "alice", entries: [] }), "quota_exceeded");
          // Existing sessions and other owners are not affected.
          await log.createSession("a", { owner: "alice" });
          await enqueue(log, "a", "1");
          await log.createSession("of bob", { owner: "bob" });
          await log.acquire("local", { holder: "x", ttlMs: 1000 });
          expect(await other.getSession("c")).toBeUndefined();
          await other.deleteSession("b");
          expect((await log.createSession("c", { owner: "alice" })).owner).toBe("alice");
        },
        { maxOwnerSessions: 2 },
      ));

    test("for records refuses new messages, and tells writers without refusing their records", () =>
      withLog(
        store,
        async ({ log, other }) => {
          await log.createSession("s", { owner: "alice" });
          const { lease } = await openWriter(log, "s");
          const append = (id: number) =>
            log.append({
              sessionId: "s",
              epoch: lease.epoch,
              expectedLastId: id - 1,
              entries: makeEntries("s", id - 1, [drafts.note("x".repeat(80))]),
            });
          let id = 1;
          while ((await append(id)).isOverQuota !== true) id++;
          expect((await log.getSession("s"))?.bytes).toBeGreaterThanOrEqual(1000);
          // The end of a run and other commands always fit.
          expect(await append(id + 1)).toEqual({ lastId: id + 1, isOverQuota: true });
          await expectRefusal(enqueue(other, "s", "m"), "quota_exceeded");
          await expectRefusal(enqueue(other, "new", "m"), "quota_exceeded");
          await other.submit({ sessionId: "s", commandId: "c", kind: "cancel", body: { run_id: "r" } });
          await enqueue(log, "s", "m").catch(() => undefined);
          expect((await other.listPending("s")).map(({ kind }) => kind)).toEqual(["cancel"]);
          await other.deleteSession("s");
          expect((await enqueue(log, "s", "m")).outcome).toBeUndefined();
        },
        { maxOwnerBytes: 1000 },
      ));

    test("for records counts pruned runs as free, and refuses forks and imports that do not fit", () =>
      withLog(
        store,
        async ({ log, other }) => {
          await log.createSession("s", { owner: "alice" });
          await writeRecords(
            log,
            [1, 2, 3].flatMap((n) => makeRun(`r${n}`, { after: (n - 1) * 4 })),
          );
          const { bytes } = (await log.getSession("s")) ?? { bytes: 0 };
          expect(bytes).toBeGreaterThan(750);
          const fork = (to: string) => forkBeforeRun(log, { from: "s", to });
          await expectRefusal(fork("fork"), "quota_exceeded");
          await expectRefusal(
            importSession(log, exportSession(log, "s"), { sessionId: "copy", owner: "alice" }),
            "quota_exceeded",
          );
          expect((await other.listSessions()).map(({ sessionId }) => sessionId)).toEqual(["s"]);
          await other.prune({ maxSessionBytes: 300, now: Date.now() });
          expect((await fork("fork")).owner).toBe("alice");
        },
        { maxOwnerBytes: 1500 },
      ));

    test("limits the number and size of an owner's blobs over its sessions", () =>
      withLog(
        store,
        async ({ log, other }) => {
          for (const id of ["a", "b"]) await log.createSession(id, { owner: "alice" });
          await log.setBlobUsage("a", { blobs: 2, bytes: 60 });
          await expectRefusal(other.setBlobUsage("b", { blobs: 1, bytes: 50 }), "quota_exceeded");
          await expectRefusal(other.setBlobUsage("b", { blobs: 2, bytes: 1 }), "quota_exceeded");
          await other.setBlobUsage("b", { blobs: 1, bytes: 40 });
          // Setting it again changes nothing, and less always fits.
          await other.setBlobUsage("b", { blobs: 1, bytes: 40 });
          await expectRefusal(log.setBlobUsage("none", { blobs: 1, bytes: 1 }), "unknown_session");
          await log.deleteSession("a");
          await other.setBlobUsage("b", { blobs: 3, bytes: 100 });
        },
        { maxOwnerBlobs: 3, maxOwnerBlobBytes: 100 },
      ));
  });
}
