/** Tests of where a session was forked from, and of the versions of a conversation. */
import { describe, expect, test } from "vitest";
import { writeRecords } from "../../log-sessions.ts";
import { readCheckpoint } from "../../../src/log/checkpoints.ts";
import { forkBeforeRun } from "../../../src/log/fork-before-run.ts";
import { forkSession } from "../../../src/log/fork-session.ts";
import { makeForkedSession } from "./log-checkpoints.ts";
import { draftRun, drafts, expectRefusal, type LogStore, makeEntries, openWriter, withLog } from "./log-fixture.ts";
import type { ListBranchesOptions, Log } from "../../../src/log/log.ts";

/** Creates a session with the runs `r1`, `r2` and `r3`, of four records each. */
async function createConversation(log: Log, sessionId: string, owner = "alice"): Promise<void> {
  const entries = makeEntries(
    sessionId,
    0,
    ["r1", "r2", "r3"].flatMap((run) => draftRun(run)),
  );
  await log.createSession(sessionId, { owner, title: "First", entries });
}

async function listIds(log: Log, sessionId: string, options?: ListBranchesOptions): Promise<readonly string[]> {
  return (await log.listBranches(sessionId, options)).map((session) => session.sessionId);
}

export function describeLineage(store: LogStore): void {
  describe("the lineage of a session", () => {
    test("names the session and the run it was forked before, and the root of all forks", () =>
      withLog(store, async ({ log, other }) => {
        await createConversation(log, "s");
        expect(await log.getSession("s")).toMatchObject({ forkedFrom: undefined, rootId: "s" });
        const made = await forkBeforeRun(log, { from: "s", runId: "r2", to: "a" });
        expect(made).toMatchObject({ forkedFrom: { sessionId: "s", runId: "r2", eventId: 4 }, rootId: "s" });
        await forkBeforeRun(log, { from: "a", runId: "r1", to: "b" });
        const empty = { forkedFrom: { sessionId: "a", runId: "r1", eventId: 0 }, rootId: "s" };
        expect(await other.getSession("b")).toMatchObject(empty);
        expect((await other.listSessions()).find(({ sessionId }) => sessionId === "b")).toMatchObject(empty);
        const [found] = await other.searchSessions({ query: "first" });
        expect(found).toMatchObject({ sessionId: "a", rootId: "s" });
        await log.updateSession("b", { title: "Renamed" });
        await (await openWriter(log, "b")).write(draftRun("r4"));
        await log.prune({ maxSessionBytes: 0, now: Number.MAX_SAFE_INTEGER });
        expect(await other.getSession("b")).toMatchObject({ title: "Renamed", firstId: 5, ...empty });
      }));

    test("keeps the permissions of tools only for the same owner", () =>
      withLog(store, async ({ log, other }) => {
        const writer = await openWriter(log, "s");
        await writer.write([drafts.permit("rm", "allow"), ...draftRun("r")]);
        await forkBeforeRun(log, { from: "s", to: "own" });
        await forkBeforeRun(log, { from: "s", to: "given", owner: "someone else" });
        const rules = ["own", "given"].map(
          async (session) => (await other.read(session, { after: 0, limit: 1 })).records[0]?.event,
        );
        expect(await Promise.all(rules)).toMatchObject([{ rule: "allow" }, { rule: "ask" }]);
      }));

    test("keeps system prompts and ratings only for the same owner", () =>
      withLog(store, async ({ log, other }) => {
        const start = { type: "run_start", run_id: "r" } as const;
        const rated = { type: "feedback", target_run_id: "r", rating: "bad" } as const;
        const writer = await openWriter(log, "s");
        await writer.write([
          { event: { ...start, instructions: "Speak French" }, run: "r", ts: undefined },
          ...draftRun("r").slice(1),
          { event: { ...rated, comment: "wrong", actor: "token:a" }, run: undefined, ts: undefined },
        ]);
        await forkBeforeRun(log, { from: "s", to: "own" });
        await forkBeforeRun(log, { from: "s", to: "given", owner: "someone else" });
        const [own, given] = await Promise.all(
          ["own", "given"].map(async (session) => (await other.read(session, { after: 0 })).records),
        );
        expect(own?.[0]?.event).toMatchObject({ instructions: "Speak French" });
        expect(own?.at(-1)?.event).toMatchObject({ rating: "bad", comment: "wrong", actor: "token:a" });
        expect(given?.[0]?.event).toEqual(start);
        expect(given?.at(-1)?.event).toEqual({ ...rated, rating: "none" });
      }));

    test("a fork has the title and the marks that its origin has when it appears", () =>
      withLog(store, async ({ log, other }) => {
        await createConversation(log, "s");
        await (await openWriter(log, "s")).write([drafts.start("r9"), drafts.checkpoint("c", "r9")]);
        let changes = 0;
        let before: () => Promise<unknown> = () =>
          log.updateSession("s", { title: `Title ${++changes}`, isPinned: true });
        // The change arrives after the fork has read its origin.
        const createSession: Log["createSession"] = async (id, options) => {
          await before();
          return log.createSession(id, options);
        };
        const late = new Proxy(log, {
          get: (target, name) => {
            if (name === "createSession") return createSession;
            const value: unknown = Reflect.get(target, name, target);
            return typeof value === "function" ? (value.bind(target) as unknown) : value;
          },
        });
        const version = await forkBeforeRun(late, { from: "s", runId: "r2", to: "version" });
        expect(version).toMatchObject({ title: "Title 1", isPinned: true, isArchived: false });
        expect((await other.searchSessions({ query: "Title 1" })).map(({ sessionId }) => sessionId)).toContain(
          "version",
        );
        const { checkpointId: _id, ...resumed } = await forkSession(late, {
          from: "s",
          checkpointId: "c",
          to: "resumed",
        });
        expect(resumed).toMatchObject({ title: "Title 2", isPinned: true });
        const copy = await forkBeforeRun(late, { from: "s", to: "copy" });
        expect(copy).toMatchObject({ title: "Title 3", isPinned: false });
        const named = await forkBeforeRun(late, { from: "s", runId: "r2", to: "named", title: "Mine" });
        expect(named).toMatchObject({ title: "Mine", isPinned: true });
        expect(await forkBeforeRun(late, { from: "s", runId: "r1", to: "empty" })).not.toMatchObject({
          title: expect.anything() as unknown,
        });
        before = async () => {
          await log.deleteSession("version");
          await log.createSession("version", { title: "Another one", isArchived: true });
        };
        const last = await forkBeforeRun(late, { from: "version", runId: "r1", to: "orphan", title: "Given" });
        expect(last).toMatchObject({ title: "Given", isPinned: true, isArchived: false });
      }));

    test("names the checkpoint's record if it was forked at one", () =>
      withLog(store, async ({ log, other }) => {
        await writeRecords(log, makeForkedSession());
        const { eventId } = await readCheckpoint(log, "s", "run-2-1");
        await forkSession(log, { from: "s", checkpointId: "run-2-1", to: "fork", state: { n: 4 } });
        const { forkedFrom, rootId } = (await other.getSession("fork")) ?? {};
        expect({ forkedFrom, rootId }).toEqual({ forkedFrom: { sessionId: "s", eventId }, rootId: "s" });
      }));

    test("starts again in a copy, and in a fork with another owner", () =>
      withLog(store, async ({ log, other }) => {
        await createConversation(log, "s");
        await forkBeforeRun(log, { from: "s", to: "copy" });
        await forkBeforeRun(log, { from: "s", runId: "r2", to: "bobs", owner: "bob" });
        const { forkedFrom, rootId } = (await other.getSession("copy")) ?? {};
        expect({ forkedFrom, rootId }).toEqual({ forkedFrom: { sessionId: "s", eventId: 12 }, rootId: "copy" });
        const origin = { sessionId: "s", runId: "r2", eventId: 4 };
        expect(await other.getSession("bobs")).toMatchObject({ forkedFrom: origin, rootId: "bobs" });
        await forkBeforeRun(log, { from: "copy", runId: "r3", to: "fork of copy" });
        expect(await listIds(other, "s")).toEqual(["s"]);
        expect(await listIds(other, "fork of copy")).toEqual(["copy", "fork of copy"]);
        expect(await listIds(other, "bobs")).toEqual(["bobs"]);
      }));

    test("is given when a session is created, and is not checked against other sessions", () =>
      withLog(store, async ({ log, other }) => {
        const forkedFrom = { sessionId: "elsewhere", runId: "r", eventId: 7 };
        await log.createSession("s", { forkedFrom, rootId: "gone" });
        expect(await other.getSession("s")).toMatchObject({ forkedFrom, rootId: "gone" });
        expect(await listIds(other, "s")).toEqual(["s"]);
        await log.createSession("s", { forkedFrom: { sessionId: "another", eventId: 1 } });
        expect(await other.getSession("s")).toMatchObject({ forkedFrom, rootId: "gone" });
        await expectRefusal(log.createSession("t", { rootId: "" }), "invalid_name");
        await expectRefusal(log.createSession("t", { forkedFrom: { ...forkedFrom, sessionId: ".." } }), "invalid_name");
        await expectRefusal(log.createSession("t", { forkedFrom: { ...forkedFrom, runId: "" } }), "invalid_name");
        await expectRefusal(log.createSession("t", { forkedFrom: { ...forkedFrom, eventId: -1 } }), "conflict");
        expect(await other.getSession("t")).toBeUndefined();
      }));

    test.runIf(store.reopen !== undefined)("is durable", () =>
      withLog(store, async ({ log, other }) => {
        await createConversation(log, "s");
        await forkBeforeRun(other, { from: "s", runId: "r2", to: "a" });
        const again = await store.second(log);
        expect(await again.getSession("a")).toEqual(await log.getSession("a"));
        expect(await listIds(again, "a")).toEqual(["s", "a"]);
        await again.close();
      }),
    );
  });

  describe("the versions of a conversation", () => {
    test("are the sessions with its root, in creation order, from each of them", () =>
      withLog(store, async ({ log, other }) => {
        await createConversation(log, "s");
        await createConversation(log, "unrelated");
        for (const [from, runId, to] of [
          ["s", "r2", "z"],
          ["z", "r1", "y"],
          ["s", "r3", "x"],
        ] as const)
          await forkBeforeRun(log, { from, runId, to });
        for (const session of ["s", "x", "y", "z"]) expect(await listIds(other, session)).toEqual(["s", "z", "y", "x"]);
        expect(await listIds(other, "s", { newestFirst: true })).toEqual(["x", "y", "z", "s"]);
        expect(await listIds(other, "unrelated")).toEqual(["unrelated"]);
        expect((await other.listBranches("z"))[1]).toEqual(await other.getSession("z"));
        await expectRefusal(other.listBranches("none"), "unknown_session");
      }));

    test("are listed in pages", () =>
      withLog(store, async ({ log, other }) => {
        await createConversation(log, "s");
        for (const to of ["a", "b", "c"]) await forkBeforeRun(log, { from: "s", runId: "r2", to });
        expect(await listIds(other, "b", { limit: 2 })).toEqual(["s", "a"]);
        expect(await listIds(other, "b", { limit: 2, after: "a" })).toEqual(["b", "c"]);
        expect(await listIds(other, "b", { limit: 2, after: "c" })).toEqual([]);
        expect(await listIds(other, "s", { newestFirst: true, limit: 1 })).toEqual(["c"]);
        expect(await listIds(other, "s", { newestFirst: true, limit: 3, after: "c" })).toEqual(["b", "a", "s"]);
        await createConversation(log, "unrelated");
        for (const after of ["unrelated", "none"])
          await expectRefusal(other.listBranches("s", { after }), "cursor_invalid");
      }));

    test("remain without a deleted one, also without the root", () =>
      withLog(store, async ({ log, other }) => {
        await createConversation(log, "s");
        for (const to of ["a", "b", "c"]) await forkBeforeRun(log, { from: "s", runId: "r2", to });
        await log.deleteSession("a");
        expect(await listIds(other, "s")).toEqual(["s", "b", "c"]);
        await log.deleteSession("s");
        expect(await listIds(other, "b")).toEqual(["b", "c"]);
        const origin = { sessionId: "s", runId: "r2", eventId: 4 };
        expect(await other.getSession("c")).toMatchObject({ forkedFrom: origin, rootId: "s" });
        await forkBeforeRun(log, { from: "c", runId: "r1", to: "d" });
        expect(await listIds(other, "d")).toEqual(["b", "c", "d"]);
        // A new session with the ID of a deleted fork is not a fork.
        await log.createSession("a");
        expect(await other.getSession("a")).toMatchObject({ forkedFrom: undefined, rootId: "a" });
      }));

    test("belong to one owner, even if another one takes the ID of the root", () =>
      withLog(store, async ({ log, other }) => {
        await createConversation(log, "s");
        await forkBeforeRun(log, { from: "s", runId: "r2", to: "a" });
        await log.deleteSession("s");
        await createConversation(log, "s", "bob");
        await forkBeforeRun(log, { from: "s", runId: "r2", to: "bobs" });
        expect(await listIds(other, "s")).toEqual(["s", "bobs"]);
        expect(await listIds(other, "a")).toEqual(["a"]);
        await expectRefusal(other.listBranches("a", { after: "s" }), "cursor_invalid");
      }));
  });
}
