// Changes of the log in PostgreSQL whose transaction is committed and then repeated, because its answer was lost.
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { NO_POSTGRES, type PostgresServer, startPostgres } from "../../../test/postgres-server.ts";
import { openPostgres, type PostgresDatabase } from "../../postgres/postgres-database.ts";
import { drafts, makeEntries } from "../../../test/contracts/log/log-fixture.ts";
import type { Command, Lease, Log } from "../log.ts";
import { openPostgresLog } from "./postgres-log.ts";

const entries = makeEntries("s", 0, [drafts.start("run"), drafts.note("text", "run")]);
const command: Command = { commandId: "c", sessionId: "s", kind: "enqueue", body: { text: "hi" } };
const interrupt: Command = { commandId: "i", sessionId: "s", kind: "cancel", body: {} };
const outcome = { code: "done" } as const;

interface RepeatedChange {
  readonly about: string;
  /** What comes before; not repeated. */
  readonly prepare?: (log: Log, lease: Lease) => Promise<unknown>;
  readonly change: (log: Log, lease: Lease) => Promise<unknown>;
}

const CHANGES: readonly RepeatedChange[] = [
  { about: "an append", change: (log, { epoch }) => log.append({ sessionId: "s", epoch, expectedLastId: 0, entries }) },
  {
    about: "an append that settles a command",
    prepare: (log) => log.submit(command),
    change: (log, { epoch }) => {
      const settle = [{ commandId: "c", outcome }];
      return log.append({ sessionId: "s", epoch, expectedLastId: 0, entries, settle });
    },
  },
  { about: "a command with an interrupt", change: (log) => log.submit(command, { interrupt, maxQueued: 1 }) },
  {
    about: "a command that creates its session",
    change: (log) => log.submit({ ...command, sessionId: "new" }, { create: { title: "title" }, onlyIfIdle: true }),
  },
  {
    about: "a message at the limit of its principal",
    change: (log) => {
      const body = { text: "hi", actor: "token:a" };
      return log.submit({ ...command, body }, { runLimit: { actor: "token:a", maxRuns: 1 } });
    },
  },
  { about: "a new session", change: (log) => log.createSession("new", { title: "title", isPinned: true }) },
  { about: "a new session with records", change: (log) => log.createSession("copy", { entries: copyOf("copy") }) },
  { about: "a changed title", change: (log) => log.updateSession("s", { title: "title" }, {}) },
  { about: "a deletion", change: (log, { epoch }) => log.deleteSession("s", { epoch }) },
  {
    about: "a lease of a session that was handed over",
    prepare: (log, lease) => log.release(lease, { handsOver: true }),
    change: async (log) => {
      const { wasHandedOver, lastId, liveRuns } = await log.acquire("s", { holder: "next", ttlMs: 60_000 });
      return { wasHandedOver, lastId, liveRuns };
    },
  },
];

function copyOf(sessionId: string) {
  return makeEntries(sessionId, 0, [drafts.start("run"), drafts.note("text", "run")]);
}

/** Returns the sessions and what they have, without random and increasing numbers. */
async function describeAll(log: Log): Promise<unknown> {
  const sessions = await log.listSessions();
  const parts = sessions.map(async ({ incarnation: _incarnation, epoch: _epoch, ...info }) => ({
    ...info,
    texts: (await log.read(info.sessionId, { after: 0 })).texts,
    runs: await log.listRuns(info.sessionId),
    pending: await log.listPending(info.sessionId),
    command: await log.getCommand(info.sessionId, "c"),
  }));
  return Promise.all(parts);
}

describe.skipIf(NO_POSTGRES !== undefined)("a transaction that is repeated", () => {
  let server: PostgresServer;
  let db: PostgresDatabase;
  let log: Log;
  let isRepeating = false;

  beforeAll(async () => {
    server = await startPostgres();
    db = await openPostgres(server.url, { schema: "repeated", maxConnections: 4 });
    const transact = db.transact.bind(db);
    // The first transaction is committed, and its answer ignored.
    vi.spyOn(db, "transact").mockImplementation(async (work, options) => {
      if (isRepeating) await transact(work, options);
      return transact((transaction) => work({ ...transaction, attempt: isRepeating ? 1 : 0 }), options);
    });
    log = await openPostgresLog(db, { now: () => 1_700_000_000_000 });
  });
  afterAll(async () => {
    await log.close();
    await db.close();
    await server.stop();
  });

  test.each(CHANGES)("gives the same answer and leaves the same state: $about", async ({ prepare, change }) => {
    const run = async (isRepeated: boolean): Promise<unknown> => {
      for (const { sessionId } of await log.listSessions()) await log.deleteSession(sessionId);
      const lease = await log.acquire("s", { holder: "first", ttlMs: 60_000 });
      await prepare?.(log, lease);
      isRepeating = isRepeated;
      const answer = await change(log, lease).finally(() => (isRepeating = false));
      const { incarnation: _incarnation, epoch: _epoch, ...rest } = Object(answer) as Record<string, unknown>;
      return { answer: typeof answer === "object" ? rest : answer, state: await describeAll(log) };
    };
    const once = await run(false);
    expect(await run(true)).toEqual(once);
  });
});
