// `loom store`: status and migration of files and databases, and copies between them, interrupted and repeated.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createEntry } from "../src/log/entry.ts";
import { exportSession, openPostgresLog, openSqliteLog } from "../src/log/index.ts";
import type { Log, LogEntry } from "../src/log/log.ts";
import { migrateStore } from "../src/log/maintain-store.ts";
import { openLog } from "../src/log/open-log.ts";
import { openPostgres } from "../src/postgres/postgres-database.ts";
import type { AnyEvent } from "../src/protocol/index.ts";
import { openCredentials } from "../src/server/auth/credentials/open-credentials.ts";
import { openPostgresCredentials } from "../src/server/auth/credentials/postgres-credentials.ts";
import { createPostgresRateCounters } from "../src/server/auth/limits/postgres-rates.ts";
import { openPostgresBlobStore } from "../src/server/blobs/open-postgres-blob-store.ts";
import { SERVER_LIMITS } from "../src/server/index.ts";
import { openStore } from "../src/cli/open-store.ts";
import { openSharedKnowledgeBase } from "../src/context/knowledge-base/open-postgres-knowledge-base.ts";
import { SERVER_FORMATS } from "../src/server/postgres-formats.ts";
import { nodeArgs } from "./bundle-source.ts";
import { COMMAND, environment, folder, loom, parseLines } from "./cli-run.ts";
import { writeOldFiles } from "./fixtures/old-stores.ts";
import { gather } from "./log-sessions.ts";
import { NO_POSTGRES, type PostgresServer, startPostgres } from "./postgres-server.ts";
import { LONG } from "./sampling.ts";
import { isTestFile, readSourceFiles } from "./source-files.ts";

let count = 0;
const nameFile = (): string => join(folder, `store-${++count}.db`);

function entry(session_id: string, event_id: number, run_id: string, event: AnyEvent): LogEntry {
  return createEntry({ envelope: { session_id, run_id, event_id, ts: 1_700_000_000_000 + event_id }, event });
}

/** Appends runs to a session; a run that is live has no end. */
async function writeRuns(log: Log, sessionId: string, runs: number, { isLive = false, text = "" } = {}): Promise<void> {
  const lease = await log.acquire(sessionId, { holder: "test", ttlMs: 60_000 });
  const { epoch, lastId: expectedLastId } = lease;
  const entries: LogEntry[] = [];
  for (let run = 0; run < runs; run++) {
    const lastId = expectedLastId + entries.length;
    const runId = `run ${lastId}`;
    entries.push(entry(sessionId, lastId + 1, runId, { type: "run_start", run_id: runId }));
    if (!isLive) entries.push(entry(sessionId, lastId + 2, runId, { type: "reply", reply: `é😀 ${text}` }));
  }
  await log.append({ sessionId, epoch, expectedLastId, entries });
  await log.release(lease);
}

/** Everything of a session that a copy keeps, and its records as text. */
async function describeAll(log: Log): Promise<unknown[]> {
  const all: unknown[] = [];
  for (const info of await log.listSessions({ limit: 1000 })) {
    const { isPinned, isArchived } = info;
    const { sessionId, title, owner, firstId, lastId, bytes, forkedFrom, rootId, updatedAt } = info;
    const pending = (await log.listPending(sessionId)).map(({ commandId, kind, body }) => ({ commandId, kind, body }));
    const texts = (await gather(exportSession(log, sessionId))).join("");
    // A session without runs was updated when it was created.
    const at = lastId > 0 ? updatedAt : 0;
    const runs = await log.listRuns(sessionId);
    const marks = { isPinned, isArchived };
    all.push({
      ...marks,
      sessionId,
      title,
      owner,
      firstId,
      lastId,
      bytes,
      forkedFrom,
      rootId,
      at,
      pending,
      runs,
      texts,
    });
  }
  return all;
}

