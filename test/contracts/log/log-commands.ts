/** Tests of the inbox: a command is pending once, in order, until the batch that settles it is durable. */
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/protocol/index.ts";
import type { Command, CommandOutcome, Log, Settlement } from "../../../src/log/log.ts";
import {
  casesOf,
  drafts,
  draftRun,
  expectRefusal,
  type LogStore,
  NOON,
  openWriter,
  readAll,
  textsOf,
  withLog,
} from "./log-fixture.ts";

const DONE: CommandOutcome = { code: "done" };

function command(commandId: string, body: JsonObject = {}, sessionId = "s"): Command {
  return { commandId, sessionId, kind: "cancel", body };
}

function settle(...ids: readonly string[]): readonly Settlement[] {
  return ids.map((commandId) => ({ commandId, outcome: DONE }));
}

async function idsOf(log: Log, limit?: number): Promise<readonly string[]> {
  return (await log.listPending("s", limit)).map(({ commandId }) => commandId);
}

export function describeCommands(store: LogStore): void {
  describe("a command", () => {
    test("is pending, and submitting it again returns the same command", () =>
      withLog(store, async ({ log, other, clock }) => {
        await log.createSession("s");
        const body = { run_id: "r", deep: [{ text: "\u2028 👍 \ud800 \0" }], n: 1.5 };
        const state = await log.submit(command("c", body));
        expect(state).toEqual({ ...command("c", body), createdAt: NOON, outcome: undefined });
        clock.now += 1000;
        // The order of fields in the body does not matter.
        const again = { n: 1.5, deep: [{ text: "\u2028 👍 \ud800 \0" }], run_id: "r" };
        expect(await other.submit(command("c", again))).toEqual(state);
        expect(await other.listPending("s")).toEqual([state]);
        expect(await other.getCommand("s", "c")).toEqual(state);
        expect(await other.getCommand("s", "d")).toBeUndefined();
      }));

    test("is found by its ID alone, in the sessions of one owner or of all", () =>
      withLog(store, async ({ log, other, clock }) => {
        for (const [session, owner] of [
          ["a", "ann"],
          ["b", "bob"],
          ["c", "ann"],
          ["d", "ann"],
        ] as const) {
          await log.createSession(session, { owner });
          clock.now += 1000;
          await log.submit(command(session === "d" ? "other" : "same", {}, session));
        }
        expect(await other.listSessionsOfCommand("same")).toEqual(["c", "b", "a"]);
        expect(await other.listSessionsOfCommand("same", "ann")).toEqual(["c", "a"]);
        expect(await other.listSessionsOfCommand("none", "ann")).toEqual([]);
        await log.deleteSession("c");
        expect(await other.listSessionsOfCommand("same", "ann")).toEqual(["a"]);
      }));

    test("conflicts with a command of the same ID and another kind or body", () =>
      withLog(store, async ({ log, other }) => {
        await log.createSession("s");
        await log.submit(command("c", { a: 1 }));
        for (const another of [
          command("c", { a: 2 }),
          command("c", {}),
          command("c", { a: 1, b: null }),
          { ...command("c", { a: 1 }), kind: "approve" as const },
        ])
          await expectRefusal(other.submit(another), "command_conflict");
        expect(await log.listPending("s")).toHaveLength(1);
      }));

    test("belongs to one session", () =>
      withLog(store, async ({ log }) => {
        await log.createSession("s");
        await log.createSession("t");
        await log.submit(command("c", { a: 1 }));
        await log.submit(command("c", { a: 2 }, "t"));
        expect(await log.listPending("s")).toHaveLength(1);
        await expectRefusal(log.submit(command("c", {}, "u")), "unknown_session");
        await expectRefusal(log.getCommand("u", "c"), "unknown_session");
        await expectRefusal(log.listPending("u"), "unknown_session");
      }));

    test("can create its session, once and with its owner and title", () =>
      withLog(store, async ({ log, other }) => {
        const create = { owner: "ann", title: "Apples" };
        const states = await Promise.all([log, other].map((handle) => handle.submit(command("c"), { create })));
        expect(states[0]).toEqual(states[1]);
        expect(await other.getSession("s")).toMatchObject({ owner: "ann", title: "Apples", lastId: 0 });
        expect(await idsOf(other)).toEqual(["c"]);
        expect(await log.searchSessions({ query: "apples" })).toHaveLength(1);
        await log.submit(command("d"), { create: { owner: "ann", title: "Pears" } });
        expect((await other.getSession("s"))?.title).toBe("Apples");
        await log.deleteSession("s");
        await expectRefusal(log.submit(command("c")), "unknown_session");
        expect((await other.submit(command("c"), { create: {} })).outcome).toBeUndefined();
        expect(await log.getSession("s")).toMatchObject({ owner: "local", title: undefined });
      }));

    test("gives its title to a session without one", () =>
      withLog(store, async ({ log, other }) => {
        await log.createSession("s");
        await log.submit(command("c"), { create: { title: "Plums" } });
        await log.submit(command("c"), { create: { title: "Pears" } });
        expect((await other.getSession("s"))?.title).toBe("Plums");
        expect(await other.searchSessions({ query: "plums" })).toHaveLength(1);
      }));

    test("is rejected for a session of another owner, as if it did not exist", () =>
      withLog(store, async ({ log }) => {
        await log.createSession("s", { owner: "ann" });
        const refusal = await expectRefusal(log.submit(command("c"), { owner: "bob" }), "unknown_session");
        const missing = await expectRefusal(log.submit(command("c", {}, "t"), { owner: "bob" }), "unknown_session");
        expect(refusal.message).toBe(missing.message.replace('"t"', '"s"'));
        expect(await log.listPending("s")).toEqual([]);
        expect((await log.getSession("s"))?.title).toBeUndefined();
        await log.submit(command("c"), { owner: "ann" });
        expect(await log.listPending("s")).toHaveLength(1);
      }));

    test("that would create a session whose ID another owner has is rejected", () =>
      withLog(store, async ({ log }) => {
        await log.createSession("s", { owner: "ann" });
        const options = { owner: "bob", create: { owner: "bob", title: "x" } };
        const refusal = await expectRefusal(log.submit(command("c"), options), "session_id_taken");
        expect(refusal.message).toBe('The session ID "s" is taken; choose another ID');
        expect(await log.listPending("s")).toEqual([]);
        expect((await log.getSession("s"))?.title).toBeUndefined();
      }));

    test("that is rejected changes nothing", () =>
      withLog(
        store,
        async ({ log }) => {
          const create = { owner: "ann", title: "x" };
          await expectRefusal(log.submit({ ...command("c"), commandId: "" }, { create }), "invalid_name");
          await expectRefusal(log.submit(command("c"), { create: { owner: "" } }), "invalid_name");
          await expectRefusal(log.submit(command("c"), { create: { title: "x".repeat(1001) } }), "invalid_name");
          await expectRefusal(log.submit(command("c", {}, ""), { create }), "invalid_name");
          expect(await log.listSessions()).toEqual([]);
          await log.createSession("s");
          await log.submit(command("c"));
          await expectRefusal(log.submit(command("c", { a: 1 }), { create }), "command_conflict");
          await expectRefusal(log.submit(command("d"), { create }), "inbox_full");
          expect((await log.getSession("s"))?.title).toBeUndefined();
        },
        { maxPendingCommands: 1 },
      ));

    test("does not change with the object passed in", () =>
      withLog(store, async ({ log }) => {
        await log.createSession("s");
        const body = { a: 1 };
        await log.submit(command("c", body));
        body.a = 2;
        expect((await log.getCommand("s", "c"))?.body).toEqual({ a: 1 });
      }));

    const circular: { [key: string]: unknown } = {};
    circular["self"] = circular;
    const invalid: readonly (readonly [about: string, change: object, code: "invalid_command" | "invalid_name"])[] = [
      ["an empty id", { commandId: "" }, "invalid_name"],
      ["a long id", { commandId: "c".repeat(257) }, "invalid_name"],
      ["a lone surrogate in its id", { commandId: "\udc00" }, "invalid_name"],
      ["an unknown kind", { kind: "destroy" }, "invalid_command"],
      ["no body", { body: undefined }, "invalid_command"],
      ["an array as body", { body: [] }, "invalid_command"],
      ["a circular body", { body: circular }, "invalid_command"],
      ["a body with too many bytes", { body: { a: "é".repeat(50) } }, "invalid_command"],
    ];
    test.each(casesOf(store, invalid))("is rejected with %s", (_, change, code) =>
      withLog(
        store,
        async ({ log }) => {
          await log.createSession("s");
          await expectRefusal(log.submit({ ...command("c"), ...change }), code);
          expect(await log.listPending("s")).toEqual([]);
          await log.submit(command("c", { a: "é".repeat(46) }));
        },
        { maxCommandBytes: 100 },
      ),
    );

    test("is listed in submission order, regardless of its ID and the clock", () =>
      withLog(store, async ({ log, other, clock }) => {
        await log.createSession("s");
        for (const id of ["m", "a", "z", "k"]) {
          await log.submit(command(id));
          clock.now -= 1000;
        }
        expect(await idsOf(other)).toEqual(["m", "a", "z", "k"]);
        expect(await idsOf(other, 2)).toEqual(["m", "a"]);
        await (await openWriter(log, "s")).write([], settle("a"));
        await log.submit(command("b"));
        expect(await idsOf(other)).toEqual(["m", "z", "k", "b"]);
      }));

    test("submitted concurrently is pending once", () =>
      withLog(store, async ({ log, other }) => {
        await log.createSession("s");
        const handles = [log, other, log, other];
        const states = await Promise.all(handles.map((handle) => handle.submit(command("c", { a: 1 }))));
        expect(new Set(states.map(({ createdAt }) => createdAt)).size).toBe(1);
        expect(await log.listPending("s")).toHaveLength(1);
      }));

    test("is rejected if the inbox is full, unless it is already pending", () =>
      withLog(
        store,
        async ({ log }) => {
          const writer = await openWriter(log, "s");
          await log.createSession("t");
          await log.submit(command("a"));
          await log.submit(command("b"));
          await expectRefusal(log.submit(command("c")), "inbox_full");
          expect(await log.getCommand("s", "c")).toBeUndefined();
          await log.submit(command("a"));
          await log.submit(command("c", {}, "t"));
          await writer.write([], settle("b"));
          await log.submit(command("c"));
          await expectRefusal(log.submit(command("d")), "inbox_full");
          await log.submit(command("b"));
        },
        { maxPendingCommands: 2 },
      ));
  });

  describe("a message", () => {
    const message = (commandId: string): Command => ({ ...command(commandId), kind: "enqueue" });

    test("is refused without a trace if the queue is full, and stored later under the same ID", () =>
      withLog(store, async ({ log, other }) => {
        const writer = await openWriter(log, "s");
        const room = { maxQueued: 2 };
        await log.submit(message("a"), room);
        await other.submit(message("b"), room);
        const create = { title: "Title of a refused message" };
        const refusal = await expectRefusal(other.submit(message("c"), { ...room, create }), "queue_full");
        expect(refusal.details).toMatchObject({ limit: 2 });
        expect(await other.getCommand("s", "c")).toBeUndefined();
        expect((await other.getSession("s"))?.title).toBeUndefined();
        // Stored messages and other commands are not affected.
        expect(await other.submit(message("b"), room)).toMatchObject({ commandId: "b", outcome: undefined });
        await other.submit(command("cancel"), room);
        await writer.write([], settle("a"));
        await other.submit(message("c"), room);
        expect(await idsOf(log)).toEqual(["b", "cancel", "c"]);
        await expectRefusal(log.submit(message("d"), { maxQueued: 0, create: {} }), "queue_full");
        await expectRefusal(
          log.submit({ ...message("d"), sessionId: "t" }, { maxQueued: 0, create: {} }),
          "queue_full",
        );
        expect(await log.getSession("t")).toBeUndefined();
      }));

    test("is refused above 100 messages by default, and never takes more than half of the inbox", () =>
      withLog(
        store,
        async ({ log, other }) => {
          await log.createSession("s");
          await Promise.all(Array.from({ length: 100 }, (_, n) => log.submit(message(`m${n}`))));
          await expectRefusal(log.submit(message("x")), "queue_full");
          await Promise.all(Array.from({ length: 10 }, (_, n) => log.submit(message(`n${n}`), { maxQueued: 1000 })));
          const refusal = await expectRefusal(other.submit(message("x"), { maxQueued: 1000 }), "queue_full");
          expect(refusal.details).toMatchObject({ limit: 110 });
          for (let n = 0; n < 110; n++) await other.submit(command(`c${n}`));
          await expectRefusal(log.submit(command("x")), "inbox_full");
        },
        { maxPendingCommands: 220 },
      ));

    test("with `onlyIfIdle` is refused while a run is live or a message is pending", () =>
      withLog(store, async ({ log, other }) => {
        const onlyIfIdle = true;
        const writer = await openWriter(log, "s");
        await writer.write([draftRun("r")[0]!]);
        const live = await expectRefusal(other.submit(message("a"), { onlyIfIdle }), "run_live");
        expect(live.details).toMatchObject({ run_id: "r" });
        await other.submit(command("c"), { onlyIfIdle });
        await writer.write(draftRun("r").slice(1));
        await other.submit(message("a"), { onlyIfIdle });
        expect(await log.submit(message("a"), { onlyIfIdle })).toMatchObject({ commandId: "a" });
        await expectRefusal(log.submit(message("b"), { onlyIfIdle }), "run_live");
        expect(await log.getCommand("s", "b")).toBeUndefined();
        await writer.write([], settle("a"));
        await log.submit(message("b"), { onlyIfIdle });
      }));

    test("with `onlyIfIdle` is accepted once of many submitted concurrently", () =>
      withLog(store, async ({ log, other }) => {
        for (let round = 0; round < 20; round++) {
          const sessionId = `s${round}`;
          const ask = (handle: Log, n: number) =>
            handle.submit({ ...message(`m${n}`), sessionId }, { onlyIfIdle: true, create: {} });
          const answers = await Promise.allSettled([log, other, log, other].map(ask));
          expect(answers.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
          expect(await log.listPending(sessionId)).toHaveLength(1);
        }
      }));

    test("is stored together with its interrupt, or neither is", () =>
      withLog(
        store,
        async ({ log, other }) => {
          const writer = await openWriter(log, "s");
          const interrupt = command("i", { run_id: "r" });
          await log.submit(message("a"), { interrupt });
          expect(await idsOf(other)).toEqual(["i", "a"]);
          // A repeated message does not interrupt again.
          await other.submit(message("a"), { interrupt: command("j") });
          await expectRefusal(other.submit(message("b"), { maxQueued: 1, interrupt: command("j") }), "queue_full");
          await expectRefusal(other.submit(message("b"), { onlyIfIdle: true, interrupt: command("j") }), "run_live");
          await expectRefusal(other.submit(message("b"), { interrupt: command("i") }), "command_conflict");
          await expectRefusal(other.submit(message("b"), { interrupt: command("b") }), "invalid_command");
          await expectRefusal(other.submit(message("b"), { interrupt: command("j", {}, "t") }), "invalid_command");
          await log.submit(command("k"));
          await expectRefusal(other.submit(message("b"), { interrupt: command("j") }), "inbox_full");
          expect(await idsOf(log)).toEqual(["i", "a", "k"]);
          await writer.write([], settle("i"));
          await other.submit(message("b"), { interrupt: command("j") });
          expect(await idsOf(log)).toEqual(["a", "k", "j", "b"]);
        },
        { maxPendingCommands: 4 },
      ));
  });

  describe("settling", () => {
    test("stores the outcome together with the batch", () =>
      withLog(store, async ({ log, other }) => {
        const writer = await openWriter(log, "s");
        await other.submit(command("a"));
        await other.submit(command("b"));
        const outcome: CommandOutcome = { code: "done", message: "ok 👍", eventId: 4, details: { n: [1, null] } };
        const refused: CommandOutcome = { code: "unknown_call" };
        await writer.write(draftRun("r"), [
          { commandId: "b", outcome },
          { commandId: "a", outcome: refused },
        ]);
        expect(await other.listPending("s")).toEqual([]);
        expect(await other.getCommand("s", "b")).toEqual({ ...command("b"), createdAt: NOON, outcome });
        expect((await other.getCommand("s", "a"))?.outcome).toEqual(refused);
        // Submitting it again returns the outcome.
        expect((await other.submit(command("b"))).outcome).toEqual(outcome);
        await expectRefusal(other.submit(command("b", { other: 1 })), "command_conflict");
      }));

    test("needs no records", () =>
      withLog(store, async ({ log }) => {
        const writer = await openWriter(log, "s");
        await log.submit(command("a"));
        await writer.write([], settle("a"));
        expect(writer.lastId).toBe(0);
        expect((await log.getCommand("s", "a"))?.outcome).toEqual(DONE);
      }));

    test.each(
      casesOf(store, [
        ["is already settled", ["a"]],
        ["does not exist", ["missing"]],
        ["is listed twice", ["b", "b"]],
        ["is already settled, next to a pending one", ["b", "a"]],
        ["does not exist, next to a pending one", ["b", "missing"]],
      ]),
    )("is rejected for a command that %s, and writes neither records nor outcomes", (_, ids) =>
      withLog(store, async ({ log }) => {
        const writer = await openWriter(log, "s");
        await log.submit(command("a"));
        await log.submit(command("b"));
        const kept = await writer.write([drafts.note("kept")], settle("a"));
        const outcome: CommandOutcome = { code: "already_answered" };
        const again = ids.map((commandId) => ({ commandId, outcome }));
        await expectRefusal(writer.write(draftRun("r"), again), "command_settled");
        await expectRefusal(writer.write([], again), "command_settled");
        expect(await readAll(log, "s")).toEqual(textsOf(kept));
        expect(await log.listRuns("s")).toEqual([]);
        expect(await idsOf(log)).toEqual(["b"]);
        expect((await log.getCommand("s", "a"))?.outcome).toEqual(DONE);
      }),
    );

    test("does not happen in a rejected batch", () =>
      withLog(store, async ({ log, other }) => {
        const writer = await openWriter(log, "s");
        await log.submit(command("a"));
        await writer.write(draftRun("r"));
        const batch = { sessionId: "s", entries: [], settle: settle("a") };
        await expectRefusal(log.append({ ...batch, epoch: writer.lease.epoch, expectedLastId: 9 }), "conflict");
        await openWriter(other, "s");
        await expectRefusal(log.append({ ...batch, epoch: writer.lease.epoch, expectedLastId: 4 }), "fenced");
        expect(await idsOf(log)).toEqual(["a"]);
      }));

    test("happens once if the batch is retried", () =>
      withLog(store, async ({ log }) => {
        const writer = await openWriter(log, "s");
        await log.submit(command("a"));
        await log.submit(command("b"));
        const entries = await writer.write([drafts.note("x")], settle("a"));
        const batch = { sessionId: "s", epoch: writer.lease.epoch, expectedLastId: 0, entries, settle: settle("a") };
        expect(await log.append(batch)).toEqual({ lastId: 1 });
        await writer.write([drafts.note("y")]);
        expect(await log.append(batch)).toEqual({ lastId: 1 });
        // A batch with more or other settlements is not a retry.
        await expectRefusal(log.append({ ...batch, settle: settle("a", "b") }), "conflict");
        const otherwise = [{ commandId: "a", outcome: { code: "cancelled" } }] as const;
        await expectRefusal(log.append({ ...batch, settle: otherwise }), "conflict");
        expect(await readAll(log, "s")).toHaveLength(2);
        expect(await idsOf(log)).toEqual(["b"]);
      }));

    test("without records happens once if it is retried", () =>
      withLog(store, async ({ log }) => {
        const writer = await openWriter(log, "s");
        await log.submit(command("a"));
        await log.submit(command("b"));
        const batch = {
          sessionId: "s",
          epoch: writer.lease.epoch,
          expectedLastId: 0,
          entries: [],
          settle: settle("a"),
        };
        expect(await log.append(batch)).toEqual({ lastId: 0 });
        expect(await log.append(batch)).toEqual({ lastId: 0 });
        await expectRefusal(log.append({ ...batch, settle: settle("a", "b") }), "command_settled");
        await writer.write([drafts.note("x")]);
        expect(await log.append(batch)).toEqual({ lastId: 0 });
        expect(await idsOf(log)).toEqual(["b"]);
      }));

    test("does not change with the outcome object passed in", () =>
      withLog(store, async ({ log }) => {
        const writer = await openWriter(log, "s");
        await log.submit(command("a"));
        const details = { n: 1 };
        await writer.write([], [{ commandId: "a", outcome: { code: "done", details } }]);
        details.n = 2;
        expect((await log.getCommand("s", "a"))?.outcome).toEqual({ code: "done", details: { n: 1 } });
      }));
  });
}
