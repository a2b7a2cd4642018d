/**
 * A new process takes over a session whose holder died: it takes the lease, reads the live run of 1,000 records, and
 * continues it. The limit parses the texts of as many records. For PostgreSQL, the time of the server does not count.
 */
import { setTimeout as pause } from "node:timers/promises";
import { join } from "node:path";
import { openSession } from "../../src/engine/index.ts";
import { createEntry } from "../../src/log/entry.ts";
import { type Log, openPostgresLog, openSqliteLog } from "../../src/log/index.ts";
import type { AnyEvent } from "../../src/protocol/index.ts";
import { startPostgres } from "../../test/postgres-server.ts";
import type { Benchmark, Prepare, Row, Spent } from "../benchmark.ts";
import { createFolder } from "../create-folder.ts";
import { createRecords, START } from "../records.ts";

const RECORDS = 1000;

/** A live run with a checkpoint at its end. */
const EVENTS: readonly AnyEvent[] = [
  ...START,
  ...Array.from({ length: RECORDS - 4 }, (_, index) => ({
    type: "message_chunk" as const,
    content: `word${index % 100} `,
    id: "think",
  })),
  { type: "node_exit", id: "think", result: "Ok" },
  {
    type: "checkpoint",
    checkpoint_id: "checkpoint-1",
    timestamp: "2026-01-01T00:00:00Z",
    step: 1,
    state: {},
  },
];

let sessions = 0;

/** Leaves a session with a live run, as a process that dies. */
async function die(log: Log): Promise<string> {
  const session = `session-${++sessions}`;
  const { epoch } = await log.acquire(session, { holder: "dead", ttlMs: 1 });
  const entries = createRecords(EVENTS, { session }).map((record) => createEntry(record as never));
  await log.append({ sessionId: session, epoch, expectedLastId: 0, entries });
  return session;
}

/** `open` is called twice, so that the new holder has nothing in memory. */
const takeOver =
  (create: () => Promise<() => Promise<Log>>): Prepare =>
  async (size) => {
    const open = await create();
    const [before, after] = [await open(), await open()];
    return async (): Promise<Spent> => {
      const dead = await Promise.all(Array.from({ length: size }, () => die(before)));
      await pause(50);
      const { user, system } = process.cpuUsage();
      const taken = [];
      for (const id of dead) taken.push(await openSession(after, id, { resume: () => new Promise(() => undefined) }));
      const end = process.cpuUsage();
      for (const session of taken) {
        if (session.recovered[0]?.outcome !== "resumed") throw new Error("The run was not resumed.");
        await session.close({ run: "leave" });
      }
      return { cpuMs: (end.user + end.system - user - system) / 1000 };
    };
  };

const parse: Prepare = (size) => {
  const texts = createRecords(EVENTS).map((record) => createEntry(record as never).text);
  return () => {
    let last = 0;
    for (let session = 0; session < size; session++)
      for (const text of texts) last = (JSON.parse(text) as { readonly event_id: number }).event_id;
    if (last !== RECORDS) throw new Error(`${last} records instead of ${RECORDS}`);
  };
};

const rowOf = (store: string, create: () => Promise<() => Promise<Log>>): Row => ({
  what: `a live run of ${RECORDS} records of a dead process, in ${store}`,
  unit: "session",
  sizes: [10],
  ours: takeOver(create),
  limits: { "JSON.parse of the records": parse },
});

export const benchmark: Benchmark = {
  about: "CPU time of taking over a session whose process died, until its run continues",
  rows: [
    rowOf("SQLite", async () => {
      const path = join(createFolder(), "loom.db");
      return () => openSqliteLog(path);
    }),
    rowOf("PostgreSQL, whose own time is not counted", async () => {
      const { url } = await startPostgres({ isDurable: true });
      return () => openPostgresLog(url);
    }),
  ],
};