async function fillStore(log: Log): Promise<void> {
  await log.createSession("empty", { title: "Nothing\u0000 yet", isArchived: true });
  await log.createSession("a", { title: "First", owner: "alice" });
  await writeRuns(log, "a", 3);
  await log.createSession("branch", {
    owner: "alice",
    rootId: "a",
    isPinned: true,
    forkedFrom: { sessionId: "a", runId: "run 2", eventId: 2 },
  });
  await writeRuns(log, "branch", 1);
  await log.createSession("pruned", { firstId: 41 });
  await writeRuns(log, "pruned", 2);
  await writeRuns(log, "队列/1", 1);
  for (const commandId of ["m1", "m2"])
    await log.submit({ sessionId: "队列/1", commandId, kind: "enqueue", body: { message: commandId } });
}

function json(out: string): { readonly [key: string]: unknown } {
  return JSON.parse(out) as { readonly [key: string]: unknown };
}

it("shows a file, creates it, and names one that is missing, newer or not a store", async () => {
  const file = nameFile();
  const missing = await loom(["store", "status", "--store", file]);
  expect(missing).toMatchObject({ code: 1, out: expect.stringContaining("loom store migrate") as string });
  const made = await loom(["store", "migrate", "--store", file]);
  expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^log: created, version \d+\n$/) as string });
  expect((await loom(["store", "migrate", "--store", file])).out).toContain("up to date");
  const log = await openSqliteLog(file);
  await fillStore(log);
  await writeRuns(log, "live", 1, { isLive: true });
  const bytes = (await log.listSessions()).reduce((sum, info) => sum + info.bytes, 0);
  const held = await log.acquire("a", { holder: "other-machine/1/2/3", ttlMs: 60_000 });
  const shown = await loom(["store", "status", "--store", file, "--json"]);
  expect(shown.code).toBe(0);
  const counts = { sessions: 6, records: 15, bytes, live_runs: 1, pending_commands: 2, workers: 1 };
  expect(json(shown.out)).toMatchObject({ kind: "sqlite", store: file, reachable: true, usable: true, ...counts });
  await log.release(held);
  await log.close();
  const db = new DatabaseSync(file);
  db.exec("PRAGMA user_version = 999");
  db.close();
  const newer = await loom(["store", "status", "--store", file, "--json"]);
  expect(newer.code).toBe(1);
  expect(json(newer.out)).toMatchObject({ reachable: true, usable: false, problem: { code: "store_newer" } });
  const refused = await loom(["store", "migrate", "--store", file]);
  expect(refused).toMatchObject({ code: 2, err: expect.stringContaining("version 999") as string });
});

it("escapes the name of a store", async () => {
  const file = `${nameFile()}\u009B31m\u202E`;
  for (const args of [["migrate"], ["migrate", "--json"], ["status"], ["status", "--json"], ["renew", "--json"]]) {
    const { code, out } = await loom(["store", ...args, "--store", file]);
    expect([code, out.replaceAll("\n", "")]).toEqual([0, expect.not.stringMatching(/[\p{Cc}\u202E]/u)]);
  }
});

it("does not report a store that cannot be read as missing", async () => {
  const file = nameFile();
  // Root may read everything, except what leads nowhere.
  symlinkSync(file, file);
  const options = ["--store", file];
  for (const args of [
    ["sessions", "list"],
    ["store", "status"],
    ["store", "renew"],
    ["store", "copy", "--from", file, "--to", nameFile()],
    ["store", "verify"],
    ["store", "backup", `${file}-copy`],
    ["sessions", "delete", "--owner", "ann", "--yes"],
    ["kb", "list", "--kb", file],
    ["doctor"],
  ]) {
    const { code, out, err } = await loom([...args, ...(args.includes(file) ? [] : options)]);
    expect([args, code === 0, out + err]).toEqual([args, false, expect.stringContaining("cannot be read (ELOOP)")]);
  }
});

