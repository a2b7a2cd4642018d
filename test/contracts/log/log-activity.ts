/** Tests of the list of sessions with open work: live runs, approvals and queued messages. */
import { describe, expect, test } from "vitest";
import type { ActiveSession, Command, Log } from "../../../src/log/log.ts";
import { draftRun, drafts, expectRefusal, type LogStore, makeEntries, openWriter, withLog } from "./log-fixture.ts";

function message(sessionId: string, commandId: string): Command {
  return { commandId, sessionId, kind: "enqueue", body: { run_id: `run ${commandId}`, message: "hello" } };
}

/** Names what is open in each session, in the order of the list. */
function summarize(list: readonly ActiveSession[]): readonly string[] {
  return list.map(({ sessionId, liveRuns, approvals, queued }) => {
    const names = [liveRuns.map(({ runId }) => runId), approvals.map(({ key }) => key), queued.map((c) => c.commandId)];
    return `${sessionId}: ${names.map((part) => part.join(",")).join(" | ")}`;
  });
}

export function describeActivity(store: LogStore): void {
  const list = async (log: Log, options = {}): Promise<readonly string[]> =>
    summarize(await log.listActiveSessions(options));

  describe("active sessions", () => {
    test("are those with a live run or a queued message, newest first", () =>
      withLog(store, async ({ log, other }) => {
        await (await openWriter(log, "idle")).write(draftRun("old"));
        await log.createSession("empty");
        await log.submit({ commandId: "c", sessionId: "empty", kind: "cancel", body: {} });
        const live = await openWriter(log, "live");
        await live.write([...draftRun("first"), drafts.start("second"), drafts.chunk("second")]);
        await log.submit(message("waiting", "m1"), { create: {} });
        await log.submit(message("waiting", "m2"));
        for (const handle of [log, other]) {
          expect(await list(handle)).toEqual(["waiting:  |  | m1,m2", "live: second |  | "]);
          expect(await list(handle, { isWaiting: true })).toEqual([]);
        }
        const [, found] = await other.listActiveSessions();
        expect(found).toMatchObject({
          ...(await log.getSession("live")),
          liveRuns: [await log.getRun("live", "second")],
        });
        await live.write([drafts.end("second", "cancelled")]);
        await log.deleteSession("waiting");
        expect(await list(other)).toEqual([]);
      }));

    test("have the approvals that are not answered, also if both are written together", () =>
      withLog(store, async ({ log, other }) => {
        const writer = await openWriter(log, "s");
        await writer.write([drafts.start("r"), drafts.ask("a", "r"), drafts.ask("b", "r"), drafts.ask("c", "r")]);
        expect(await list(other)).toEqual(["s: r | a,b,c | "]);
        expect((await other.listActiveSessions({ isWaiting: true }))[0]?.approvals[1]).toEqual({
          kind: "tool_approval",
          key: "b",
          eventId: 3,
          runId: "r",
        });
        await writer.write([drafts.answer("b", "r"), drafts.ask("d", "r"), drafts.answer("d", "r")]);
        expect(await list(other)).toEqual(["s: r | a,c | "]);
        // A call that is asked again after its answer waits.
        await writer.write([drafts.answer("a", "r"), drafts.ask("a", "r")]);
        expect(await list(other, { isWaiting: true })).toEqual(["s: r | c,a | "]);
        // Other writers may end a run without the answers.
        await writer.write([drafts.end("r", "error", "x"), drafts.start("next")]);
        expect(await list(other)).toEqual(["s: next |  | "]);
        expect(await list(other, { isWaiting: true })).toEqual([]);
        await log.createSession("copy", {
          entries: makeEntries("copy", 0, [
            drafts.start("r"),
            drafts.ask("a", "r"),
            drafts.ask("b", "r"),
            drafts.answer("a", "r"),
          ]),
        });
        expect(await list(other, { isWaiting: true })).toEqual(["copy: r | b | "]);
      }));

    test("are listed for one owner, and in pages", () =>
      withLog(store, async ({ log, other }) => {
        for (const [sessionId, owner] of [
          ["a", "ann"],
          ["b", "bob"],
          ["c", "ann"],
          ["d", "ann"],
        ] as const)
          await log.submit(message(sessionId, "m"), { create: { owner } });
        await log.createSession("z", { owner: "ann" });
        expect(await list(other, { owner: "ann" })).toEqual(["d:  |  | m", "c:  |  | m", "a:  |  | m"]);
        expect(await list(other, { owner: "bob" })).toEqual(["b:  |  | m"]);
        expect(await list(other, { owner: "carl" })).toEqual([]);
        expect(await list(other, { owner: "ann", limit: 2 })).toEqual(["d:  |  | m", "c:  |  | m"]);
        expect(await list(other, { owner: "ann", limit: 2, after: "c" })).toEqual(["a:  |  | m"]);
        // The list continues after a session that is idle by now.
        expect(await list(other, { owner: "ann", after: "z", limit: 1 })).toEqual(["d:  |  | m"]);
        await expectRefusal(other.listActiveSessions({ owner: "ann", after: "b" }), "cursor_invalid");
        await expectRefusal(other.listActiveSessions({ after: "none" }), "cursor_invalid");
      }));
  });
}
