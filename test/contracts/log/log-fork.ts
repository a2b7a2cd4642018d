/** Tests of forks, and of sessions created with records. */
import { describe, expect, test } from "vitest";
import { makeGraphRun, makeRun, overrideLog, writeRecords } from "../../log-sessions.ts";
import type { AnyEvent, JsonObject, StampedRecord } from "../../../src/protocol/index.ts";
import { listCheckpoints, readCheckpoint } from "../../../src/log/checkpoints.ts";
import { createEntry } from "../../../src/log/entry.ts";
import { makeForkedSession } from "./log-checkpoints.ts";
import { forkBeforeRun } from "../../../src/log/fork-before-run.ts";
import { forkSession } from "../../../src/log/fork-session.ts";
import {
  drafts,
  draftRun,
  expectRefusal,
  type LogStore,
  makeEntries,
  openWriter,
  readAll,
  textsOf,
  withLog,
} from "./log-fixture.ts";
import type { Log } from "../../../src/log/log.ts";

/** An array nested `depth` levels deep. */
function nest(depth: number): unknown {
  return depth === 0 ? 1 : [nest(depth - 1)];
}

/** Everything a log reports about a session, except what a fork cannot share. */
async function describeAll(log: Log, sessionId: string) {
  const info = await log.getSession(sessionId);
  return {
    firstId: info?.firstId,
    lastId: info?.lastId,
    holder: info?.holder,
    runs: await log.listRuns(sessionId),
    checkpoints: await log.listLandmarks(sessionId, "checkpoint"),
    lists: await log.listLandmarks(sessionId, "todo_list"),
    orphans: (await log.listOrphans()).includes(sessionId),
  };
}