it("shows and updates a file of the oldest version, and explains what to do with an older one", async () => {
  const place = nameFile();
  const file = join(place, "loom.db");
  writeOldFiles(place, "loom.db");
  const old = await loom(["store", "status", "--store", file]);
  expect(old).toMatchObject({ code: 1, out: expect.stringContaining("run `loom store migrate`") as string });
  expect(old.out).toMatch(/version of log +15, supported is \d+/);
  const setVersion = (version: number): void => {
    const db = new DatabaseSync(file);
    db.exec(`PRAGMA user_version = ${version}`);
    db.close();
  };
  setVersion(14);
  for (const command of ["status", "migrate"]) {
    const { code, out, err } = await loom(["store", command, "--store", file]);
    expect([code === 0, out + err]).toEqual([false, expect.stringContaining("commit 8bf344a2")]);
  }
  setVersion(15);
  const updated = await loom(["store", "migrate", "--store", file]);
  expect(updated).toMatchObject({ code: 0, out: expect.stringContaining("updated from version 15") as string });
  const shown = json((await loom(["store", "status", "--store", file, "--json"])).out);
  const log = await openSqliteLog(file);
  const sessions = await log.listSessions();
  const records = sessions.reduce((sum, { firstId, lastId }) => sum + lastId - firstId + 1, 0);
  const bytes = sessions.reduce((sum, info) => sum + info.bytes, 0);
  expect(shown).toMatchObject({ usable: true, sessions: sessions.length, records, bytes });
  await log.close();
});

it("migrates every part that has tables in the database", () => {
  const files = readSourceFiles("src").filter(({ path }) => !isTestFile(path));
  const declared = files.filter(({ text }) => text.includes(": PostgresFormat = {"));
  expect(declared.length).toBe(SERVER_FORMATS.length + 1);
});

it("says what to do about an invalid URL of a database", async () => {
  const store = "postgres://localhost:99999/loom";
  const advice = "write postgres://user@host:5432/database, with special characters encoded: %40 for @";
  const status = await loom(["store", "status", "--store", store]);
  expect([status.code, status.out]).toEqual([1, expect.stringContaining(`next    ${advice}\n`)]);
  const listed = await loom(["sessions", "list", "--store", store]);
  expect([listed.code, listed.err]).toEqual([2, `loom: The URL of the database is not valid\n      ${advice}\n`]);
});

it("rejects a copy without two stores", async () => {
  const file = nameFile();
  for (const [args, message] of [
    [["--to", file], "needs --from STORE"],
    [["--from", file], "needs --to STORE"],
    [["--from", file, "--to", file], "the same store"],
    [["--from", file, "--to", nameFile()], "there is no store"],
  ] as const)
    expect(await loom(["store", "copy", ...args])).toMatchObject({
      code: 2,
      err: expect.stringContaining(message) as string,
    });
});

