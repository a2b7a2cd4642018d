/**
 * Tests of rejected changes: a store may write several changes in one transaction, and one that it rejects changes nothing
 * and does not affect the others.
 */
import { describe, expect, test } from "vitest";
import type { ErrorCode } from "../../../src/protocol/index.ts";
import type { Command, Lease, Log, LogEntry } from "../../../src/log/log.ts";
import { casesOf, drafts, expectRefusal, type LogStore, makeEntries, openWriter, withLog } from "./log-fixture.ts";

const LIMITS = { maxPendingCommands: 4, maxOwnerSessions: 3, maxOwnerBlobs: 2 };

interface RejectedChange {
  readonly about: string;
  readonly code: ErrorCode;
  /** `after` is the last record when the change is applied. */
  readonly change: (log: Log, lease: Lease, after: number) => Promise<unknown>;
}

function command(commandId: string, kind: Command["kind"] = "cancel"): Command {
  return { commandId, sessionId: "s", kind, body: {} };
}

const CHANGES: readonly RejectedChange[] = [
  {
    about: "an append that settles a command twice",
    code: "command_settled",
    change: (log, { epoch }, after) => {
      const outcome = { code: "done" } as const;
      const settle = [
        { commandId: "pending", outcome },
        { commandId: "pending", outcome },
      ];
      const entries = makeEntries("s", after, [drafts.start("rejected"), drafts.note("rejected")]);
      return log.append({ sessionId: "s", epoch, expectedLastId: after, entries, settle });
    },
  },
  {
    about: "an append after the wrong record",
    code: "conflict",
    change: (log, { epoch }, after) => {
      const entries = makeEntries("s", after + 1, [drafts.start("rejected")]);
      return log.append({ sessionId: "s", epoch, expectedLastId: after + 1, entries });
    },
  },
  {
    about: "a message without room, with an interrupt and a title",
    code: "queue_full",
    change: (log) => {
      const options = { interrupt: command("interrupt"), create: { title: "rejected" }, maxQueued: 0 };
      return log.submit(command("message", "enqueue"), options);
    },
  },
  {
    about: "a message beyond the limit of its principal, with an interrupt and a title",
    code: "too_many_runs",
    change: (log) => {
      const runLimit = { actor: "token:a", maxRuns: 0 };
      const options = { interrupt: command("interrupt"), create: { title: "rejected" }, runLimit };
      return log.submit(command("message", "enqueue"), options);
    },
  },
  {
    about: "a command whose ID was used for another one",
    code: "command_conflict",
    change: (log) => log.submit(command("pending", "toggle"), { create: { title: "rejected" } }),
  },
  {
    about: "a command that would create a session without room for it",
    code: "quota_exceeded",
    change: (log) => log.submit({ ...command("c"), sessionId: "third" }, { create: { title: "rejected" } }),
  },
  {
    about: "a lease of a session that another writer holds",
    code: "lease_held",
    change: (log) => log.acquire("s", { holder: "rejected", ttlMs: 1000 }),
  },
  {
    about: "a renewal of an old epoch",
    code: "fenced",
    change: (log, lease) => log.renew({ ...lease, epoch: lease.epoch - 1 }, 1000),
  },
  {
    about: "a deletion by an old epoch",
    code: "fenced",
    change: (log, lease) => log.deleteSession("s", { epoch: lease.epoch - 1 }),
  },
  {
    about: "a session that exists with another owner",
    code: "session_exists",
    change: (log) => log.createSession("s", { owner: "other", title: "rejected", isPinned: true }),
  },
  {
    about: "more blobs than the quota",
    code: "quota_exceeded",
    change: (log) => log.setBlobUsage("s", { blobs: 3, bytes: 3 }),
  },
];

/** Returns everything that the log has, without the records. */
async function describeState(log: Log): Promise<unknown> {
  const sessions = await log.listSessions();
  const parts = sessions.map(async ({ sessionId, lastId: _lastId, bytes: _bytes, ...info }) => ({
    ...info,
    sessionId,
    runs: await log.listRuns(sessionId),
    pending: await log.listPending(sessionId),
  }));
  return Promise.all(parts);
}

export function describeRejections(store: LogStore): void {
  describe("rejected changes", () => {
    test.each(casesOf(store, CHANGES))("between two appends, $about changes nothing", ({ code, change }) =>
      withLog(
        store,
        async ({ log }) => {
          await log.createSession("other");
          const { lease } = await openWriter(log, "s");
          await log.createSession("last");
          await log.submit(command("pending"));
          const before = await describeState(log);
          const [first = [], second = []] = [0, 1].map((after) => makeEntries("s", after, [drafts.note("kept")]));
          const append = async (after: number, entries: readonly LogEntry[]): Promise<unknown> =>
            log.append({ sessionId: "s", epoch: lease.epoch, expectedLastId: after, entries });
          // All in one turn of the event loop, so that one transaction has them all.
          const changes = [append(0, first), expectRefusal(change(log, lease, 1), code), append(1, second)];
          expect(await Promise.all(changes)).toMatchObject([{ lastId: 1 }, { code }, { lastId: 2 }]);
          expect(await describeState(log)).toEqual(before);
          expect((await log.read("s", { after: 0 })).texts).toEqual([...first, ...second].map(({ text }) => text));
        },
        LIMITS,
      ),
    );
  });
}
