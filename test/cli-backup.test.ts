// `loom store backup`, `loom store restore` and `loom store verify`: while another process writes, with damage of each kind, and killed.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout } from "node:timers/promises";
import { beforeAll, expect, it } from "vitest";
import { findBlobFault, listBlobs } from "../src/cli/backup/copy-blobs.ts";
import { MANIFEST, writeManifest } from "../src/cli/backup/manifest.ts";
import { openKnowledgeBase } from "../src/context/index.ts";
import { exportSession, openSqliteLog } from "../src/log/index.ts";
import { openBlobStore, openCredentials, SERVER_LIMITS } from "../src/server/index.ts";
import { COMMAND, environment, folder, loom } from "./cli-run.ts";
import { startChild } from "./durability/child.ts";
import { verifyKnownRecords } from "./durability/known-records.ts";
import { gather } from "./log-sessions.ts";
import { LONG } from "./sampling.ts";

interface Data {
  readonly store: string;
  readonly kb: string;
  /** Options that name both. */
  readonly options: readonly string[];
}

const KILL_AFTER_MS = LONG ? [60, 150, 250, 350, 500, 700, 900, 1200] : [400];

let count = 0;
function nameData(): Data {
  const place = join(folder, `data-${++count}`);
  const [store, kb] = [join(place, "loom.db"), join(place, "kb.db")];
  return { store, kb, options: ["--store", store, "--kb", kb] };
}
const nameBackup = (): string => join(folder, `backup-${++count}`);

/** A store with sessions, a file, a token and a document. */
const data = nameData();
let blobId = "";

beforeAll(async () => {
  mkdirSync(dirname(data.store), { recursive: true });
  const child = startChild("write-child.ts", [data.store, "a,b", "40", "1"]);
  await child.ended;
  const blobs = await openBlobStore(`${data.store}-blobs`, SERVER_LIMITS);
  ({ blobId } = await blobs.put("a", [Buffer.from("a file")], { mediaType: "text/plain", name: "a.txt" }));
  // Its session does not exist.
  await blobs.put("nowhere", [Buffer.from("lost")], { mediaType: "text/plain" });
  await blobs.close();
  const credentials = openCredentials(`${data.store}-auth`);
  await credentials.createToken({ name: "laptop" });
  await credentials.close();
  await using knowledge = await openKnowledgeBase(data.kb);
  await knowledge.addText({ uri: "tides", text: "# Tides\n\nThe moon pulls the sea." });
});

async function readSession(store: string, session: string): Promise<string> {
  const log = await openSqliteLog(store);
  try {
    return (await gather(exportSession(log, session))).join("");
  } finally {
    await log.close();
  }
}

it("restores sessions, files, tokens and documents byte by byte", async () => {
  const backup = nameBackup();
  const made = await loom(["store", "backup", backup, ...data.options], { isChild: true });
  expect([made.code, made.err]).toEqual([0, ""]);
  expect(made.out).toMatch(
    /: \d+ files, \d+ bytes, 2 sessions, \d+ records, 1 uploaded file, 1 token, 1 document; nothing is damaged\n$/,
  );
  expect(readdirSync(backup).toSorted()).toEqual([
    "blobs",
    "credentials.db",
    "knowledge.db",
    "manifest.json",
    "store.db",
  ]);
  if (process.platform !== "win32")
    for (const name of readdirSync(backup)) expect(statSync(join(backup, name)).mode & 0o077, name).toBe(0);
  expect((await loom(["store", "verify", backup])).code).toBe(0);

  const target = nameData();
  const restored = await loom(["store", "restore", backup, ...target.options, "--json"]);
  expect(restored.code).toBe(0);
  expect(JSON.parse(restored.out)).toMatchObject({ sessions: 2, blobs: 1, tokens: 1, documents: 1, damaged: [] });
  for (const session of ["a", "b"])
    expect(await readSession(target.store, session)).toBe(await readSession(data.store, session));
  const blobs = await openBlobStore(`${target.store}-blobs`, SERVER_LIMITS);
  const { bytes } = await blobs.read("a", blobId);
  expect(await new Response(bytes).text()).toBe("a file");
  await blobs.close();
  const credentials = openCredentials(`${target.store}-auth`);
  expect((await credentials.listTokens()).map(({ name }) => name)).toEqual(["laptop"]);
  await credentials.close();
  await using knowledge = await openKnowledgeBase(target.kb);
  expect((await knowledge.list()).map(({ uri }) => uri)).toEqual(["tides"]);
  // Clients of the original may be ahead of the backup, so their cursors must not fit.
  const [before, after] = [await openSqliteLog(data.store), await openSqliteLog(target.store)];
  expect((await after.getSession("a"))?.incarnation).not.toBe((await before.getSession("a"))?.incarnation);
  await Promise.all([before.close(), after.close()]);
});