export function describeForks(store: LogStore): void {
  describe("a session created with records", () => {
    test("has the records and their indexes", () =>
      withLog(store, async ({ log, other }) => {
        const entries = makeEntries("s", 4, [...draftRun("r"), drafts.todo("list"), drafts.start("r2")]);
        const made = await log.createSession("s", { title: "t", firstId: 5, entries });
        expect(made).toMatchObject({ title: "t", firstId: 5, lastId: 10, holder: undefined });
        expect(await readAll(other, "s", 4)).toEqual(textsOf(entries));
        expect((await other.listRuns("s")).map(({ runId, status, firstId }) => [runId, status, firstId])).toEqual([
          ["r2", "live", 10],
          ["r", "completed", 5],
        ]);
        expect(await other.getLandmark("s", "todo_list", "list")).toMatchObject({ eventId: 9 });
        expect(await other.listOrphans()).toEqual(["s"]);
        const writer = await openWriter(log, "s");
        await writer.write([drafts.chunk("r2")]);
        expect(await readAll(other, "s", 9)).toHaveLength(2);
      }));

    test("is rejected if it exists or its records are invalid, and is then not created", () =>
      withLog(
        store,
        async ({ log, other }) => {
          const entries = makeEntries("s", 0, draftRun("r"));
          await log.createSession("old");
          await expectRefusal(
            log.createSession("old", { entries: makeEntries("old", 0, draftRun("r")) }),
            "session_exists",
          );
          await expectRefusal(log.createSession("old", { entries: [] }), "session_exists");
          await expectRefusal(log.createSession("s", { firstId: 2, entries }), "conflict");
          await expectRefusal(log.createSession("t", { entries }), "conflict");
          const many = Array.from({ length: 100 }, () => drafts.note("x"));
          await expectRefusal(log.createSession("s", { entries: makeEntries("s", 0, many) }), "batch_too_large");
          expect((await other.listSessions()).map(({ sessionId }) => sessionId)).toEqual(["old"]);
          expect((await log.createSession("s", { entries })).lastId).toBe(4);
        },
        { maxForkBytes: 1000, maxBatchRecords: 2 },
      ));
  });

  describe("a session created in pieces", () => {
    const entries = makeEntries("s", 0, [...draftRun("r"), drafts.todo("list"), drafts.start("r2")]);

    test("is found once the last piece is written, and equals one created at once", () =>
      withLog(store, async ({ log, other }) => {
        const pieces = async function* () {
          for (const entry of entries) {
            expect(await other.getSession("s")).toBeUndefined();
            expect(await other.listSessions()).toEqual([]);
            expect(await other.listOrphans()).toEqual([]);
            yield [entry];
          }
          yield [];
        };
        const made = await log.createSession("s", { title: "t", owner: "alice", entries: pieces() });
        expect(made).toMatchObject({ title: "t", owner: "alice", lastId: entries.length, holder: undefined });
        expect(await readAll(other, "s")).toEqual(textsOf(entries));
        expect((await other.listRuns("s")).map(({ runId, status }) => [runId, status])).toEqual([
          ["r2", "live"],
          ["r", "completed"],
        ]);
        expect(await other.getLandmark("s", "todo_list", "list")).toMatchObject({ eventId: 5 });
        expect((await other.searchSessions({ query: "t" })).map(({ sessionId }) => sessionId)).toEqual(["s"]);
        await (await openWriter(log, "s")).write([drafts.chunk("r2")]);
      }));

    test("is not created if a piece is invalid, the source fails, or the ID is taken meanwhile", () =>
      withLog(
        store,
        async ({ log, other }) => {
          const piecesOf = async function* (...pieces: (typeof entries)[]) {
            yield* pieces;
          };
          const [first, second] = [entries.slice(0, 2), entries.slice(2)];
          const create = (pieces: AsyncIterable<typeof entries>) => log.createSession("s", { entries: pieces });
          await expectRefusal(create(piecesOf(second, first)), "conflict");
          await expectRefusal(create(piecesOf(first, first)), "conflict");
          const many = makeEntries(
            "s",
            0,
            Array.from({ length: 60 }, () => drafts.note("x")),
          );
          await expectRefusal(create(piecesOf(many.slice(0, 15), many.slice(15))), "batch_too_large");
          const failing = async function* () {
            yield first;
            throw new Error("source failed");
          };
          await expect(create(failing())).rejects.toThrow("source failed");
          expect(await other.listSessions()).toEqual([]);
          const taken = async function* () {
            yield first;
            await other.createSession("s", { title: "other" });
            yield second;
          };
          await expectRefusal(create(taken()), "session_exists");
          expect(await log.getSession("s")).toMatchObject({ title: "other", lastId: 0 });
        },
        { maxForkBytes: 3000 },
      ));
  });

  describe("a fork", () => {
    test("equals the session at the checkpoint", () =>
      withLog(store, async ({ log, other, clock }) => {
        const records = makeForkedSession();
        await writeRecords(log, records, 7);
        const { eventId } = await readCheckpoint(log, "s", "run-2-2");
        const before = await describeAll(log, "s");
        const made = await forkSession(log, { from: "s", checkpointId: "run-2-2", to: "fork" });
        expect(made).toMatchObject({ sessionId: "fork", checkpointId: "run-2-2", lastId: eventId });
        expect(await describeAll(log, "s")).toEqual(before);
        // Compare with a session that was written only up to there.
        const beginning = records.slice(0, eventId);
        const plain = beginning.map(({ envelope, event }) => ({
          envelope: { ...envelope, session_id: "plain" },
          event,
        }));
        await writeRecords(log, plain);
        const rename = (text: string) => text.replace('"session_id":"plain"', '"session_id":"fork"');
        expect(await readAll(other, "fork")).toEqual((await readAll(other, "plain")).map(rename));
        clock.now += 60_000;
        expect(await describeAll(other, "fork")).toEqual(await describeAll(other, "plain"));
        expect((await other.listRuns("fork"))[0]).toMatchObject({ runId: "run-2", status: "live" });
        expect((await readCheckpoint(other, "fork", "run-2-2")).state).toEqual({
          list: ["old", "item 1", "item 2"],
          n: 2,
        });
      }));

    test("has the given state in an additional checkpoint", () =>
      withLog(store, async ({ log, other }) => {
        await writeRecords(log, makeForkedSession());
        const state = { n: { a: 1 } };
        const { checkpointId } = await forkSession(log, {
          from: "s",
          checkpointId: "run-2-1",
          to: "fork",
          state,
          title: "another",
        });
        const [last, asked] = await listCheckpoints(other, "fork");
        expect(last).toMatchObject({ checkpointId, step: 1, next: [{ id: "work" }], runId: "run-2" });
        expect(asked?.checkpointId).toBe("run-2-1");
        expect((await readCheckpoint(other, "fork", checkpointId)).state).toEqual({
          list: ["old", "item 1"],
          n: { a: 1 },
        });
        expect((await readCheckpoint(other, "fork", "run-2-1")).state).toEqual({ list: ["old", "item 1"], n: 1 });
        expect((await other.getSession("fork"))?.title).toBe("another");
        // Fork the fork. A node sets `n`, so its value may have any kind.
        const again = await forkSession(log, { from: "fork", checkpointId, to: "again", state: { n: 7 } });
        expect((await readCheckpoint(other, "again", again.checkpointId)).state).toMatchObject({ n: 7 });
        expect((await readCheckpoint(other, "again", checkpointId)).state).toMatchObject({ n: { a: 1 } });
      }));

    test("is not an orphan during its grace period", () =>
      withLog(store, async ({ log, other, clock }) => {
        await writeRecords(log, makeForkedSession());
        await log.prune({ maxAgeMs: 0, now: Date.now() });
        const fork = (to: string, graceMs?: number) =>
          forkSession(log, { from: "s", checkpointId: "run-2-1", to, ...(graceMs === undefined ? {} : { graceMs }) });
        await fork("a");
        await fork("b", 1000);
        await fork("c", 0);
        expect(await other.listOrphans()).toEqual(["s", "c"]);
        clock.now += 1000;
        expect(await other.listOrphans()).toEqual(["s", "b", "c"]);
        // Another writer may acquire it during the grace period, which ends it.
        const lease = await other.acquire("a", { holder: "another", ttlMs: 1000 });
        await other.release(lease);
        expect(await log.listOrphans()).toEqual(["s", "a", "b", "c"]);
        await fork("d");
        clock.now += 59_999;
        expect(await log.listOrphans()).not.toContain("d");
        clock.now += 1;
        expect(await log.listOrphans()).toContain("d");
        await expect(fork("e", Number.NaN)).rejects.toThrow(RangeError);
      }));

    test("rejects a state that does not fit and reports the path", () =>
      withLog(store, async ({ log, other }) => {
        await writeRecords(log, makeForkedSession());
        const fork = (state: unknown, to = "fork") =>
          forkSession(log, { from: "s", checkpointId: "run-2-1", to, state: state as JsonObject });
        const circle: unknown[] = [];
        circle.push(circle);
        const wrong: readonly (readonly [state: unknown, path: string])[] = [
          [null, "state"],
          ["text", "state"],
          [[1], "state"],
          [{ n: undefined }, "state.n"],
          [{ n: 10n }, "state.n"],
          [{ n: [1, { a: Number.NaN }] }, "state.n[1].a"],
          [{ n: () => 1 }, "state.n"],
          [{ n: new Date(0) }, "state.n"],
          [{ n: { m: new Map() } }, "state.n.m"],
          [{ n: { toJSON: () => 1 } }, "state.n"],
          [{ n: circle }, `state.n${"[0]".repeat(64)}`],
          [{ n: nest(255) }, `state.n${"[0]".repeat(64)}`],
          [{ n: 1, other: 1 }, "state.other"],
          [{ list: null }, "state.list"],
        ];
        for (const [state, path] of wrong) {
          const { message, details } = await expectRefusal(fork(state), "invalid_event");
          expect(details["path"]).toSatisfy((said: string) => said.startsWith(path) && said.length <= 200);
          expect(message).toContain("must be");
        }
        await expectRefusal(fork({ n: "x".repeat(2 ** 20) }), "event_too_large");
        expect(await other.getSession("fork")).toBeUndefined();
        const state = { n: nest(254), list: ["\ud800", null, { a: Object.create(null) as object }] };
        const { checkpointId } = await fork(state);
        expect(JSON.stringify((await readCheckpoint(other, "fork", checkpointId)).state)).toBe(
          JSON.stringify({ list: state.list, n: state.n }),
        );
        await fork({}, "empty");
      }));

    test("starts where a pruned session starts", () =>
      withLog(store, async ({ log, other }) => {
        await writeRecords(log, makeForkedSession(), 5);
        await log.prune({ maxAgeMs: 0, now: Date.now() });
        const info = await log.getSession("s");
        expect(info?.firstId).toBeGreaterThan(1);
        await forkSession(log, { from: "s", checkpointId: "run-2-3", to: "fork" });
        expect((await other.getSession("fork"))?.firstId).toBe(info?.firstId);
        await expectRefusal(other.read("fork", { after: 0 }), "evicted");
        await expectRefusal(forkSession(log, { from: "s", checkpointId: "run-1-1", to: "none" }), "unknown_checkpoint");
      }));

    test("replaces the session ID in checkpoints", () =>
      withLog(store, async ({ log, other }) => {
        const records = makeGraphRun("run-1").map(({ envelope, event }) =>
          event.type === "checkpoint" ? { envelope, event: { ...event, thread_id: "s" } } : { envelope, event },
        );
        await writeRecords(log, records);
        await forkSession(log, { from: "s", checkpointId: "run-1-2", to: "fork", state: { n: 0 } });
        const texts = await readAll(other, "fork");
        expect(texts.filter((text) => text.includes('"thread_id":"fork"'))).toHaveLength(4);
        expect(texts.some((text) => text.includes('"s"'))).toBe(false);
      }));

    test("is rejected with an error code, and is then not created", () =>
      withLog(
        store,
        async ({ log, other }) => {
          const sub: StampedRecord = {
            envelope: { session_id: "s", run_id: "run-1", event_id: 21, ts: 1 },
            event: { type: "checkpoint", checkpoint_id: "sub", timestamp: "", step: 0, state: {}, checkpoint_ns: "a" },
          };
          await writeRecords(log, [...makeGraphRun("run-1", { isOver: false }), sub]);
          await writeRecords(log, makeRun("run-1", { sessionId: "taken" }));
          const fork = (options: object) =>
            forkSession(log, { from: "s", checkpointId: "run-1-1", to: "fork", ...options });
          await expectRefusal(fork({ from: "missing" }), "unknown_session");
          await expectRefusal(fork({ checkpointId: "none" }), "unknown_checkpoint");
          await expectRefusal(fork({ to: "taken" }), "session_exists");
          await expectRefusal(fork({ to: "s" }), "session_exists");
          for (const to of ["", "..", "a\nb"]) await expectRefusal(fork({ to }), "invalid_name");
          await expectRefusal(fork({ checkpointId: "sub" }), "unsupported");
          await expectRefusal(fork({ checkpointId: "run-1-3" }), "batch_too_large");
          await expectRefusal(fork({ state: { n: "x".repeat(3000) } }), "batch_too_large");
          expect((await other.listSessions()).map(({ sessionId }) => sessionId)).toEqual(["taken", "s"]);
          expect((await fork({})).lastId).toBe(8);
        },
        { maxForkBytes: 2500 },
      ));

    test("that fails halfway leaves nothing; the source may be written meanwhile", () =>
      withLog(
        store,
        async ({ log, other }) => {
          await writeRecords(log, makeForkedSession(), 5);
          const writer = await openWriter(log, "s");
          const asked = { from: "s", checkpointId: "run-2-4", to: "fork" };
          let reads = 0;
          const failing = overrideLog(log, (own) => ({
            read: async (...given) => {
              if (++reads === 4) throw new Error("disk failed");
              return own.read(...given);
            },
          }));
          await expect(forkSession(failing, asked)).rejects.toThrow("disk failed");
          const broken = overrideLog(log, () => ({ createSession: async () => Promise.reject(new Error("no")) }));
          await expect(forkSession(broken, asked)).rejects.toThrow("no");
          expect(await other.getSession("fork")).toBeUndefined();
          const written = overrideLog(log, (own) => ({
            read: async (...given) => {
              await writer.write([drafts.chunk("run-2")]);
              return own.read(...given);
            },
          }));
          const { lastId } = await forkSession(written, asked);
          expect(lastId).toBe(makeForkedSession().length);
          // Of two concurrent forks, one succeeds.
          const both = await Promise.allSettled([1, 2].map(() => forkSession(log, { ...asked, to: "both" })));
          expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
          // The source is deleted and recreated meanwhile.
          const replaced = overrideLog(log, (own) => ({
            read: async (...given) => {
              await own.deleteSession("s");
              await own.createSession("s", { entries: makeForkedSession().slice(0, 3).map(createEntry) });
              return own.read(...given);
            },
          }));
          await expectRefusal(forkSession(replaced, { ...asked, to: "lost" }), "cursor_stale");
          expect(await other.getSession("lost")).toBeUndefined();
        },
        { maxPageRecords: 5 },
      ));
  });

  describe("the owner of a fork", () => {
    test("is the owner of the source unless another is given", () =>
      withLog(store, async ({ log, other }) => {
        await log.createSession("s", { owner: "alice" });
        await writeRecords(log, makeForkedSession());
        const forks = {
          checkpoint: (to: string, owner: { owner?: string }) =>
            forkSession(log, { from: "s", checkpointId: "run-2-2", to, ...owner }),
          run: (to: string, owner: { owner?: string }) =>
            forkBeforeRun(log, { from: "s", runId: "run-2", to, ...owner }),
        };
        for (const [kind, fork] of Object.entries(forks)) {
          expect((await fork(kind, {})).owner).toBe("alice");
          expect((await fork(`${kind} of bob`, { owner: "bob" })).owner).toBe("bob");
          await expectRefusal(fork(kind, { owner: "bob" }), "session_exists");
          await expectRefusal(fork(`${kind} without owner`, { owner: "" }), "invalid_name");
        }
        const names = async (owner: string) => (await other.listSessions({ owner })).map(({ sessionId }) => sessionId);
        expect(await names("alice")).toEqual(["run", "checkpoint", "s"]);
        expect(await names("bob")).toEqual(["run of bob", "checkpoint of bob"]);
      }));
  });

  describe("a fork before a run", () => {
    test("has the records before the run and no live run", () =>
      withLog(store, async ({ log, other }) => {
        const records = makeForkedSession();
        await writeRecords(log, records);
        await log.updateSession("s", { title: "Old" });
        const { firstId } = (await log.getRun("s", "run-2")) ?? { firstId: 0 };
        const made = await forkBeforeRun(log, { from: "s", runId: "run-2", to: "fork" });
        expect(made).toMatchObject({ title: "Old", firstId: 1, lastId: firstId - 1, holder: undefined });
        const shared = (await readAll(log, "s")).slice(0, firstId - 1);
        expect(await readAll(other, "fork")).toEqual(shared.map((text) => text.replace('"s"', '"fork"')));
        expect((await other.listRuns("fork")).map(({ runId, status }) => [runId, status])).toEqual([
          ["run-1", "completed"],
        ]);
        expect(await other.getLandmark("fork", "todo_list", "list")).toBeDefined();
        expect(await other.listOrphans()).toEqual(["s"]);
        expect(await readAll(log, "s")).toHaveLength(records.length);
      }));

    test("that is the first one creates an empty session without a title", () =>
      withLog(store, async ({ log, other }) => {
        await writeRecords(log, makeForkedSession());
        await log.updateSession("s", { title: "Old" });
        expect(await forkBeforeRun(log, { from: "s", runId: "run-1", to: "a" })).toMatchObject({
          title: undefined,
          firstId: 1,
          lastId: 0,
        });
        await forkBeforeRun(log, { from: "s", runId: "run-1", to: "b", title: "New" });
        expect(await other.getSession("b")).toMatchObject({ title: "New", lastId: 0 });
        expect(await readAll(other, "a")).toEqual([]);
        const writer = await openWriter(log, "a");
        await writer.write(draftRun("other"));
        expect(await other.listRuns("a")).toMatchObject([{ runId: "other", firstId: 1 }]);
      }));

    test("maps image URLs", () =>
      withLog(store, async ({ log, other }) => {
        const image = (event_id: number, url: string): StampedRecord => ({
          envelope: { session_id: "s", event_id, ts: 1 },
          event: { type: "image", url, alt: "x" },
        });
        await writeRecords(log, [image(1, "/s/1"), image(2, "data:x"), ...makeRun("r", { after: 2 })]);
        const moveImage = (url: string): string => url.replace(/^\/s\//, "/fork/");
        await forkBeforeRun(log, { from: "s", runId: "r", to: "fork", moveImage });
        const urls = (await readAll(other, "fork")).map((text) => /"url":"(?<url>[^"]*)"/.exec(text)?.groups?.["url"]);
        expect(urls).toEqual(["/fork/1", "data:x"]);
      }));

    test("without a run ID copies everything up to the live run", () =>
      withLog(store, async ({ log, other }) => {
        const between: StampedRecord = {
          envelope: { session_id: "s", event_id: 5, ts: 9 },
          event: { type: "todo_list", list_id: "list", items: [{ id: "i0", text: "x", completed: false }] },
        };
        await writeRecords(log, [...makeRun("a"), between]);
        expect(await forkBeforeRun(log, { from: "s", to: "all" })).toMatchObject({ lastId: 5, holder: undefined });
        const texts = await readAll(log, "s");
        expect(await readAll(other, "all")).toEqual(texts.map((text) => text.replace('"s"', '"all"')));
        await writeRecords(log, makeGraphRun("b", { after: 5, isOver: false }));
        const made = await forkBeforeRun(log, { from: "s", to: "over", title: "New" });
        expect(made).toMatchObject({ title: "New", lastId: 5 });
        expect((await other.listRuns("over")).map(({ runId, status }) => [runId, status])).toEqual([
          ["a", "completed"],
        ]);
        await log.createSession("empty", { title: "Old" });
        expect(await forkBeforeRun(log, { from: "empty", to: "none" })).toMatchObject({ title: undefined, lastId: 0 });
        expect(await other.listOrphans()).toEqual(["s"]);
        await expectRefusal(forkBeforeRun(log, { from: "missing", to: "lost" }), "unknown_session");
      }));

    test("without a run ID ends where no run is live, also if runs overlap", () =>
      withLog(store, async ({ log, other }) => {
        // Each run starts with its name and ends with its name and a dot: `b`, `c` and `e` overlap.
        const order = ["a", "a.", "b", "c", "b.", "d", "d.", "e", "c.", "e."];
        for (let run = 0; run < 120; run++) order.push(`r${run}`, `r${run}.`);
        for (const [session, missing, lastId] of [
          ["never", "c.", 2],
          ["late", "e.", 2],
          ["last", "r119.", order.length - 2],
          ["all", "none", order.length],
        ] as const) {
          const written = order.filter((each) => each !== missing);
          await writeRecords(
            log,
            written.map((each, index): StampedRecord => {
              const run_id = each.replace(".", "");
              const event: AnyEvent =
                each === run_id ? { type: "run_start", run_id } : { type: "reply", reply: `of ${run_id}` };
              return { envelope: { session_id: session, run_id, event_id: index + 1, ts: index }, event };
            }),
          );
          const to = `${session}-fork`;
          expect([session, (await forkBeforeRun(log, { from: session, to })).lastId]).toEqual([session, lastId]);
          expect((await other.listRuns(to)).filter(({ status }) => status === "live")).toEqual([]);
        }
      }));

    test("is rejected with an error code, and then no session is created", () =>
      withLog(
        store,
        async ({ log, other }) => {
          const [start, ...rest] = makeRun("late", { after: 1 });
          const open: StampedRecord = {
            envelope: { session_id: "s", run_id: "open", event_id: 1, ts: 0 },
            event: { type: "run_start", run_id: "open" },
          };
          await writeRecords(log, [open, start as StampedRecord, ...rest]);
          await writeRecords(log, [...makeGraphRun("long", { sessionId: "t", steps: 9 })]);
          await writeRecords(log, makeRun("next", { sessionId: "t", after: 58 }));
          const fork = (from: string, runId: string, to = "fork") => forkBeforeRun(log, { from, runId, to });
          await expectRefusal(fork("missing", "late"), "unknown_session");
          await expectRefusal(fork("s", "none"), "unknown_run");
          await expectRefusal(fork("s", "late"), "unsupported");
          await expectRefusal(fork("s", "late", "t"), "session_exists");
          for (const to of ["", "..", "a\nb"]) await expectRefusal(fork("s", "late", to), "invalid_name");
          await expectRefusal(fork("t", "next"), "batch_too_large");
          expect(await other.getSession("fork")).toBeUndefined();
        },
        { maxForkBytes: 2500 },
      ));
  });
}
