/**
 * Durable appends of events of 200 bytes to PostgreSQL, and sessions that are followed: CPU time of the process of the
 * program, not of the server. Each contestant has its own server, which syncs. Ours checks lease, order and contents; the
 * peers insert rows, and DBOS writes to streams of its workflows. The limit is a COPY per group of events that arrive
 * during the one before.
 */
import { finished } from "node:stream/promises";
import { setTimeout as pause } from "node:timers/promises";
import { startPostgres } from "../../test/postgres-server.ts";
import type { Benchmark, Prepare, Row } from "../benchmark.ts";
import { createGroups } from "../create-groups.ts";
import { appendEach, createTexts, nameOf, openLogStore, openWriter, type Store } from "../stores.ts";

const WRITERS = 100;
/** End of the names of rows. */
const UNCOUNTED = ", without the time of the server";

/** Returns the URL of a new server that ends with this process. */
const startServer = async (): Promise<string> => (await startPostgres({ isDurable: true })).url;

async function openLoom(): Promise<Store> {
  const { openPostgresLog } = await import("../../src/log/index.ts");
  const url = await startServer();
  return openLogStore(() => openPostgresLog(url), WRITERS);
}

const TABLE = "CREATE TABLE IF NOT EXISTS events (session int, id int, text text, PRIMARY KEY (session, id))";

async function openPool() {
  const { default: pg } = await import("pg");
  const pool = new pg.Pool({ connectionString: await startServer(), max: 10 });
  await pool.query(TABLE);
  return pool;
}

/** One prepared statement per event, on ten connections. */
async function openInserts(): Promise<Store> {
  const pool = await openPool();
  const take = createTexts();
  const insert = { name: "insert", text: "INSERT INTO events VALUES ($1, $2, $3)" };
  return {
    async append(session, events) {
      for (const { id, text } of take(session, events)) await pool.query({ ...insert, values: [session, id, text] });
    },
    close: () => pool.end(),
  };
}

interface PlainRow {
  readonly session: number;
  readonly id: number;
  readonly text: string;
}

const openGroups = (pool: { end(): Promise<void> }, store: (rows: PlainRow[]) => Promise<unknown>): Store => {
  const take = createTexts();
  const group = createGroups((batches: PlainRow[][]) => store(batches.flat()));
  return {
    append: (session, events) => group(take(session, events).map((event) => ({ session, ...event }))),
    close: () => pool.end(),
  };
};

async function openRows(): Promise<Store> {
  const pool = await openPool();
  const insert = {
    name: "insert-rows",
    text: "INSERT INTO events SELECT * FROM unnest($1::int[], $2::int[], $3::text[])",
  };
  return openGroups(pool, (rows) =>
    pool.query({
      ...insert,
      values: [rows.map(({ session }) => session), rows.map(({ id }) => id), rows.map(({ text }) => text)],
    }),
  );
}

async function openCopies(): Promise<Store> {
  const { from } = await import("pg-copy-streams");
  const pool = await openPool();
  const client = await pool.connect();
  return openGroups(pool, async (rows) => {
    const stream = client.query(from("COPY events FROM STDIN"));
    // The texts have no tab, line feed or backslash.
    stream.end(rows.map(({ session, id, text }) => `${session}\t${id}\t${text}\n`).join(""));
    await finished(stream);
  });
}

/** A workflow per writer, which lives as long as the store, and writes the events of each append to its stream in a step. */
async function openDbos(): Promise<Store> {
  const { DBOS } = await import("@dbos-inc/dbos-sdk");
  const systemDatabaseUrl = await startServer();
  DBOS.setConfig({ name: "bench", systemDatabaseUrl, systemDatabasePoolSize: 10, logLevel: "error" });
  const take = createTexts();
  const asked = Array.from({ length: WRITERS }, () => Promise.withResolvers<{ done: () => void; events: number }>());
  const writer = DBOS.registerWorkflow(
    async (session: number) => {
      for (;;) {
        const { done, events } = (await asked[session]?.promise) ?? { done: () => undefined, events: 0 };
        asked[session] = Promise.withResolvers();
        const write = async (): Promise<void> => {
          for (const { text } of take(session, events)) await DBOS.writeStream("events", text);
        };
        // Outside of a step, each event would be a step of the workflow with its own row.
        await DBOS.runStep(write, { name: "write" });
        done();
      }
    },
    { name: "writer" },
  );
  await DBOS.launch();
  for (let session = 0; session < WRITERS; session++)
    await DBOS.startWorkflow(writer, { workflowID: nameOf(session) })(session);
  return {
    append: (session, events) => new Promise<void>((done) => asked[session]?.resolve({ done, events })),
    close: () => DBOS.shutdown(),
  };
}

const appendRow = (perAppend: number): Row => {
  const prepare = (open: () => Promise<Store>): Prepare => appendEach(WRITERS, open, perAppend);
  return {
    what: `${WRITERS} writers, ${perAppend} event${perAppend === 1 ? "" : "s"} per append, each waits for it${UNCOUNTED}`,
    unit: "event",
    sizes: [1000 * perAppend],
    ours: prepare(openLoom),
    peers: {
      "pg 8, INSERT per event": prepare(openInserts),
      "pg 8, INSERT of rows per group": prepare(openRows),
      "DBOS 5.3 streams": prepare(openDbos),
    },
    limits: { "pg 8, COPY per group": prepare(openCopies) },
    isSlow: perAppend > 1,
  };
};

const FOLLOW_MS = 2000;

/** Readers of sessions that do not change, all of which have caught up. */
const followIdle: Prepare = async (count) => {
  const { followRecords, openPostgresLog } = await import("../../src/log/index.ts");
  const log = await openPostgresLog(await startServer());
  const caughtUp = Array.from({ length: count }, async (_, session) => {
    await openWriter(log, nameOf(session)).then((write) => write(1));
    const records = followRecords(log, nameOf(session), { after: 0, follow: true })[Symbol.asyncIterator]();
    await records.next();
    void records.next();
  });
  await Promise.all(caughtUp);
  return () => pause(FOLLOW_MS);
};

/** A connection that waits for notifications. */
const listen: Prepare = async () => {
  const { default: pg } = await import("pg");
  const client = new pg.Client(await startServer());
  await client.connect();
  await client.query("LISTEN changes");
  return () => pause(FOLLOW_MS);
};

export const benchmark: Benchmark = {
  about: "CPU time of a program that stores and follows events in PostgreSQL, without that of the server",
  rows: [
    appendRow(1),
    appendRow(10),
    {
      what: `idle sessions that are followed for ${FOLLOW_MS / 1000} s`,
      unit: "session",
      sizes: [1000],
      ours: followIdle,
      limits: { "pg 8, LISTEN": listen },
    },
  ],
};
