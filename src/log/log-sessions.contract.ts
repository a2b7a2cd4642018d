/** Sessions: made once, listed in the order of their making, renamed, deleted for good. */
import { describe, expect, test } from "vitest";
import {
  drafts,
  draftRun,
  expectRefusal,
  type LogStore,
  NOON,
  openWriter,
  readAll,
  textsOf,
  withLog,
} from "./log-trial.contract.ts";

/** Names that differ for us, and not for everybody. */
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
  "'; DROP TABLE sessions; --",
  "__proto__",
  "constructor",
  "1",
  "01",
  "null",
  "a\nb",
  "\u2028",
  "👍".repeat(128),
  "n".repeat(256),
];

export function describeSessions(store: LogStore): void {
  describe("a session", () => {
    test("is made once, by whoever comes first", () =>
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

    test("is made once when many make it at once", () =>
      withLog(store, async ({ log, other }) => {
        const made = await Promise.all([log, other, log, other].map((handle) => handle.createSession("s")));
        expect(new Set(made.map(({ incarnation }) => incarnation)).size).toBe(1);
      }));

    test.each(["", "n".repeat(257), "\ud800", "a\udc00b", "a\0b"])("cannot be named %j", (name) =>
      withLog(store, async ({ log }) => {
        await expectRefusal(log.createSession(name), "invalid_name");
        await expectRefusal(log.acquire(name, { holder: "h", ttlMs: 1 }), "invalid_name");
        expect(await log.getSession(name)).toBeUndefined();
        expect(await log.deleteSession(name)).toBe(false);
        await expectRefusal(log.read(name, { after: 0 }), "unknown_session");
        expect(await log.listSessions()).toEqual([]);
      }),
    );

    test("may have any other name, and is then told apart from all", () =>
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

    test.each([0, -1, 1.5, Number.NaN, 2 ** 53, Number.POSITIVE_INFINITY])("cannot begin at %d", (firstId) =>
      withLog(store, async ({ log }) => {
        await expectRefusal(log.createSession("s", { firstId }), "conflict");
        expect(await log.getSession("s")).toBeUndefined();
      }),
    );

    test("was touched when it was made, and when a run of it began or ended", () =>
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
        await log.renameSession("s", "title");
        expect(await touched()).toBe(800);
      }));

    test("can be renamed", () =>
      withLog(store, async ({ log, other }) => {
        const made = await log.createSession("s");
        expect(made.title).toBeUndefined();
        for (const title of ["first", "", "再见 👋\n'\""]) {
          expect(await log.renameSession("s", title)).toEqual({ ...made, title });
          expect(await other.getSession("s")).toEqual({ ...made, title });
        }
        await expectRefusal(log.renameSession("t", "x"), "unknown_session");
        await expectRefusal(log.renameSession("t", "x", { onlyUntitled: true }), "unknown_session");
        expect((await log.renameSession("s", "another", { onlyUntitled: true })).title).not.toBe("another");
        await log.createSession("untitled");
        for (let i = 0; i < 2; i++)
          expect((await log.renameSession("untitled", `title ${i}`, { onlyUntitled: true })).title).toBe("title 0");
      }));

    test("that is deleted is gone with all it had", () =>
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
          const calls: readonly Promise<unknown>[] = [
            handle.read("s", { after: 0 }),
            handle.getRun("s", "r"),
            handle.listRuns("s"),
            handle.findFoldStart("s", 1),
            handle.getLandmark("s", "todo_list", "list"),
            handle.listLandmarks("s", "todo_list"),
            handle.getCommand("s", "c"),
            handle.listPending("s"),
            handle.submit({ commandId: "c", sessionId: "s", kind: "cancel", body: {} }),
            handle.renameSession("s", "x"),
          ];
          for (const call of calls) await expectRefusal(call, "unknown_session");
        }
      }));

    test("made anew under an old name is another: it begins at 1 and has nothing of the old one", () =>
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
  });

  describe("the list of sessions", () => {
    test("is in the order of their making, newest first, whatever the clock and the writers do", () =>
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

    test("comes in pages, and not after a session that is no longer there", () =>
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
