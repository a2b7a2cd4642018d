/**
 * Durable appends of events of 200 bytes: each writer waits until its events are on disk. Ours checks lease, order and
 * contents, and keeps indexes of runs and search; the peers store a text by its key. The limit is a file with one
 * fdatasync per group of events that arrive during the one before.
 */
import { closeSync, fdatasync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { createEntry } from "../../src/log/entry.ts";
import type { StampedRecord } from "../../src/protocol/index.ts";
import type { Benchmark, Prepare, Row, Spent } from "../benchmark.ts";
import { createFolder } from "../create-folder.ts";
import { createGroups } from "../create-groups.ts";
import { createRealisticRecords, storeRecords } from "../realistic-records.ts";
import { appendEach, createTexts, nameOf, openLogStore, type Store } from "../stores.ts";

type OpenStore = (folder: string, writers: number) => Promise<Store>;

/** Events per append of a store that is filled. */
const BATCH = 100;
const FILL_WRITERS = 10;
/** That are read. */
const SESSIONS = 10;

const openLoom: OpenStore = async (folder, writers) => {
  const { openSqliteLog } = await import("../../src/log/index.ts");
  return openLogStore(() => openSqliteLog(join(folder, "loom.db")), writers);
};

const openLmdb: OpenStore = async (folder) => {
  const { open } = await import("lmdb");
  const db = open({ path: join(folder, "events.lmdb"), encoding: "string" });
  const take = createTexts();
  return {
    append(session, events) {
      for (const { id, text } of take(session, events)) void db.put([session, id], text);
      return db.flushed;
    },
    close: () => db.close(),
  };
};

/** With the settings of our store. */
async function openDatabase(folder: string): Promise<DatabaseSync> {
  const { DatabaseSync: Database } = await import("node:sqlite");
  const db = new Database(join(folder, "events.sqlite"));
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    PRAGMA wal_autocheckpoint = 4000; PRAGMA cache_size = -16384`);
  db.exec(
    "CREATE TABLE IF NOT EXISTS events (session INTEGER, id INTEGER, text TEXT, PRIMARY KEY (session, id)) WITHOUT ROWID",
  );
  return db;
}

const INSERT = "INSERT INTO events VALUES (?, ?, ?)";

/** `groups`: appends of the same turn of the event loop share a transaction. Otherwise each has its own. */
const openPlainSqlite =
  (groups: boolean): OpenStore =>
  async (folder) => {
    const db = await openDatabase(folder);
    const insert = db.prepare(INSERT);
    const take = createTexts();
    const store = (batches: readonly { readonly session: number; readonly events: number }[]): void => {
      db.exec("BEGIN");
      for (const { session, events } of batches)
        for (const { id, text } of take(session, events)) insert.run(session, id, text);
      db.exec("COMMIT");
    };
    const group = createGroups(async (batches: { session: number; events: number }[]) => store(batches));
    return {
      append: async (session, events) => (groups ? group({ session, events }) : store([{ session, events }])),
      close: () => db.close(),
    };
  };

const openFile: OpenStore = async (folder) => {
  const file = openSync(join(folder, "events.log"), "w");
  const take = createTexts();
  const group = createGroups(
    (texts: string[]) =>
      new Promise<void>((resolve, reject) => {
        writeSync(file, texts.join(""));
        fdatasync(file, (error) => (error === null ? resolve() : reject(error)));
      }),
  );
  return {
    append: (session, events) =>
      group(
        take(session, events)
          .map(({ text }) => `${text}\n`)
          .join(""),
      ),
    close: () => closeSync(file),
  };
};

/** Fills a new store. Creating and deleting it does not count. */
const fill =
  (open: OpenStore): Prepare =>
  (size) => {
    const parent = createFolder();
    return async (): Promise<Spent> => {
      const folder = mkdtempSync(join(parent, "store-"));
      const store = await open(folder, FILL_WRITERS);
      const before = process.cpuUsage();
      await fillStore(store, size);
      await store.close();
      const { user, system } = process.cpuUsage(before);
      rmSync(folder, { recursive: true });
      return { cpuMs: (user + system) / 1000 };
    };
  };

async function fillStore(store: Store, size: number): Promise<void> {
  for (let events = 0; events < size; events += BATCH * FILL_WRITERS)
    await Promise.all(Array.from({ length: FILL_WRITERS }, (_, session) => store.append(session, BATCH)));
}

/** Returns a reader of a session of a store that has been closed and opened again, so that nothing is in its memory. */
type StoreSessions = (
  sessions: readonly (readonly StampedRecord[])[],
) => Promise<(session: number) => Promise<number> | number>;

/** Reads all sessions of a store as parsed records, and counts them. */
const read =
  (store: StoreSessions): Prepare =>
  async (size) => {
    const records = createRealisticRecords(size / SESSIONS).slice(0, size / SESSIONS);
    const sessions = Array.from({ length: SESSIONS }, (_, session) =>
      records.map(({ envelope, event }) => ({ envelope: { ...envelope, session_id: nameOf(session) }, event })),
    );
    const readSession = await store(sessions);
    return async () => {
      for (let session = 0; session < SESSIONS; session++) {
        const found = await readSession(session);
        if (found !== records.length) throw new Error(`${found} records instead of ${records.length}`);
      }
    };
  };

const inLoom: StoreSessions = async (sessions) => {
  const { followRecords, openSqliteLog } = await import("../../src/log/index.ts");
  const path = join(createFolder(), "loom.db");
  const before = await openSqliteLog(path);
  for (const [session, records] of sessions.entries()) await storeRecords(before, nameOf(session), records);
  await before.close();
  const log = await openSqliteLog(path);
  return async (session) => {
    let events = 0;
    for await (const { records } of followRecords(log, nameOf(session), { after: 0 }))
      events += records.map(({ event }) => event).length;
    return events;
  };
};

const parseAll = (texts: readonly string[]): number => texts.map((text) => JSON.parse(text) as object).length;

const inLmdb: StoreSessions = async (sessions) => {
  const { open } = await import("lmdb");
  const options = { path: join(createFolder(), "events.lmdb"), encoding: "string" } as const;
  const before = open(options);
  for (const [session, records] of sessions.entries())
    for (const [index, record] of records.entries()) void before.put([session, index], createEntry(record).text);
  await before.flushed;
  await before.close();
  const db = open(options);
  return (session) => {
    const range = db.getRange({ start: [session, 0], end: [session, Number.MAX_SAFE_INTEGER] });
    return parseAll(Array.from(range, ({ value }) => value));
  };
};

const inSqlite: StoreSessions = async (sessions) => {
  const folder = createFolder();
  const before = await openDatabase(folder);
  const insert = before.prepare(INSERT);
  before.exec("BEGIN");
  for (const [session, records] of sessions.entries())
    for (const [index, record] of records.entries()) insert.run(session, index, createEntry(record).text);
  before.exec("COMMIT");
  before.close();
  const db = await openDatabase(folder);
  const select = db.prepare("SELECT text FROM events WHERE session = ? ORDER BY id");
  return (session) => parseAll(select.all(session).map(({ text }) => text as string));
};

const inMemory: StoreSessions = async (sessions) => {
  const texts = sessions.map((records) => records.map((record) => createEntry(record).text));
  return (session) => parseAll(texts[session] ?? []);
};

const LMDB = "lmdb 3.5";
const GROUPED = "node:sqlite, a transaction per tick";
const FILE = "a file, fdatasync per group";

function appendRow(writers: number, size: number): Row {
  const prepare = (open: OpenStore): Prepare => appendEach(writers, () => open(createFolder(), writers));
  return {
    what: `${writers} writer${writers === 1 ? "" : "s"}, each waits for its event`,
    unit: "event",
    sizes: [size],
    ours: prepare(openLoom),
    peers: {
      [LMDB]: prepare(openLmdb),
      // With many writers, a transaction per event costs the same and waits for a sync each.
      ...(writers === 1
        ? { "node:sqlite, a transaction per event": prepare(openPlainSqlite(false)) }
        : { [GROUPED]: prepare(openPlainSqlite(true)) }),
    },
    limits: { [FILE]: prepare(openFile) },
  };
}

export const benchmark: Benchmark = {
  about: "CPU time of storing events on disk, and of reading them back, with all threads of the process",
  rows: [
    appendRow(1, 100),
    appendRow(100, 3000),
    {
      what: `a growing store, ${FILL_WRITERS} writers with ${BATCH} events per append`,
      unit: "event",
      sizes: [5000, 20_000, 80_000],
      ours: fill(openLoom),
      peers: { [LMDB]: fill(openLmdb), [GROUPED]: fill(openPlainSqlite(true)) },
      limits: { [FILE]: fill(openFile) },
    },
    {
      what: "whole sessions of runs read as parsed events",
      unit: "event",
      sizes: [5000, 20_000, 80_000],
      ours: read(inLoom),
      peers: { [LMDB]: read(inLmdb), "node:sqlite": read(inSqlite) },
      limits: { "JSON.parse": read(inMemory) },
    },
  ],
};
