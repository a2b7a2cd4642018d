// Stores made by older commits, whose process was killed while a run waited for an approval: nothing is lost.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { agent } from "../src/agents/index.ts";
import { type KnowledgeBase, openKnowledgeBase, openPostgresKnowledgeBase } from "../src/context/index.ts";
import { exportSession, openSqliteLog } from "../src/log/index.ts";
import type { Log, SessionInfo } from "../src/log/log.ts";
import { migrateDatabase, readDatabaseStatus } from "../src/log/postgres/maintain-database.ts";
import { LOG_FORMAT } from "../src/log/postgres/schema.ts";
import { verifyStore } from "../src/log/sqlite/verify-store.ts";
import { ScriptedModel } from "../src/models/scripted-model.ts";
import { newestVersion } from "../src/postgres/migrate.ts";
import { openPostgres, type PostgresDatabase } from "../src/postgres/postgres-database.ts";
import {
  type BlobStore,
  type Credentials,
  openBlobStore,
  openCredentials,
  openPostgresStore,
  SERVER_LIMITS,
} from "../src/server/index.ts";
import { startLoomServer } from "../src/server/loom-server.ts";
import { SERVER_FORMATS } from "../src/server/postgres-formats.ts";
import { createTools } from "./agents/counted-tools.ts";
import { loom } from "./cli-run.ts";
import { type ExpectedAnswers, OLD_COMMITS, writeOldFiles, writeOldTables } from "./fixtures/old-stores.ts";
import { queryEverything } from "./fixtures/sample-store.ts";
import { gather } from "./log-sessions.ts";
import { NO_POSTGRES, type PostgresServer, startPostgres } from "./postgres-server.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-old-stores-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Parts {
  readonly log: Log;
  readonly credentials: Credentials;
  readonly blobs: BlobStore;
  readonly knowledge: KnowledgeBase;
  readonly close: () => Promise<void>;
}

async function openFiles(place: string): Promise<Parts> {
  const store = join(place, "loom.db");
  const log = await openSqliteLog(store);
  const credentials = openCredentials(`${store}-auth`);
  const blobs = await openBlobStore(`${store}-blobs`, SERVER_LIMITS);
  const knowledge = await openKnowledgeBase(join(place, "kb.db"));
  const close = async (): Promise<void> => {
    for (const part of [knowledge, blobs, credentials, log]) await part.close();
  };
  return { log, credentials, blobs, knowledge, close };
}