describe.skipIf(NO_POSTGRES !== undefined)("PostgreSQL", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
    // It listens before it accepts connections.
    await vi.waitFor(() => query(server.url, "SELECT 1"), { timeout: 30_000, interval: 50 });
  });
  afterAll(() => server.stop());

  async function query(url: string, ...statements: readonly string[]): Promise<void> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      for (const sql of statements) await client.query(sql);
    } finally {
      await client.end();
    }
  }

  /** Creates a database; returns its URL for a user. */
  async function createDatabase(): Promise<(user: string) => string> {
    const name = `store_${++count}`;
    await query(server.url, `CREATE DATABASE ${name}`);
    return (user) => `postgres://${user}@127.0.0.1:${server.port}/${name}`;
  }

  it("shows whether a database can be used, without its password", async () => {
    const away = await loom(["store", "status", "--store", "postgres://me:secret@127.0.0.1:1/none", "--json"]);
    expect(away.code).toBe(1);
    expect(away.out).not.toContain("secret");
    expect(json(away.out)).toMatchObject({
      kind: "postgres",
      store: "postgres://127.0.0.1:1/none",
      schema: "loom",
      reachable: false,
      usable: false,
      problem: { code: "store_unavailable", advice: expect.stringContaining("start the database") as string },
    });
    const url = (await createDatabase())("postgres:secret");
    const empty = await loom(["store", "status", "--store", url]);
    expect(empty).toMatchObject({ code: 1, out: expect.stringContaining("run `loom store migrate`") as string });
    expect((await loom(["store", "migrate", "--store", url])).out).toContain("log: created, version");
    const log = await openPostgresLog(url);
    await fillStore(log);
    await writeRuns(log, "live", 1, { isLive: true });
    await log.acquire("a", { holder: "machine/1/2/3", ttlMs: 60_000 });
    await log.acquire("live", { holder: "machine/1/2/4", ttlMs: 60_000 });
    const bytes = (await log.listSessions()).reduce((sum, info) => sum + info.bytes, 0);
    await log.close();
    const shown = await loom(["store", "status", "--store", url, "--json"]);
    const counts = { sessions: 6, records: 15, bytes, live_runs: 1, pending_commands: 2, workers: 1 };
    expect(json(shown.out)).toMatchObject({ reachable: true, usable: true, ...counts });
    expect(shown).toMatchObject({ code: 0, out: expect.not.stringContaining("secret") as string });
    await query(url, "UPDATE loom.migrations SET version = 99 WHERE name = 'log'");
    for (const [command, code] of [
      ["status", 1],
      ["migrate", 2],
    ] as const) {
      const { out, err, ...ended } = await loom(["store", command, "--store", url]);
      expect(ended.code).toBe(code);
      expect(out + err).toContain("version 99 of the log");
    }
  });

  it("has several stores in one database, one per schema", async () => {
    const [from, to] = ["first", "second"].map((name) => ["--store", server.url, "--schema", name]) as [
      string[],
      string[],
    ];
    const created = await loom(["store", "migrate", ...from]);
    expect(created).toMatchObject({ code: 0, out: expect.stringContaining("log: created") as string });
    const status = async (...args: string[]) => json((await loom(["store", "status", "--json", ...args])).out);
    expect(await status(...from)).toMatchObject({ schema: "first", usable: true, sessions: 0 });
    expect(await status(...to)).toMatchObject({ schema: "second", usable: false });
    const log = await openPostgresLog(server.url, { schema: "first" });
    await writeRuns(log, "a", 2);
    await log.close();
    const copy = ["store", "copy", "--from", server.url, "--to", server.url, "--from-schema", "first"];
    expect(await loom([...copy, "--to-schema", "first"])).toMatchObject({
      code: 2,
      err: expect.stringContaining("the same store") as string,
    });
    expect(await loom([...copy, "--to-schema", "second"])).toMatchObject({ code: 0 });
    // Nothing has used the tables of tokens there, and nothing must.
    expect(await status(...to)).toMatchObject({ schema: "second", usable: true, sessions: 1, records: 4 });
    expect((await loom(["store", "status", ...to])).out).toMatch(/version of credentials +none, supported is/);
    // Commands without an option read the variable.
    const env = { LOOM_STORE: server.url, LOOM_STORE_SCHEMA: "second" };
    expect(await loom(["token", "create", "one"], { env })).toMatchObject({ code: 0 });
    expect((await loom(["token", "list"], { env })).out).toContain("one");
    expect((await loom(["token", "list"], { env: { ...env, LOOM_STORE_SCHEMA: "first" } })).out).not.toContain("one");
    const refused = await loom(["token", "list"], { env: { ...env, LOOM_STORE_SCHEMA: "Second" } });
    expect(refused).toMatchObject({
      code: 2,
      err: expect.stringContaining("LOOM_STORE_SCHEMA: Second is not") as string,
    });
  });

  it("is migrated once by several processes", async () => {
    const url = (await createDatabase())("postgres");
    const all = await Promise.all(Array.from({ length: 4 }, () => migrateStore(url, SERVER_FORMATS)));
    for (const name of ["log", ...SERVER_FORMATS.map((format) => format.name)]) {
      const before = all.map((parts) => parts.find((part) => part.name === name)?.stored);
      expect(before.filter((version) => version === 0)).toHaveLength(1);
    }
  });

  it("serves a user who may not create tables, after another has migrated it", async () => {
    const urlOf = await createDatabase();
    const [admin, app] = [urlOf("postgres"), urlOf("app")];
    // The statements of the guide.
    const guide = readFileSync(new URL("../docs/guides/operate-postgresql.md", import.meta.url), "utf8");
    const [grants = "", ...others] = [...guide.matchAll(/```sql\n([^`]+)```/g)].map(([, sql = ""]) => sql);
    await query(admin, "CREATE ROLE app LOGIN");
    await expect(openPostgresLog(app)).rejects.toMatchObject({
      code: "store_failed",
      message: expect.stringContaining("loom store migrate") as string,
    });
    expect((await loom(["store", "migrate", "--store", app])).code).toBe(2);
    expect((await loom(["store", "migrate", "--store", admin])).code).toBe(0);
    await query(admin, grants);
    // Some of them cannot share a transaction.
    for (const sql of others) await query(admin, ...sql.split(/;\n/).filter((text) => text.trim() !== ""));
    expect(others.length).toBeGreaterThan(1);
    await expect(query(app, "CREATE TABLE loom.mine (a int)")).rejects.toThrow("permission denied");
    expect((await loom(["store", "status", "--store", app])).code).toBe(0);
    expect((await loom(["store", "migrate", "--store", app])).code).toBe(0);
    const log = await openPostgresLog(app);
    await fillStore(log);
    expect(await log.searchSessions({ query: "first" })).toHaveLength(1);
    await log.createSession("copy", {
      entries: [entry("copy", 1, "r", { type: "run_start", run_id: "r" })],
    });
    await log.saveSnapshot("a", { key: "k", eventId: 2, state: new Uint8Array(3) });
    expect(await log.deleteSession("copy")).toBe(true);
    await log.prune({ maxAgeMs: 0, now: Date.now() + 1000 });
    await log.close();
    const db = await openPostgres(app);
    const credentials = await openPostgresCredentials(db);
    expect(await credentials.createToken({ name: "laptop" })).toBeDefined();
    expect(await (await createPostgresRateCounters(db)).take("caller", 10)).toBe(0);
    const blobs = await openPostgresBlobStore(db, SERVER_LIMITS);
    expect(await blobs.put("a", [Buffer.from("a file")], { mediaType: "text/plain" })).toMatchObject({ bytes: 6 });
    const knowledge = await openSharedKnowledgeBase(db);
    expect(await knowledge.addText({ uri: "a", text: "# Tides" })).toBe("added");
    expect(await knowledge.addText({ uri: "a", text: "# Tides\n\nThe moon." })).toBe("updated");
    expect(await knowledge.search("moon")).toHaveLength(1);
    expect(await knowledge.remove("a")).toBe(1);
    await knowledge.setNote("a", "b");
    await db.close();
  });

  it.runIf(LONG)("copies all sessions to a database and back, names live ones, and continues a copy", async () => {
    const [file, back] = [nameFile(), nameFile()];
    const url = (await createDatabase())("postgres:secret");
    const source = await openSqliteLog(file);
    await fillStore(source);
    const credentials = openCredentials(`${file}-auth`);
    const { secret } = await credentials.createToken({ name: "laptop" });
    await writeRuns(source, "live", 1, { isLive: true });
    const held = await source.acquire("held", { holder: "another machine", ttlMs: 60_000 });
    const first = await loom(["store", "copy", "--from", file, "--to", url, "--json"]);
    expect(first.code).toBe(1);
    expect(first.out).not.toContain("secret");
    const lines = parseLines(first.out);
    expect(lines.at(-1)).toMatchObject({ copied: 5, live: 2, different: 0, not_copied: expect.anything() as unknown });
    expect(lines.find((line) => line["session_id"] === "live")).toMatchObject({
      status: "live",
      reason: 'run "run 0" has not ended',
    });
    expect(lines.find((line) => line["session_id"] === "held")).toMatchObject({ status: "live" });
    expect(lines.find((line) => line["session_id"] === "a")).toMatchObject({
      status: "copied",
      records: 6,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    });
    await source.release(held);
    for (const sessionId of ["live", "held"]) await source.deleteSession(sessionId);
    // The second pass continues a session that has grown, and finds the others.
    await writeRuns(source, "a", 2);
    const second = await loom(["store", "copy", "--from", file, "--to", url, "--json"]);
    expect(second.code).toBe(0);
    expect(parseLines(second.out).at(-1)).toMatchObject({ copied: 1, present: 4 });
    const third = await loom(["store", "copy", "--from", url, "--to", back]);
    expect(third).toMatchObject({
      code: 0,
      out: expect.stringContaining("5 sessions copied, 0 already there") as string,
    });
    expect(third.out).toContain("1 token copied\nnot part of the copy: share links");
    const copied = openCredentials(`${back}-auth`);
    expect(await copied.find(secret)).toMatchObject({ name: "laptop" });
    await Promise.all([credentials.close(), copied.close()]);
    const expected = await describeAll(source);
    for (const store of [url, back]) {
      const log = await openLog(store);
      expect(await describeAll(log)).toEqual(expected);
      await log.close();
    }
    // Another session with the same ID is kept, and the others are still copied.
    await source.deleteSession("a");
    await source.createSession("a", { owner: "alice" });
    await writeRuns(source, "a", 1, { text: "other" });
    await source.createSession("new");
    await query(
      url,
      "UPDATE loom.records SET text = replace(text, 'é', 'e') WHERE session = (SELECT key FROM loom.sessions WHERE session_id = 'branch')",
    );
    const fourth = await loom(["store", "copy", "--from", file, "--to", url]);
    expect(fourth).toMatchObject({ code: 1, out: expect.stringContaining("not copied: a (different)") as string });
    expect(fourth.out).toContain("not copied: branch (different): its records are different");
    expect(fourth.out).toContain("1 session copied, 3 already there, 2 not copied");
    await source.close();
  });

  /** Starts a copy as a process and kills it when `isDue`. */
  async function copyAndKill(from: string, to: string, isDue: (out: string) => Promise<boolean>): Promise<void> {
    const args = [...nodeArgs(), COMMAND, "store", "copy", "--from", from, "--to", to, "--json"];
    const child = spawn(process.execPath, args, { env: environment(), stdio: ["ignore", "pipe", "ignore"] });
    const closed = once(child, "close");
    let out = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => (out += chunk));
    while (child.exitCode === null && !(await isDue(out))) await pause(5);
    child.kill("SIGKILL");
    await closed;
  }

  async function expectEqual(from: string, to: string): Promise<void> {
    const [source, target] = [await openLog(from), await openLog(to)];
    expect(await describeAll(target)).toEqual(await describeAll(source));
    await source.close();
    await target.close();
  }

  it.runIf(LONG)(
    "copies the files of sessions, finds them in the next copy, and names sessions with damaged ones",
    async () => {
      const [file, back] = [nameFile(), nameFile()];
      const url = (await createDatabase())("postgres");
      await using source = await openStore(file);
      const log = await openSqliteLog(file);
      for (const id of ["a", "b"]) await writeRuns(log, id, 1);
      await log.close();
      const blobs = await source.openBlobs(SERVER_LIMITS);
      const bytes = new Uint8Array(600_000).fill(7);
      const info = await blobs.put("a", [bytes], { mediaType: "image/png", name: "图.png" });
      const other = await blobs.put("b", [Buffer.from("text")], { mediaType: "text/plain" });
      for (const [from, to] of [
        [file, url],
        [url, back],
      ] as const) {
        const first = await loom(["store", "copy", "--from", from, "--to", to]);
        expect(first).toMatchObject({ code: 0, out: expect.stringContaining("2 sessions copied") as string });
        expect(first.out).toContain("2 files verified");
        const again = await loom(["store", "copy", "--from", from, "--to", to]);
        expect(again.out).toContain("0 sessions copied, 2 already there");
        await using target = await openStore(to);
        const copies = await target.openBlobs(SERVER_LIMITS);
        const copy = await copies.read("a", info.blobId);
        expect(copy.info).toEqual({ ...info, createdAt: copy.info.createdAt });
        expect(Buffer.from(await new Response(copy.bytes as never).arrayBuffer()).equals(bytes)).toBe(true);
      }
      // One is damaged in the target, which is repaired; then one in the source, which is reported.
      await query(url, "UPDATE loom.blob_chunks SET bytes = 'jello' WHERE length(bytes) = 4");
      const repaired = await loom(["store", "copy", "--from", file, "--to", url]);
      expect(repaired.out).toContain("1 session copied, 1 already there");
      await query(url, "UPDATE loom.blob_chunks SET bytes = 'jello' WHERE length(bytes) = 4");
      const third = await loom(["store", "copy", "--from", url, "--to", nameFile()]);
      expect([third.code, third.out]).toEqual([1, expect.stringContaining("not copied: b (failed): 1 of its files")]);
      expect(third.out).toContain(other.blobId);
    },
  );

  it.runIf(LONG)("continues after the process was killed in the middle of a session", async () => {
    const [file, url] = [nameFile(), (await createDatabase())("postgres")];
    const source = await openSqliteLog(file);
    for (let index = 0; index < 5; index++) await writeRuns(source, `s${index}`, 30, { text: "x".repeat(5000) });
    await source.close();
    await migrateStore(url, SERVER_FORMATS);
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    // The copy of s3 is written, but waits for this transaction before it gets its ID.
    await client.query("BEGIN");
    await client.query(`INSERT INTO loom.sessions (session_id, incarnation, owner, created_at, updated_at, first_id,
      last_id, epoch) VALUES ('s3', '', '', 0, 0, 1, 0, 0)`);
    await copyAndKill(file, url, async () => {
      const { rows } = await client.query("SELECT 1 FROM loom.sessions WHERE session_id IS NULL AND last_id = 60");
      const waiting = await client.query("SELECT 1 FROM pg_locks WHERE NOT granted");
      return rows.length > 0 && waiting.rows.length > 0;
    });
    await client.query("ROLLBACK");
    const { rows } = await client.query("SELECT session_id FROM loom.sessions ORDER BY key");
    expect(rows.map((row: { session_id: unknown }) => row.session_id)).toEqual(["s0", "s1", "s2", null]);
    await client.end();
    const again = await loom(["store", "copy", "--from", file, "--to", url, "--json"]);
    expect(again.code).toBe(0);
    expect(parseLines(again.out).at(-1)).toMatchObject({ copied: 2, present: 3, records: 300 });
    await expectEqual(file, url);
  });

  it.runIf(LONG)("continues a copy to a file after the process was killed", async () => {
    const [file, url] = [nameFile(), (await createDatabase())("postgres")];
    const source = await openPostgresLog(url);
    for (let index = 0; index < 8; index++) await writeRuns(source, `s${index}`, 30, { text: "x".repeat(5000) });
    await source.close();
    await copyAndKill(url, file, async (out) => out.includes("\n"));
    expect((await loom(["store", "copy", "--from", url, "--to", file])).code).toBe(0);
    await expectEqual(url, file);
  });
});