it("restores nothing if the store is too old", async () => {
  const backup = nameBackup();
  expect((await loom(["store", "backup", backup, ...data.options])).code).toBe(0);
  const store = new DatabaseSync(join(backup, "store.db"));
  store.exec("PRAGMA user_version = 1");
  store.close();
  rmSync(join(backup, MANIFEST));
  await writeManifest(backup);
  const target = nameData();
  const refused = await loom(["store", "restore", backup, ...target.options]);
  expect(refused.code).not.toBe(0);
  expect(refused.err).toContain("8bf344a2");
  expect(readdirSync(dirname(target.store)).toSorted()).toEqual(["loom.db-restoring", "loom.db.unfinished"]);
});

it("backs up a consistent state while another process writes", async () => {
  const busy = nameData();
  mkdirSync(dirname(busy.store), { recursive: true });
  const child = startChild("write-child.ts", [busy.store, "a,b,c", "1000000", "5"]);
  await child.next("ack");
  const backup = nameBackup();
  const made = await loom(["store", "backup", backup, ...busy.options, "--json"]);
  child.process.kill("SIGKILL");
  await child.ended;
  expect(made.code).toBe(0);
  const target = nameData();
  expect((await loom(["store", "restore", backup, ...target.options])).code).toBe(0);
  const log = await openSqliteLog(target.store);
  for (const { sessionId } of await log.listSessions()) await verifyKnownRecords(log, sessionId);
  await log.close();
});

it("refuses a database, without its password", async () => {
  const options = { env: { LOOM_STORE: "postgres://me:secret@db.example.com/loom" } };
  for (const args of [
    ["store", "backup", nameBackup()],
    ["store", "restore", nameBackup()],
    ["store", "verify"],
  ]) {
    const { code, err } = await loom(args, options);
    expect([code, err]).toEqual([2, expect.stringContaining("postgres://db.example.com/loom is a database")]);
    expect(err).toContain("see the guide Operate PostgreSQL");
    expect(err).not.toContain("secret");
  }
});

it("refuses to overwrite anything, and folders without a backup", async () => {
  const backup = nameBackup();
  mkdirSync(backup);
  const missing = nameData();
  const cases: readonly (readonly [readonly string[], string])[] = [
    [["store", "backup", backup, ...data.options], `\`${backup}\` exists already`],
    [["store", "backup", nameBackup(), ...missing.options], `there is no store \`${missing.store}\``],
    [["store", "verify", ...missing.options], `there is no store \`${missing.store}\``],
    [
      ["store", "restore", backup, ...missing.options],
      `\`${backup}\` is not a complete backup: it has no manifest.json`,
    ],
    [["store", "restore"], "`loom store restore` needs FOLDER"],
  ];
  for (const [args, message] of cases) {
    const { code, out, err } = await loom(args);
    expect([code, out], args.join(" ")).toEqual([2, ""]);
    expect(err).toContain(message);
  }
  rmSync(backup, { recursive: true });
  expect((await loom(["store", "backup", backup, ...data.options])).code).toBe(0);
  const again = await loom(["store", "restore", backup, ...data.options]);
  expect([again.code, again.err]).toEqual([2, expect.stringContaining("exists already")]);
});

it("refuses to restore next to the log of an earlier database", async () => {
  const backup = nameBackup();
  expect((await loom(["store", "backup", backup, ...data.options])).code).toBe(0);
  const target = nameData();
  mkdirSync(dirname(target.store), { recursive: true });
  for (const left of [`${target.store}-wal`, `${target.store}-auth-shm`, `${target.kb}-journal`]) {
    writeFileSync(left, "");
    const { code, err } = await loom(["store", "restore", backup, ...target.options]);
    expect([code, err]).toEqual([2, expect.stringContaining(`\`${left}\` exists already`)]);
    expect(readdirSync(dirname(target.store))).toEqual([basename(left)]);
    rmSync(left);
  }
});

