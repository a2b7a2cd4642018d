/** Tests of the limit of live and queued runs of a principal, which a submit checks over all sessions and processes. */
import { describe, expect, test } from "vitest";
import type { AnyEvent } from "../../../src/protocol/index.ts";
import type { Command, Log, Settlement, SubmitOptions } from "../../../src/log/log.ts";
import { createEntry } from "../../../src/log/entry.ts";
import { markForeign } from "../../../src/log/foreign-mark.ts";
import {
  drafts,
  expectRefusal,
  type LogStore,
  makeEntries,
  openWriter,
  type RecordDraft,
  withLog,
} from "./log-fixture.ts";

const ANN = "token:ann\\";
const limitOf = (maxRuns: number, actor = ANN) => ({ actor, maxRuns });

function message(sessionId: string, commandId: string, actor = ANN): Command {
  return { commandId, sessionId, kind: "enqueue", body: { message: "Hi", run_id: `run ${commandId}`, actor } };
}

function send(log: Log, sessionId: string, commandId: string, maxRuns: number, options: SubmitOptions = {}) {
  return log.submit(message(sessionId, commandId), { create: {}, runLimit: limitOf(maxRuns), ...options });
}

function start(run: string, actor = ANN): RecordDraft {
  const event: AnyEvent = { type: "run_start", run_id: run, message: "Hi", actor };
  return { event, run, ts: undefined };
}

const settle = (commandId: string, code: Settlement["outcome"]["code"] = "done"): readonly Settlement[] => [
  { commandId, outcome: { code } },
];

