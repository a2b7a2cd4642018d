// `loom store renew`: after a restore, no old cursor, lease or epoch is valid. The backup is a copy of a real database.
import pg from "pg";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createEntry } from "../src/log/entry.ts";
import { openPostgresLog, openSqliteLog } from "../src/log/index.ts";
import type { Lease, Log } from "../src/log/log.ts";
import { migrateStore } from "../src/log/maintain-store.ts";
import { openStream } from "../src/log/stream.ts";
import { SERVER_FORMATS } from "../src/server/postgres-formats.ts";
import { folder, loom } from "./cli-run.ts";
import { NO_POSTGRES, type PostgresServer, startPostgres } from "./postgres-server.ts";

const HOLDER = { holder: "machine/1/2/3", ttlMs: 60_000 };

async function append(log: Log, { sessionId, epoch }: Lease, after: number, value: string): Promise<void> {
  const envelope = { session_id: sessionId, run_id: "r", event_id: after + 1, ts: 1 };
  const entries = [createEntry({ envelope, event: { type: "custom", value } })];
  await log.append({ sessionId, epoch, expectedLastId: after, entries });
}

/** Reads a session to its end, after a cursor. */
async function readValues(log: Log, cursor?: string): Promise<{ readonly values: string[]; readonly cursor: string }> {
  const values: string[] = [];
  let last = "";
  const options = { dialect: "loom", ...(cursor === undefined ? {} : { cursor }) } as const;
  for await (const frames of openStream(log, "s", options))
    for (const frame of frames) {
      values.push(String((JSON.parse(frame.text) as { value?: unknown }).value));
      last = frame.cursor ?? last;
    }
  return { values, cursor: last };
}

const expectRefused = async (args: readonly string[], message: string): Promise<void> =>
  expect(await loom(["store", "renew", ...args])).toMatchObject({
    code: 2,
    err: expect.stringContaining(message) as string,
  });

it("renews a file, unless it is in use or missing", async () => {
  const file = join(folder, "renewed.db");
  await expectRefused(["--store", file], "there is no store");
  const log = await openSqliteLog(file);
  const lease = await log.acquire("s", HOLDER);
  await append(log, lease, 0, "a");
  const { cursor } = await readValues(log);
  await expectRefused(["--store", file], "Stop all servers");
  await log.release(lease);
  await log.close();
  const renewed = await loom(["store", "renew", "--store", file, "--json"]);
  expect([renewed.code, JSON.parse(renewed.out)]).toEqual([0, { store: file, sessions: 1 }]);
  const again = await openSqliteLog(file);
  await expect(readValues(again, cursor)).rejects.toMatchObject({ code: "cursor_stale" });
  expect((await readValues(again)).values).toEqual(["a"]);
  await again.close();
});

describe.skipIf(NO_POSTGRES !== undefined)("a restored database", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  const urlOf = (database: string, user = "postgres:secret") =>
    `postgres://${user}@127.0.0.1:${server.port}/${database}`;

  async function query(database: string, ...statements: readonly string[]): Promise<readonly { value: unknown }[]> {
    const client = new pg.Client({ connectionString: urlOf(database) });
    await client.connect();
    try {
      let rows: { value: unknown }[] = [];
      for (const sql of statements) ({ rows } = await client.query<{ value: unknown }>(sql));
      return rows;
    } finally {
      await client.end();
    }
  }

  it("accepts old cursors and leases until it is renewed", async () => {
    await query("postgres", "CREATE DATABASE live");
    const before = await openPostgresLog(urlOf("live"));
    const first = await before.acquire("s", HOLDER);
    await append(before, first, 0, "kept");
    await before.saveSnapshot("s", { key: "k", eventId: 1, state: new Uint8Array(3) });
    await before.close();
    await query("postgres", "CREATE DATABASE backup TEMPLATE live");
    // After the backup: another writer, and a client that receives its record.
    const lost = await openPostgresLog(urlOf("live"));
    const late = await lost.acquire("s", { ...HOLDER, takeover: true });
    await append(lost, late, 1, "lost");
    const { cursor } = await readValues(lost);
    await lost.close();
    await query("postgres", "DROP DATABASE live", "CREATE DATABASE live TEMPLATE backup");
    // Without the command, the same epoch is granted again, and the cursor skips a record.
    const wrong = await openPostgresLog(urlOf("live"));
    expect((await wrong.acquire("s", { ...HOLDER, takeover: true })).epoch).toBe(late.epoch);
    await append(wrong, late, 1, "other");
    expect((await readValues(wrong, cursor)).values).toEqual([]);
    await wrong.close();
    await query("postgres", "DROP DATABASE live", "CREATE DATABASE live TEMPLATE backup");

    await expectRefused(["--store", urlOf("live")], 'Session "s" is held by machine/1/2/3');
    await query("live", "UPDATE loom.sessions SET expires_at = 1");
    const renewed = await loom(["store", "renew", "--store", urlOf("live")]);
    expect(renewed).toMatchObject({ code: 0, out: expect.stringMatching(/^1 session renewed; /) as string });
    const log = await openPostgresLog(urlOf("live"));
    await expect(readValues(log, cursor)).rejects.toMatchObject({ code: "cursor_stale" });
    await expect(append(log, first, 1, "x")).rejects.toMatchObject({ code: "fenced" });
    const next = await log.acquire("s", HOLDER);
    expect(next.epoch).toBeGreaterThan(late.epoch + 1e9);
    await expect(append(log, late, 1, "x")).rejects.toMatchObject({ code: "fenced" });
    await append(log, next, 1, "new");
    expect((await readValues(log)).values).toEqual(["kept", "new"]);
    expect(await log.findSnapshot("s", "k", 1)).toBeUndefined();
    await log.close();
  });

  it("is renewed in several transactions, and again after an interruption", async () => {
    await query("postgres", "CREATE DATABASE many");
    await expectRefused(["--store", urlOf("many")], "has no tables");
    await migrateStore(urlOf("many"), SERVER_FORMATS);
    const isOld = "SELECT count(*)::int AS value FROM loom.sessions WHERE incarnation = 'old'";
    await query(
      "many",
      `INSERT INTO loom.sessions (session_id, incarnation, owner, created_at, updated_at, first_id, last_id, epoch)
        SELECT 's' || n, 'old', 'local', 0, 0, 1, 0, 0 FROM generate_series(1, 1200) n`,
      `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'planted'; END $$`,
      `CREATE TRIGGER fails BEFORE UPDATE ON loom.sessions FOR EACH ROW WHEN (OLD.session_id = 's700')
        EXECUTE FUNCTION fail()`,
    );
    await expectRefused(["--store", urlOf("many")], "planted");
    expect(await query("many", isOld)).toEqual([{ value: 700 }]);
    await query("many", "DROP TRIGGER fails ON loom.sessions");
    const renewed = await loom(["store", "renew", "--store", urlOf("many"), "--json"]);
    expect(JSON.parse(renewed.out)).toEqual({ store: urlOf("many").replace("postgres:secret@", ""), sessions: 1200 });
    expect(await query("many", isOld)).toEqual([{ value: 0 }]);
    const count = "SELECT count(DISTINCT incarnation)::int AS value FROM loom.sessions";
    expect(await query("many", count)).toEqual([{ value: 1200 }]);
  });
});