/** A name that would change the order of the text. */
const HOSTILE = "\u202Ehostile";

it("names each damaged part of the data", async () => {
  const hurt = nameData();
  cpSync(dirname(data.store), dirname(hurt.store), { recursive: true });
  const log = await openSqliteLog(hurt.store);
  await log.createSession(HOSTILE, { title: "x" });
  await log.close();
  const db = new DatabaseSync(hurt.store);
  db.exec(
    "UPDATE recent SET text = replace(text, 'a', 'e') WHERE session = (SELECT key FROM sessions WHERE session_id = 'a')",
  );
  db.exec("UPDATE sessions SET title = 'changed' WHERE session_id <> 'a'");
  db.close();
  const [session = ""] = readdirSync(`${hurt.store}-blobs`).filter((name) =>
    existsSync(join(`${hurt.store}-blobs`, name, blobId)),
  );
  writeFileSync(join(`${hurt.store}-blobs`, session, blobId, "bytes"), "a fil3");
  writeFileSync(`${hurt.store}-auth`, "This is not a database.".repeat(100));
  const { code, out } = await loom(["store", "verify", ...hurt.options]);
  expect(code).toBe(1);
  expect(out).toContain('damaged: session "a": ');
  expect(out).toContain('damaged: session "b": ');
  expect(out).toContain(`damaged: file ${blobId} of session "a": its bytes are damaged`);
  expect(out).toContain("damaged: credentials: ");
  expect(out).toMatch(/; 5 damaged\n$/);
  const { out: json } = await loom(["store", "verify", ...hurt.options, "--json"]);
  for (const text of [out, json]) expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\u202E]/u);
  expect((JSON.parse(json) as { readonly damaged: readonly string[] }).damaged.join("")).toContain(HOSTILE);
});

it("names files with a damaged description, not files that are deleted meanwhile", async () => {
  const hurt = nameData();
  cpSync(dirname(data.store), dirname(hurt.store), { recursive: true });
  const place = `${hurt.store}-blobs`;
  const [session = ""] = readdirSync(place).filter((name) => existsSync(join(place, name, blobId)));
  const found = { session, blob: blobId, path: join(place, session, blobId) };
  const meta = join(found.path, "meta.json");
  const text = readFileSync(meta, "utf8");
  expect(await findBlobFault(found, "a")).toBeUndefined();
  expect(await findBlobFault(found)).toBeUndefined();
  for (const damage of ["", text.replace("text/plain", "text/plaim"), text.slice(0, -5), "[]"]) {
    writeFileSync(meta, damage);
    expect(await findBlobFault(found, "a"), damage).toBe("meta.json is damaged");
  }
  const { code, out } = await loom(["store", "verify", ...hurt.options]);
  expect([code, out]).toEqual([1, expect.stringContaining(`file ${blobId} of session "a": meta.json is damaged`)]);
  writeFileSync(meta, text);
  rmSync(join(found.path, "bytes"));
  expect(await findBlobFault(found, "a")).toBe("its bytes are missing");
  rmSync(join(place, session), { recursive: true });
  expect(await findBlobFault(found, "a")).toBeUndefined();
});

it("does not take a folder of files that cannot be read for an empty one", async () => {
  await expect(listBlobs(join(folder, "x".repeat(300))).next()).rejects.toThrow("ENAMETOOLONG");
  expect(await listBlobs(nameData().store).next()).toMatchObject({ done: true });
});

it("checks the whole knowledge base, also a large one", async () => {
  const hurt = nameData();
  cpSync(dirname(data.store), dirname(hurt.store), { recursive: true });
  // Larger than what is checked when it is opened.
  const db = new DatabaseSync(hurt.kb);
  db.exec("INSERT INTO notes VALUES ('large', printf('%.*c', 20000000, 'x'))");
  const { rootpage } = db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'chunks_by_document'").get() as {
    rootpage: number;
  };
  db.close();
  expect((await loom(["store", "verify", ...hurt.options])).code).toBe(0);
  const file = openSync(hurt.kb, "r+");
  writeSync(file, Buffer.alloc(4096), 0, 4096, (rootpage - 1) * 4096);
  closeSync(file);
  const { code, out } = await loom(["store", "verify", ...hurt.options]);
  expect([code, out]).toEqual([1, expect.stringContaining("damaged: knowledge: ")]);
});

