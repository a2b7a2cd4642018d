/**
 * Durable appends of events of 200 bytes: each writer waits until its events are on disk. Ours checks lease, order and
 * contents, and keeps indexes of runs and search; the peers store a text by its key. The limit is a file with one
 * fdatasync per group of events that arrive during the one before.
 */
import { closeSync, fdatasync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { StatementSync } from "node:sqlite";
import type { Benchmark, Prepare, Row, Spent } from "../benchmark.ts";
import { createFolder } from "../create-folder.ts";
import { createGroups } from "../create-groups.ts";
import { appendEach, createTexts, EVENT_BYTES, openLogStore, type Store } from "../stores.ts";

type OpenStore = (folder: string, writers: number) => Promise<Store>;

/** Events per append of a store that is filled. */
const BATCH = 100;
const FILL_WRITERS = 10;

const lengthOf = (text: string): number => (JSON.parse(text) as { readonly content: string }).content.length;

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
    async read(session) {
      let length = 0;
      for (const { value } of db.getRange({ start: [session, 0], end: [session, Number.MAX_SAFE_INTEGER] }))
        length += lengthOf(value);
      return length;
    },
    close: () => db.close(),
  };
};

/** `groups`: appends of the same turn of the event loop share a transaction. Otherwise each has its own. */
const openPlainSqlite =
  (groups: boolean): OpenStore =>
  async (folder) => {
    const { DatabaseSync } = await import("node:sqlite");
    const db = new DatabaseSync(join(folder, "events.sqlite"));
    db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    db.exec("CREATE TABLE events (session INTEGER, id INTEGER, text TEXT, PRIMARY KEY (session, id)) WITHOUT ROWID");
    const insert = db.prepare("INSERT INTO events VALUES (?, ?, ?)");
    const select: StatementSync = db.prepare("SELECT text FROM events WHERE session = ? ORDER BY id");
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
      async read(session) {
        let length = 0;
        for (const { text } of select.iterate(session)) length += lengthOf(text as string);
        return length;
      },
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
      const { user, system } = process.cpuUsage(before);
      await store.close();
      rmSync(folder, { recursive: true });
      return { cpuMs: (user + system) / 1000 };
    };
  };

async function fillStore(store: Store, size: number): Promise<void> {
  for (let events = 0; events < size; events += BATCH * FILL_WRITERS)
    await Promise.all(Array.from({ length: FILL_WRITERS }, (_, session) => store.append(session, BATCH)));
}

/** Reads all sessions of a store. */
const read =
  (open: OpenStore): Prepare =>
  async (size) => {
    const store = await open(createFolder(), FILL_WRITERS);
    await fillStore(store, size);
    return async () => {
      let length = 0;
      for (let session = 0; session < FILL_WRITERS; session++) length += (await store.read?.(session)) ?? 0;
      expectLength(length, size);
    };
  };

const parse: Prepare = (size) => {
  const take = createTexts();
  const texts = Array.from({ length: FILL_WRITERS }, (_, session) => take(session, size / FILL_WRITERS)).flat();
  return () =>
    expectLength(
      texts.reduce((sum, { text }) => sum + lengthOf(text), 0),
      size,
    );
};

function expectLength(length: number, events: number): void {
  if (length < (events * EVENT_BYTES) / 5) throw new Error(`only ${length} characters in ${events} events`);
}

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
      what: "whole sessions read as parsed events",
      unit: "event",
      sizes: [5000, 20_000, 80_000],
      ours: read(openLoom),
      peers: { [LMDB]: read(openLmdb), "node:sqlite": read(openPlainSqlite(true)) },
      limits: { "JSON.parse": parse },
    },
  ],
};