export function describeRunLimit(store: LogStore): void {
  describe("the limit of runs of a principal", () => {
    test("counts its messages in all sessions, and a refused one leaves no trace", () =>
      withLog(store, async ({ log, other }) => {
        await send(log, "a", "1", 2);
        await send(other, "b", "2", 2, { runLimit: undefined });
        const error = await expectRefusal(send(other, "c", "3", 2, { create: { title: "Pears" } }), "too_many_runs");
        expect(error.message).toBe("Run limit reached: 2 runs are live or queued; wait until one ends");
        expect(error.details).toEqual({ limit: 2 });
        expect(await log.getSession("c")).toBeUndefined();
        const interrupt: Command = { commandId: "stop", sessionId: "a", kind: "cancel", body: {} };
        await expectRefusal(send(log, "a", "3", 2, { create: { title: "Pears" }, interrupt }), "too_many_runs");
        expect((await log.getSession("a"))?.title).toBeUndefined();
        expect((await log.listPending("a")).map(({ commandId }) => commandId)).toEqual(["1"]);
        await expectRefusal(send(log, "c", "3", 0), "too_many_runs");
        // Other principals have their own limit, and without one nothing is refused.
        await log.submit(message("c", "3", "token:bob"), { create: {}, runLimit: limitOf(1, "token:bob") });
        await log.submit(message("c", "4"), {});
        await send(log, "d", "5", 4);
      }));

    test("does not refuse or count a repeated message, and no other command", () =>
      withLog(store, async ({ log, other }) => {
        await send(log, "a", "1", 1);
        for (const handle of [log, other])
          expect(await send(handle, "a", "1", 1)).toMatchObject({ commandId: "1", outcome: undefined });
        const others = ["approve", "cancel", "tool_result", "permission", "feedback", "toggle"] as const;
        for (const kind of others)
          await log.submit(
            { commandId: kind, sessionId: "a", kind, body: { actor: ANN, run_id: "r" } },
            { runLimit: limitOf(0) },
          );
        await send(log, "b", "2", 2);
        await expectRefusal(send(log, "b", "3", 2), "too_many_runs");
        await (await openWriter(log, "a")).write([drafts.note("over")], settle("1"));
        // Also if its run has ended, and there is no room.
        await send(log, "c", "4", 2);
        expect(await send(other, "a", "1", 2)).toMatchObject({ outcome: { code: "done" } });
      }));

    test("counts a message and its run once, until the run ends", () =>
      withLog(store, async ({ log, other, clock }) => {
        await send(log, "a", "1", 2);
        const writer = await openWriter(log, "a");
        await writer.write([start("run 1")], settle("1"));
        await send(other, "b", "2", 2);
        await expectRefusal(send(other, "c", "3", 2), "too_many_runs");
        // Its process died: it counts until another one ends it.
        clock.now += 3_600_000;
        await expectRefusal(send(other, "c", "3", 2), "too_many_runs");
        const next = await openWriter(other, "a");
        await next.write([drafts.end("run 1", "error", "interrupted"), drafts.reply("run 1")]);
        await send(log, "c", "3", 2);
        await expectRefusal(send(log, "c", "4", 2), "too_many_runs");
      }));

    test("does not count cancelled messages and deleted sessions", () =>
      withLog(store, async ({ log, other }) => {
        for (const id of ["1", "2", "3"]) await send(log, id, id, 3);
        await expectRefusal(send(other, "4", "4", 3), "too_many_runs");
        await (await openWriter(log, "1")).write([drafts.note("withdrawn")], settle("1", "cancelled"));
        await (await openWriter(log, "2")).write([start("run 2")], settle("2"));
        await send(other, "4", "4", 3);
        for (const id of ["2", "3"]) {
          await expectRefusal(send(other, "5", id, 3), "too_many_runs");
          await log.deleteSession(id);
          await send(other, "5", id, 3);
        }
      }));

    test("counts a run that continues in a fork, but not one of another program", () =>
      withLog(store, async ({ log, other }) => {
        const copy = (sessionId: string, maxRuns: number, handle = log) =>
          handle.createSession(sessionId, {
            entries: makeEntries(sessionId, 0, [start("r")]),
            runLimit: limitOf(maxRuns),
          });
        await copy("a", 1);
        await expectRefusal(copy("b", 1, other), "too_many_runs");
        expect(await other.getSession("b")).toBeUndefined();
        await expectRefusal(copy("a", 1), "session_exists");
        await expectRefusal(send(other, "b", "1", 1), "too_many_runs");
        await copy("b", 2, other);
        const ext = markForeign(undefined);
        const envelope = { session_id: "c", run_id: "foreign", event_id: 1, ts: 1, ext };
        await log.createSession("c", { entries: [createEntry({ envelope, event: start("foreign").event })] });
        await send(other, "c", "1", 3);
        await expectRefusal(send(other, "c", "2", 3), "too_many_runs");
      }));

    test("admits exactly as many of parallel messages", () =>
      withLog(store, async ({ log, other }) => {
        for (const name of ["s0", "s1", "s2"]) await log.createSession(name);
        const sent = Array.from({ length: 12 }, (_, n) => send([log, other][n % 2]!, `s${n}`, "m", 5));
        const outcomes = await Promise.allSettled(sent);
        expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(5);
        expect(await log.listActiveSessions()).toHaveLength(5);
      }));

    test("is of a principal with a valid ID", () =>
      withLog(store, async ({ log }) => {
        for (const actor of ["", "x".repeat(257), "\ud800"]) {
          const runLimit = limitOf(1, actor);
          await expectRefusal(log.submit(message("a", "1"), { create: {}, runLimit }), "invalid_name");
          await expectRefusal(log.createSession("a", { entries: [], runLimit }), "invalid_name");
        }
        // What another program wrote as the actor is never too long for an index.
        for (const actor of ["x".repeat(60_000), "潮".repeat(256), "a\0b"]) {
          const name = `of ${actor.length}`;
          await log.submit(message(name, "1", actor), { create: {} });
          await (await openWriter(log, name)).write([start("r", actor)]);
        }
        const runLimit = limitOf(3, "潮".repeat(256));
        await log.submit(message("a", "1", runLimit.actor), { create: {}, runLimit });
        await expectRefusal(log.submit(message("a", "2", runLimit.actor), { runLimit }), "too_many_runs");
      }));
  });
}