it("names a file that is not a knowledge base, and leaves nothing", async () => {
  const backup = nameBackup();
  const kb = join(folder, "not-a-base.db");
  writeFileSync(kb, "text");
  const { code, err } = await loom(["store", "backup", backup, "--store", data.store, "--kb", kb]);
  expect([code, err]).toEqual([2, expect.stringMatching(/^loom: The knowledge base .*--kb FILE.*LOOM_KB/)]);
  expect(err).not.toContain("--store");
  expect(readdirSync(folder).filter((name) => name.startsWith(basename(backup)))).toEqual([]);
});

it("names each changed file of a backup, and restores nothing from it", async () => {
  const backup = nameBackup();
  expect((await loom(["store", "backup", backup, ...data.options])).code).toBe(0);
  writeFileSync(join(backup, "knowledge.db"), "x");
  rmSync(join(backup, "credentials.db"));
  writeFileSync(join(backup, "more"), "");
  const target = nameData();
  for (const args of [
    ["store", "verify", backup],
    ["store", "restore", backup, ...target.options],
  ]) {
    const { code, out } = await loom([...args, "--json"]);
    expect(code).toBe(1);
    expect((JSON.parse(out) as { damaged: string[] }).damaged).toEqual([
      "credentials.db is missing",
      "knowledge.db is damaged",
      "more is not part of the backup",
    ]);
  }
  expect(existsSync(dirname(target.store))).toBe(false);
  const outside = readFileSync(join(backup, "manifest.json"), "utf8").replace("store.db", "../store.db");
  writeFileSync(join(backup, "manifest.json"), outside);
  expect((await loom(["store", "verify", backup])).err).toContain("is damaged");
});

it("leaves a complete result or none when it is killed, and can be repeated", async () => {
  const whole = nameBackup();
  expect((await loom(["store", "backup", whole, ...data.options])).code).toBe(0);
  for (const wait of KILL_AFTER_MS) {
    const backup = nameBackup();
    await kill(["store", "backup", backup, ...data.options], wait);
    if (existsSync(backup)) expect((await loom(["store", "verify", backup])).code).toBe(0);
    const target = nameData();
    await kill(["store", "restore", whole, ...target.options], wait);
    if (!existsSync(target.store)) expect((await loom(["store", "restore", whole, ...target.options])).code).toBe(0);
    expect((await loom(["store", "verify", ...target.options])).code).toBe(0);
    expect(await readSession(target.store, "a")).toBe(await readSession(data.store, "a"));
  }
});

it("deletes nothing when an interrupted restore is repeated", async () => {
  const [backup, other] = [nameBackup(), nameBackup()];
  for (const name of [backup, other]) expect((await loom(["store", "backup", name, ...data.options])).code).toBe(0);
  const target = nameData();
  expect((await loom(["store", "restore", backup, ...target.options])).code).toBe(0);
  // As if it had been interrupted before the store appeared, and the files had changed since.
  rmSync(target.store);
  const kept = join(`${target.store}-blobs`, "kept");
  writeFileSync(kept, "");
  const marker = `${target.store}-restoring`;
  writeFileSync(
    marker,
    createHash("sha256")
      .update(readFileSync(join(other, "manifest.json")))
      .digest("hex"),
  );
  const refused = await loom(["store", "restore", backup, ...target.options]);
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining("exists already")]);
  expect((await loom(["store", "restore", other, ...target.options])).code).toBe(0);
  expect([existsSync(kept), existsSync(marker)]).toEqual([true, false]);
  expect(await readSession(target.store, "a")).toBe(await readSession(data.store, "a"));
});

async function kill(args: readonly string[], afterMs: number): Promise<void> {
  const child = spawn(process.execPath, [COMMAND, ...args], { env: environment(), stdio: "ignore" });
  const closed = once(child, "close");
  await Promise.race([setTimeout(afterMs), closed]);
  child.kill("SIGKILL");
  await closed;
}
