/** Tests of sessions: created once, listed in creation order, renamed, deleted. */
import { describe, expect, test } from "vitest";
import type { ListSessionsOptions } from "../../../src/log/log.ts";
import {
  casesOf,
  drafts,
  draftRun,
  expectRefusal,
  type LogStore,
  NOON,
  makeEntries,
  openWriter,
  readAll,
  textsOf,
  withLog,
} from "./log-fixture.ts";

/** Distinct IDs that a store might confuse. */
const ODD_NAMES: readonly string[] = [
  "a",
  "A",
  "a ",
  " a",
  "é",
  "e\u0301",
  "%",
  "a_b",
  "a/b",
  "../a",
  "...",
  ".a",
  "%2e%2e",
  "'; DROP TABLE sessions; --",
  "__proto__",
  "constructor",
  "1",
  "01",
  "null",
  "a\u2028b",
  "👍".repeat(128),
  "n".repeat(256),
];

export function describeSessions(store: LogStore): void {
  describe("a session", () => {
    test("is not created with a first record or a grace period of null", () =>
      withLog(store, async ({ log }) => {
        const [firstId, graceMs] = [null, null] as unknown as [number, number];
        for (const entries of [undefined, []]) {
          const records = entries === undefined ? {} : { entries };
          await expectRefusal(log.createSession("s", { ...records, firstId }), "conflict");
          await expect(log.createSession("s", { ...records, graceMs })).rejects.toThrow("not null");
        }
        expect(await log.listSessions()).toEqual([]);
      }));

    test("is created once", () =>
      withLog(store, async ({ log, other, clock }) => {
        const made = await log.createSession("s", { title: "first" });
        expect(made).toMatchObject({
          sessionId: "s",
          title: "first",
          createdAt: NOON,
          updatedAt: NOON,
          firstId: 1,
          lastId: 0,
          bytes: 0,
          holder: undefined,
        });
        expect(made.incarnation).not.toBe("");
        clock.now += 5;
        expect(await other.createSession("s", { title: "second", firstId: 9 })).toEqual(made);
        expect(await other.getSession("s")).toEqual(made);
        expect(await other.getSession("t")).toBeUndefined();
      }));

    test("is created once by concurrent calls", () =>
      withLog(store, async ({ log, other }) => {
        const made = await Promise.all([log, other, log, other].map((handle) => handle.createSession("s")));
        expect(new Set(made.map(({ incarnation }) => incarnation)).size).toBe(1);
      }));

    test.each(
      casesOf(store, [
        "",
        "n".repeat(257),
        "\ud800",
        "a\udc00b",
        "a\0b",
        ".",
        "..",
        " ",
        "\u3000",
        "\u2028",
        "a\nb",
        "\u007f",
        "\u0085",
      ]),
    )("cannot have the ID %j", (name) =>
      withLog(store, async ({ log }) => {
        await expectRefusal(log.createSession(name), "invalid_name");
        await expectRefusal(log.acquire(name, { holder: "h", ttlMs: 1 }), "invalid_name");
        const message = { commandId: "c", sessionId: name, kind: "enqueue", body: {} } as const;
        await expectRefusal(log.submit(message, { create: {} }), "invalid_name");
        expect(await log.getSession(name)).toBeUndefined();
        expect(await log.deleteSession(name)).toBe(false);
        await expectRefusal(log.read(name, { after: 0 }), "unknown_session");
        expect(await log.listSessions()).toEqual([]);
      }),
    );

    test("may have any other ID", () =>
      withLog(store, async ({ log, other }) => {
        for (const name of ODD_NAMES) await (await openWriter(log, name)).write([drafts.note(name)]);
        for (const name of ODD_NAMES) {
          const page = await other.read(name, { after: 0 });
          expect(page.records.map(({ event }) => event)).toEqual([{ type: "custom", value: name }]);
          expect((await other.getSession(name))?.sessionId).toBe(name);
        }
        const listed = await other.listSessions();
        expect(listed.map(({ sessionId }) => sessionId)).toEqual(ODD_NAMES.toReversed());
      }));

    test.each(casesOf(store, [0, -1, 1.5, Number.NaN, 2 ** 53, Number.POSITIVE_INFINITY]))(
      "cannot start at record %d",
      (firstId) =>
        withLog(store, async ({ log }) => {
          await expectRefusal(log.createSession("s", { firstId }), "conflict");
          expect(await log.getSession("s")).toBeUndefined();
        }),
    );

    test("is updated when it is created and when a run starts or ends", () =>
      withLog(store, async ({ log, clock }) => {
        const writer = await openWriter(log, "s");
        const touched = async () => ((await log.getSession("s"))?.updatedAt ?? 0) - NOON;
        await writer.write([drafts.note("no run")]);
        expect(await touched()).toBe(0);
        await writer.write([drafts.start("r", NOON + 100)]);
        expect(await touched()).toBe(100);
        clock.now += 1000;
        await writer.write([drafts.chunk("r", "x", NOON + 200), drafts.end("r", "completed", undefined, NOON + 250)]);
        expect(await touched()).toBe(100);
        await writer.write([drafts.reply("r", NOON + 300)]);
        expect(await touched()).toBe(300);
        await writer.write([drafts.start("r2", NOON + 400), drafts.end("r2", "error", "x", NOON + 500)]);
        expect(await touched()).toBe(500);
        await writer.write([drafts.start("r3", NOON + 600)]);
        await writer.write([drafts.end("r3", "error", "x", NOON + 700), drafts.start("r4", NOON + 800)]);
        expect(await touched()).toBe(800);
        await log.updateSession("s", { title: "title" });
        expect(await touched()).toBe(800);
      }));

    test("can be renamed", () =>
      withLog(store, async ({ log, other }) => {
        const made = await log.createSession("s");
        expect(made.title).toBeUndefined();
        for (const title of ["first", "", "再见 👋\n'\""]) {
          expect(await log.updateSession("s", { title })).toEqual({ ...made, title });
          expect(await other.getSession("s")).toEqual({ ...made, title });
        }
        // Only if the title is still the expected one.
        const renamed = await log.updateSession("s", { title: "new" }, { ifTitle: "old" });
        expect(renamed.title).not.toBe("new");
        expect(await log.updateSession("s", { title: "new" }, { ifTitle: renamed.title ?? "" })).toMatchObject({
          title: "new",
        });
        await expectRefusal(log.updateSession("t", { title: "x" }), "unknown_session");
      }));

    test("can be pinned and archived", () =>
      withLog(store, async ({ log, other }) => {
        const made = await log.createSession("s", { title: "title", owner: "alice" });
        expect(made).toMatchObject({ isPinned: false, isArchived: false });
        expect(await log.updateSession("s", { isPinned: true })).toEqual({ ...made, isPinned: true });
        expect(await other.updateSession("s", { isArchived: true })).toMatchObject({
          isPinned: true,
          isArchived: true,
        });
        expect(await log.updateSession("s", { isPinned: false })).toEqual({ ...made, isArchived: true });
        expect(await log.updateSession("s", {})).toEqual({ ...made, isArchived: true });
        await expectRefusal(log.updateSession("s", { isPinned: 1 as never }), "invalid_arguments");
        const writer = await openWriter(other, "s");
        await writer.write(draftRun("r"));
        expect(await log.getSession("s")).toMatchObject({ isPinned: false, isArchived: true, title: "title" });
        for (const entries of [undefined, []] as const)
          expect(
            await log.createSession(`new ${entries?.length}`, { isPinned: true, ...(entries && { entries }) }),
          ).toMatchObject({ isPinned: true, isArchived: false });
      }));

    test("is listed by its marks, and once per conversation", () =>
      withLog(store, async ({ log, other }) => {
        const list = async (options: ListSessionsOptions): Promise<string> =>
          (await other.listSessions(options)).map(({ sessionId }) => sessionId).join(" ");
        await log.createSession("a");
        await log.createSession("b", { isPinned: true });
        await log.createSession("a2", { rootId: "a" });
        await log.createSession("c", { isArchived: true, owner: "alice" });
        await log.createSession("a3", { rootId: "a", owner: "alice" });
        await log.createSession("d", { isPinned: true, isArchived: true });
        await log.createSession("e");
        expect(await list({ isPinned: true })).toBe("d b");
        expect(await list({ isPinned: false })).toBe("e a3 c a2 a");
        expect(await list({ isArchived: true })).toBe("d c");
        expect(await list({ isArchived: true, owner: "alice" })).toBe("c");
        expect(await list({ isArchived: false, isPinned: true })).toBe("b");
        // Versions of another owner are another conversation.
        expect(await list({ isNewestVersion: true })).toBe("e d a3 c a2 b");
        expect(await list({ isNewestVersion: true, isArchived: false, owner: "local" })).toBe("e a2 b");
        for (const limit of [1, 2])
          expect(await list({ isNewestVersion: true, isArchived: false, limit, after: "d" })).toBe(
            ["a3", "a2"].slice(0, limit).join(" "),
          );
        // A session that is not selected is a position too.
        expect(await list({ isNewestVersion: true, isPinned: false, after: "b" })).toBe("");
        // The mark of an older version does not count.
        await log.updateSession("a", { isPinned: true });
        expect(await list({ isNewestVersion: true, isPinned: true })).toBe("d b");
        await log.deleteSession("a2");
        expect(await list({ isNewestVersion: true, isPinned: true })).toBe("d b a");
        await log.createSession("f2", { rootId: "f" });
        await log.createSession("f");
        expect(await list({ isNewestVersion: true, limit: 2 })).toBe("f e");
      }));

    test("is deleted with everything it had", () =>
      withLog(store, async ({ log, other }) => {
        const writer = await openWriter(log, "s");
        await log.submit({ commandId: "c", sessionId: "s", kind: "cancel", body: {} });
        await writer.write([...draftRun("r"), drafts.start("live"), drafts.todo("list")]);
        expect(await other.deleteSession("s")).toBe(true);
        expect(await log.deleteSession("s")).toBe(false);
        for (const handle of [log, other]) {
          expect(await handle.getSession("s")).toBeUndefined();
          expect(await handle.listSessions()).toEqual([]);
          expect(await handle.listOrphans()).toEqual([]);
          const calls: readonly (() => Promise<unknown>)[] = [
            () => handle.read("s", { after: 0 }),
            () => handle.getRun("s", "r"),
            () => handle.listRuns("s"),
            () => handle.findFoldStart("s", 1),
            () => handle.getLandmark("s", "todo_list", "list"),
            () => handle.listLandmarks("s", "todo_list"),
            () => handle.getCommand("s", "c"),
            () => handle.listPending("s"),
            () => handle.submit({ commandId: "c", sessionId: "s", kind: "cancel", body: {} }),
            () => handle.updateSession("s", { title: "x" }),
          ];
          for (const call of calls) await expectRefusal(call(), "unknown_session");
        }
      }));

    test("recreated with the same ID starts at 1 and has nothing of the old one", () =>
      withLog(store, async ({ log, other }) => {
        const old = await openWriter(log, "s");
        await log.submit({ commandId: "c", sessionId: "s", kind: "cancel", body: {} });
        await old.write([...draftRun("r"), drafts.todo("list")]);
        await log.deleteSession("s");
        const made = await other.createSession("s");
        expect(made).toMatchObject({ firstId: 1, lastId: 0, bytes: 0, title: undefined, holder: undefined });
        expect(made.incarnation).not.toBe(old.lease.incarnation);
        expect(await log.listRuns("s")).toEqual([]);
        expect(await log.getLandmark("s", "todo_list", "list")).toBeUndefined();
        expect(await log.getCommand("s", "c")).toBeUndefined();
        const next = await openWriter(other, "s");
        expect(next.lease.incarnation).toBe(made.incarnation);
        const entries = await next.write(draftRun("r"));
        expect(await readAll(log, "s")).toEqual(textsOf(entries));
        expect(await log.getRun("s", "r")).toMatchObject({ firstId: 1, lastId: 4 });
      }));

    test("recreated by another process indexes its runs, also for a writer that knew the old one", () =>
      withLog(store, async ({ log, other }) => {
        const old = await openWriter(log, "s");
        await old.write([drafts.start("r")]);
        await other.deleteSession("s");
        const { epoch } = await other.acquire("s", { holder: "b", ttlMs: 1000 });
        const entries = makeEntries("s", 0, [drafts.start("r")]);
        await log.append({ sessionId: "s", epoch, expectedLastId: 0, entries });
        expect(await other.getRun("s", "r")).toMatchObject({ firstId: 1, status: "live" });
      }));
  });

  describe("the owner of a session", () => {
    test("is set on creation and never changes", () =>
      withLog(store, async ({ log, other }) => {
        const made = await log.createSession("s", { owner: "alice" });
        expect(made.owner).toBe("alice");
        expect(await other.createSession("s", { owner: "alice" })).toEqual(made);
        // Without an owner, any existing session is returned.
        expect(await other.createSession("s")).toEqual(made);
        await log.updateSession("s", { title: "title" });
        const writer = await openWriter(other, "s");
        await writer.write(draftRun("r"));
        await other.release(writer.lease);
        await log.prune({ maxAgeMs: 0, now: NOON + 1e6 });
        for (const handle of [log, other]) expect((await handle.getSession("s"))?.owner).toBe("alice");
      }));

    test("is `local` by default", () =>
      withLog(store, async ({ log, other }) => {
        expect((await log.createSession("made")).owner).toBe("local");
        await openWriter(log, "acquired");
        expect((await other.getSession("acquired"))?.owner).toBe("local");
        expect((await other.createSession("made", { owner: "local" })).owner).toBe("local");
      }));

    test("is not changed or revealed by creating the session for another owner", () =>
      withLog(store, async ({ log, other }) => {
        const made = await log.createSession("s", { owner: "alice", title: "private" });
        await log.createSession("default");
        const { message, details } = await expectRefusal(
          other.createSession("s", { owner: "bob", title: "other" }),
          "session_exists",
        );
        expect(details).toEqual({ session_id: "s" });
        expect(message).not.toMatch(/alice|bob|private/);
        await expectRefusal(other.createSession("s", { owner: "local" }), "session_exists");
        await expectRefusal(other.createSession("s", { owner: "alice", entries: [] }), "session_exists");
        await expectRefusal(other.createSession("default", { owner: "bob" }), "session_exists");
        expect(await log.getSession("s")).toEqual(made);
        expect(await other.listSessions({ owner: "bob" })).toEqual([]);
      }));

    test("is one of several concurrent creators", () =>
      withLog(store, async ({ log, other }) => {
        const owners = ["alice", "bob", "carol", "dave"];
        const outcomes = await Promise.allSettled(
          owners.map((owner, index) => (index % 2 === 0 ? log : other).createSession("s", { owner })),
        );
        const made = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value.owner] : []));
        expect(made).toEqual([(await other.getSession("s"))?.owner]);
      }));

    test("of a recreated session is its own", () =>
      withLog(store, async ({ log, other }) => {
        await log.createSession("s", { owner: "alice" });
        await log.deleteSession("s");
        expect(await other.listSessions({ owner: "alice" })).toEqual([]);
        expect((await other.createSession("s", { owner: "bob" })).owner).toBe("bob");
        expect(await log.listSessions({ owner: "alice" })).toEqual([]);
      }));

    test.each(casesOf(store, ["", "o".repeat(201), "\ud800", "a\0b", 7, null]))("cannot be %j", (owner) =>
      withLog(store, async ({ log }) => {
        const named = { owner: owner as string };
        await expectRefusal(log.createSession("s", named), "invalid_name");
        await expectRefusal(log.createSession("s", { ...named, entries: [] }), "invalid_name");
        expect(await log.getSession("s")).toBeUndefined();
        // An invalid owner must not select all owners.
        await expectRefusal(log.listSessions(named), "invalid_name");
        await expectRefusal(log.searchSessions({ query: "x", ...named }), "invalid_name");
      }),
    );

    test("may be any other string", () =>
      withLog(store, async ({ log, other }) => {
        const owners = [...ODD_NAMES.filter(({ length }) => length <= 200), "o".repeat(200), "jwt:sub", "LOCAL"];
        for (const [index, owner] of owners.entries()) await log.createSession(`s${index}`, { owner });
        for (const [index, owner] of owners.entries())
          expect(await other.listSessions({ owner })).toMatchObject([{ sessionId: `s${index}`, owner }]);
      }));
  });

  describe("the list of sessions", () => {
    test("by owner ignores other owners, also in pages", () =>
      withLog(store, async ({ log, other }) => {
        const owners = ["alice", "bob", "local"];
        for (let index = 0; index < 20; index++) await log.createSession(`s${index}`, { owner: owners[index % 3]! });
        await log.deleteSession("s3");
        const all = await other.listSessions();
        expect(all).toHaveLength(19);
        for (const owner of owners) {
          const own = all.filter((session) => session.owner === owner);
          expect(await other.listSessions({ owner })).toEqual(own);
          for (const limit of [1, 2, 6]) {
            const found = [...(await other.listSessions({ owner, limit }))];
            for (let more = found; more.length > 0; found.push(...more)) {
              more = [...(await other.listSessions({ owner, limit, after: found.at(-1)!.sessionId }))];
              expect(more.length).toBeLessThanOrEqual(limit);
            }
            expect(found).toEqual(own);
          }
        }
        expect(await other.listSessions({ owner: "missing" })).toEqual([]);
      }));

    test("by owner rejects a cursor of another owner like an unknown one", () =>
      withLog(store, async ({ log, other }) => {
        await log.createSession("alices", { owner: "alice" });
        await log.createSession("bobs", { owner: "bob", title: "x" });
        const ask = [
          (after: string) => other.listSessions({ owner: "bob", after }),
          (after: string) => other.searchSessions({ query: "x", owner: "bob", after }),
        ];
        for (const go of ask) {
          const refusals = await Promise.all(
            ["alices", "none"].map((after) => expectRefusal(go(after), "cursor_invalid")),
          );
          const [alices, none] = refusals.map(({ message, details }) => JSON.stringify([message, details]));
          expect(alices).toBe(none?.replace("none", "alices"));
        }
      }));

    test("is in creation order, newest first, regardless of clock and writes", () =>
      withLog(store, async ({ log, other, clock }) => {
        for (const name of ["m", "a", "z", "k"]) {
          await log.createSession(name);
          clock.now -= 1000;
        }
        await (await openWriter(log, "a")).write(draftRun("r"));
        const names = async () => (await other.listSessions()).map(({ sessionId }) => sessionId);
        expect(await names()).toEqual(["k", "z", "a", "m"]);
        await log.deleteSession("a");
        await log.createSession("a");
        expect(await names()).toEqual(["a", "k", "z", "m"]);
        expect((await other.listSessions())[0]).toEqual(await log.getSession("a"));
      }));

    test("is paged, and rejects a cursor whose session was deleted", () =>
      withLog(store, async ({ log }) => {
        const made = Array.from({ length: 7 }, (_, index) => `s${index}`);
        for (const name of made) await log.createSession(name);
        const found: string[] = [];
        for (let page = await log.listSessions({ limit: 3 }); page.length > 0;) {
          expect(page.length).toBeLessThanOrEqual(3);
          found.push(...page.map(({ sessionId }) => sessionId));
          page = await log.listSessions({ limit: 3, after: found.at(-1)! });
        }
        expect(found).toEqual(made.toReversed());
        await log.deleteSession("s4");
        await expectRefusal(log.listSessions({ after: "s4" }), "cursor_invalid");
      }));
  });
}