async function openTables(url: string, schema: string): Promise<Parts> {
  const store = await openPostgresStore(url, { schema });
  const knowledge = await openPostgresKnowledgeBase(url, { connection: { schema } });
  const close = async (): Promise<void> => {
    await knowledge.close();
    await store.close();
  };
  return { ...store, knowledge, close };
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
const idsOf = (sessions: readonly SessionInfo[]): readonly string[] => sessions.map(({ sessionId }) => sessionId);
/** The session whose run waits was created after the answers were read. */
const withoutAsked = (ids: readonly string[]): readonly string[] => ids.filter((id) => id !== "asked");

/** Compares everything except the session whose run waits. `isRestored`: sessions have new incarnations. */
async function expectNothingLost(parts: Parts, expected: ExpectedAnswers, isRestored = false): Promise<void> {
  const { log, credentials, blobs, knowledge } = parts;
  const withoutIncarnation = (key: string, value: unknown): unknown => (key === "incarnation" ? undefined : value);
  const compare = (value: unknown): unknown =>
    isRestored ? JSON.parse(JSON.stringify(value), withoutIncarnation) : plain(value);

  const answers = await queryEverything(log);
  for (const [query, result] of Object.entries(expected.answers))
    if (query !== "sessions") expect(compare(answers.get(query)), query).toEqual(compare(result));
  for (const [session, info] of Object.entries(expected.sessions))
    expect(compare((await log.getSession(session)) ?? null), session).toEqual(compare(info));
  for (const [session, text] of Object.entries(expected.exports))
    expect((await gather(exportSession(log, session))).join(""), session).toBe(text);
  expect(idsOf(await log.listBranches("fork"))).toEqual(expected.branches);
  expect(idsOf(await log.listSessions({ owner: "alice" }))).toEqual(expected.ofAlice);
  expect(idsOf(await log.listSessions({ owner: "alice", isNewestVersion: true }))).toEqual(expected.newest);
  const marked = [await log.listSessions({ isPinned: true }), await log.listSessions({ isArchived: true })];
  expect(marked.map(idsOf)).toEqual(expected.marked);
  for (const [query, found] of Object.entries(expected.found))
    expect(withoutAsked(idsOf(await log.searchSessions({ query }))), query).toEqual(found);

  const { token, revoked, share, cookie } = expected.secrets;
  const principals = [token, revoked, share, cookie].map(async (secret) => (await credentials.find(secret))?.owner);
  expect(await Promise.all(principals)).toEqual(["alice", undefined, "alice", "carol"]);
  expect(plain((await credentials.listTokens()).map(omitUse))).toEqual(expected.tokens.map(omitUse));
  const { incarnation } = expected.sessions["talk"] as SessionInfo;
  const [link] = await credentials.listShares("talk", incarnation);
  expect(plain(link)).toEqual({ ...expected.shares[0], opened: 0 });
  await credentials.noteOpened(link!.shareId);
  expect((await credentials.listShares("talk", incarnation))[0]?.opened).toBe(1);

  const { bytes, info } = await blobs.read("talk", expected.blobId);
  expect([await new Response(bytes).text(), info.name]).toEqual(["a file of alice", "潮汐.txt"]);
  expect((await knowledge.list()).map(({ uri }) => uri)).toEqual(expected.documents);
  expect((await knowledge.search("moon")).map(({ uri, content }) => [uri, content])).toEqual(expected.passages);
}

/** `find` records the use of a token. */
function omitUse({ usedAt: _use, ...info }: { readonly usedAt?: unknown }): object {
  return info;
}

/** Approves the call with which the old process was killed. */
async function finishRun({ log }: Parts): Promise<void> {
  const { tools, ran } = createTools();
  const model = new ScriptedModel([{ text: "They are gone." }]);
  const [waiting] = await log.listLandmarks("asked", "tool_approval");
  // The approval expires an hour after the message.
  vi.useFakeTimers({ toFake: ["Date"], now: (await log.getSession("asked"))!.updatedAt + 60_000 });
  const server = await startLoomServer({ log, agents: { main: agent({ model, tools }) }, port: 0 });
  try {
    const answer = await fetch(`${server.url}/v1/sessions/asked/approvals/${waiting!.key}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ decision: "approved", run_id: waiting!.runId }),
    });
    expect([answer.status, await answer.text()]).toEqual([expect.toBeOneOf([200, 202]), expect.anything()]);
    await expect
      .poll(async () => (await log.getRun("asked", waiting!.runId!))?.status, { timeout: 20_000 })
      .toBe("completed");
    expect(ran).toEqual([["remove", { path: "notes.txt" }]]);
    expect((await gather(exportSession(log, "asked"))).join("")).toContain("They are gone.");
  } finally {
    await server.close({ graceMs: 0 });
    vi.useRealTimers();
  }
}

describe.each(OLD_COMMITS)("the files of a server of commit %s", (commit) => {
  it("are migrated with everything they contain, and the run continues", async () => {
    const place = join(folder, commit);
    const expected = writeOldFiles(place, "", commit);
    const parts = await openFiles(place);
    await expectNothingLost(parts, expected);
    await finishRun(parts);
    await parts.close();
    expect(verifyStore(join(place, "loom.db"), () => undefined).damage).toEqual([]);
  });

  it("are restored from a backup", async () => {
    const [place, target] = [join(folder, `${commit}-backup`), join(folder, `${commit}-restored`)];
    const expected = writeOldFiles(place, "backup", commit);
    const options = ["--store", join(target, "loom.db"), "--kb", join(target, "kb.db")];
    const restored = await loom(["store", "restore", join(place, "backup"), ...options, "--json"]);
    expect(JSON.parse(restored.out)).toMatchObject({ sessions: 12, blobs: 1, tokens: 2, documents: 2, damaged: [] });
    const parts = await openFiles(target);
    await expectNothingLost(parts, expected, true);
    await finishRun(parts);
    await parts.close();
  });
});

/** Columns, indexes and settings of tables. Columns can be in another order. */
const DESCRIPTIONS = [
  `SELECT table_name, column_name, data_type, is_nullable, column_default, collation_name, is_identity
    FROM information_schema.columns WHERE table_schema = $1 ORDER BY table_name, column_name`,
  `SELECT tablename, indexname, replace(indexdef, $1 || '.', '') AS definition FROM pg_indexes WHERE schemaname = $1
    ORDER BY tablename, indexname`,
  `SELECT relname, reloptions, relpersistence FROM pg_class WHERE relnamespace = to_regnamespace($1) ORDER BY relname`,
  `SELECT proname, replace(prosrc, '"' || $1 || '".', '') AS source FROM pg_proc WHERE pronamespace = to_regnamespace($1) ORDER BY proname`,
];

describe.skipIf(NO_POSTGRES !== undefined)("a PostgreSQL database", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  async function withDatabase<T>(schema: string, use: (db: PostgresDatabase) => Promise<T>): Promise<T> {
    const db = await openPostgres(server.url, { schema });
    try {
      return await use(db);
    } finally {
      await db.close();
    }
  }

  const describeTables = (schema: string): Promise<unknown> =>
    withDatabase(schema, (db) => Promise.all(DESCRIPTIONS.map((sql) => db.read(sql, [schema]))));

  it.each([
    ["9f3b46d0", [2, 1, 1, 1, 1]],
    ["8bf344a2", [3, 2, 1, 2, 1]],
  ] as const)(
    "of commit %s is migrated with everything it contains, and the run continues",
    async (commit, versions) => {
      const [old, fresh] = [`old_${commit}`, `new_${commit}`];
      const expected = await withDatabase(old, (db) => writeOldTables(db, commit));
      const before = await migrateDatabase(server.url, SERVER_FORMATS, { schema: old });
      expect(before.map(({ stored }) => stored)).toEqual(versions);
      await migrateDatabase(server.url, SERVER_FORMATS, { schema: fresh });
      expect(await describeTables(old)).toEqual(await describeTables(fresh));
      const parts = await openTables(server.url, old);
      await expectNothingLost(parts, expected);
      await finishRun(parts);
      await parts.close();
    },
  );

  it.each(OLD_COMMITS)("of commit %s has the principals of its live runs and pending messages", async (commit) => {
    const schema = `actors_${commit}`;
    await withDatabase(schema, async (db) => {
      await writeOldTables(db, commit);
      const body = JSON.stringify({ message: "\\ Hi", actor: "jwt:a\\b" });
      const insert = `INSERT INTO @.commands (session, created_at, command_id, kind, body, outcome)
        SELECT 1, 1, c.id, 'enqueue', c.body, c.outcome
        FROM unnest($1::text[], $2::text[], $3::text[]) AS c(id, body, outcome)`;
      const unreadable = JSON.stringify({ message: "\0\ud800", actor: "token:c" });
      await db.write(insert, [
        ["pending", "done", "unreadable"],
        [body, body, unreadable],
        [null, "{}", null],
      ]);
      const name = `UPDATE @.records SET text =
        replace(text, '"type":"run_start",', '"type":"run_start","actor":"token:潮",')`;
      await db.write(name, []);
      await migrateDatabase(server.url, SERVER_FORMATS, { schema });
      const live = "SELECT DISTINCT actor FROM @.runs WHERE last_id IS NULL OR actor IS NOT NULL";
      expect(await db.read(live)).toEqual([{ actor: "token:潮" }]);
      const commands = "SELECT command_id AS id, actor FROM @.commands WHERE actor IS NOT NULL";
      expect(await db.read(commands)).toEqual([{ id: "pending", actor: "jwt:a\\\\b" }]);
    });
  });

  it("is refused and left unchanged if a part is too old", async () => {
    await withDatabase("older", (db) => writeOldTables(db, "9f3b46d0"));
    await withDatabase("older", (db) => db.write("UPDATE @.migrations SET version = 1 WHERE name = 'log'", []));
    const before = await describeTables("older");
    const options = { schema: "older" };
    for (const ask of [
      () => readDatabaseStatus(server.url, SERVER_FORMATS, options),
      () => migrateDatabase(server.url, SERVER_FORMATS, options),
      () => openPostgresStore(server.url, options),
    ])
      await expect(ask()).rejects.toMatchObject({
        code: "store_older",
        details: { version: 1, supported: newestVersion(LOG_FORMAT) },
        message: expect.stringContaining("commit 8bf344a2") as string,
      });
    expect(await describeTables("older")).toEqual(before);
  });
});
