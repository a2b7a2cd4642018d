// The credentials file: permissions, validation, contents and concurrent processes.
import { execFile } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { isLoomError } from "../../../protocol/index.ts";
import { makeKey } from "./key.ts";
import { openCredentials } from "./open-credentials.ts";
import { ANONYMOUS, type Principal } from "../principal.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-credentials-file-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const newFile = (): string => join(folder, `${++files}-auth`);
const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);
const ALICE: Principal = { ...ANONYMOUS, kind: "jwt", id: "jwt:alice", owner: "jwt:alice" };

it("does not write or wait for an unknown cookie or ticket", () => {
  const file = newFile();
  const credentials = openCredentials(file, { busyTimeoutMs: 0 });
  const { secret } = credentials.createCookie(ALICE, Date.now() + 60_000);
  const other = new DatabaseSync(file);
  other.exec("BEGIN IMMEDIATE");
  credentials.deleteCookie(makeKey("cookie").secret);
  expect(credentials.useTicket(makeKey("ticket").secret)).toBeUndefined();
  expect(() => credentials.deleteCookie(secret)).toThrow(expect.objectContaining({ code: "store_busy" }));
  other.close();
  credentials.deleteCookie(secret);
  expect(credentials.find(secret)).toBeUndefined();
  credentials.close();
});

it("does not block requests and runs while another process has locked the file", () => {
  const file = newFile();
  const credentials = openCredentials(file);
  const { secret } = credentials.createToken({ name: "laptop" });
  const other = new DatabaseSync(file);
  other.exec("BEGIN IMMEDIATE");
  const before = performance.now();
  for (let i = 0; i < 10; i++) {
    expect(credentials.find(secret)).toBeDefined();
    expect(() => credentials.addSpent("token:a", 5)).toThrow(expect.objectContaining({ code: "store_busy" }));
  }
  expect(performance.now() - before).toBeLessThan(1500);
  other.close();
  credentials.addSpent("token:a", 5);
  expect(credentials.readSpent("token:a")).toBe(5);
  // A use that could not be recorded is recorded with the next request.
  credentials.find(secret);
  expect(credentials.listTokens()[0]?.usedAt).toBeGreaterThan(0);
  credentials.close();
});

function refusalOf(path: string): readonly [code: string, message: string] {
  try {
    openCredentials(path).close();
  } catch (error) {
    if (isLoomError(error)) return [error.code, error.message];
    throw error;
  }
  return ["", "opened"];
}

describe("the credentials file", () => {
  it("is private to its owner, including side files and created folders", () => {
    const path = join(folder, "made", "deep", "store-auth");
    const credentials = openCredentials(path);
    credentials.createToken({ name: "a" });
    expect([path, `${path}-wal`, `${path}-shm`].map(modeOf)).toEqual(["600", "600", "600"]);
    expect([join(folder, "made"), join(folder, "made", "deep")].map(modeOf)).toEqual(["700", "700"]);
    credentials.close();
    expect(readdirSync(join(folder, "made", "deep"))).toEqual(["store-auth"]);
  });

  it("becomes private again if it was readable for others", () => {
    const path = newFile();
    openCredentials(path).close();
    chmodSync(path, 0o666);
    openCredentials(path).close();
    expect(modeOf(path)).toBe("600");
  });

  it("persists tokens and usage", () => {
    const path = newFile();
    const before = openCredentials(path);
    const { secret } = before.createToken({ name: "a" });
    before.addSpent("a", 3);
    before.close();
    const after = openCredentials(path);
    expect([after.hasTokens, after.find(secret)?.name, after.readSpent("a")]).toEqual([true, "a", 3]);
    after.close();
  });

  it("is migrated with its share links", () => {
    const path = newFile();
    const before = openCredentials(path);
    const { secret } = before.createShare({ session: "s", incarnation: "i", owner: "ann", maker: "jwt:ann" });
    before.close();
    // Restore the schema of version 1.
    const db = new DatabaseSync(path);
    db.exec("ALTER TABLE shares DROP COLUMN maker; PRAGMA user_version = 1");
    db.close();
    const after = openCredentials(path);
    expect(after.find(secret)).toMatchObject({ owner: "ann", limits: {} });
    expect(after.createShare({ session: "s", incarnation: "i", owner: "ann", maker: "jwt:ann" }).info.maker).toBe(
      "jwt:ann",
    );
    after.close();
  });

  it("contains no secret while open or closed", () => {
    const path = newFile();
    const credentials = openCredentials(path);
    const token = credentials.createToken({ name: "needle-in-the-file" });
    const principal = credentials.find(token.secret) ?? ANONYMOUS;
    const expiresAt = Date.now() + 60_000;
    const secrets = [
      token.secret,
      credentials.createShare({ session: "s", incarnation: "i", owner: "local" }).secret,
      credentials.createCookie(principal, expiresAt).secret,
      credentials.createTicket(principal, { expiresAt }).secret,
    ];
    const readAll = (): Buffer =>
      Buffer.concat(
        [path, `${path}-wal`, `${path}-shm`].filter((file) => existsSync(file)).map((file) => readFileSync(file)),
      );
    const containsSecret = (bytes: Buffer): readonly boolean[] =>
      secrets.flatMap((secret) => {
        const random = secret.slice(22);
        return [bytes.includes(random), bytes.includes(Buffer.from(random, "base64url"))];
      });
    const whileOpen = readAll();
    credentials.close();
    for (const bytes of [whileOpen, readAll()]) {
      expect(bytes.includes("needle-in-the-file")).toBe(true);
      expect(containsSecret(bytes)).not.toContain(true);
    }
  });
});

describe("rejects and does not change", () => {
  const makers: { readonly [what: string]: readonly [code: string, make: (path: string) => void] } = {
    "a symbolic link": [
      "store_failed",
      (path) => {
        const target = newFile();
        openCredentials(target).close();
        symlinkSync(target, path);
      },
    ],
    "a dangling symbolic link": ["store_failed", (path) => symlinkSync(newFile(), path)],
    "a folder": ["store_failed", (path) => mkdirSync(path)],
    "an empty file": ["store_corrupt", (path) => writeFileSync(path, "")],
    "a text": ["store_corrupt", (path) => writeFileSync(path, "not a database,".repeat(1000))],
    "a truncated database": [
      "store_corrupt",
      (path) => {
        openCredentials(path).close();
        writeFileSync(path, readFileSync(path).subarray(0, 5000));
      },
    ],
    "a database of another program": ["store_corrupt", (path) => change(path, "CREATE TABLE t (x)")],
    "a session store": [
      "store_corrupt",
      (path) => change(path, "CREATE TABLE sessions (x); PRAGMA application_id = 0x4c4f4f4d"),
    ],
    "a newer version": [
      "store_newer",
      (path) => {
        openCredentials(path).close();
        change(path, "PRAGMA user_version = 99");
      },
    ],
    "a missing version": [
      "store_corrupt",
      (path) => {
        openCredentials(path).close();
        change(path, "PRAGMA user_version = 0");
      },
    ],
    "a file without tables": ["store_corrupt", (path) => change(path, "CREATE TABLE t (x); DROP TABLE t")],
    "a file whose WAL was deleted": [
      "store_corrupt",
      (path) => {
        openCredentials(path).close();
        writeFileSync(`${path}-shm`, "");
      },
    ],
    "the WAL of a deleted file": ["store_corrupt", (path) => writeFileSync(`${path}-wal`, "")],
    "a symbolic link in place of its WAL": [
      "store_failed",
      (path) => {
        openCredentials(path).close();
        symlinkSync(newFile(), `${path}-wal`);
      },
    ],
  };

  function change(path: string, sql: string): void {
    const db = new DatabaseSync(path);
    db.exec(sql);
    db.close();
  }

  it.each(Object.entries(makers))("%s", (_, [code, make]) => {
    const path = newFile();
    make(path);
    const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() === true;
    const before = isFile ? readFileSync(path) : undefined;
    const [refused, message] = refusalOf(path);
    expect([refused, message]).toEqual([code, expect.stringContaining(path)]);
    if (before !== undefined) expect(readFileSync(path).equals(before)).toBe(true);
  });
});

describe("several processes", () => {
  const module = JSON.stringify(new URL("open-credentials.ts", import.meta.url).href);
  const run = async (program: string, ...args: readonly string[]): Promise<string> => {
    const source = `import { openCredentials } from ${module}; const [path, ...args] = process.argv.slice(1); ${program}`;
    const evalArgs = ["--input-type=module-typescript", "--eval", source, ...args];
    return (await promisify(execFile)(process.execPath, evalArgs)).stdout;
  };

  it("create one file together and share its contents", async () => {
    const path = newFile();
    const program = "process.stdout.write(openCredentials(path).createToken({ name: args[0] }).secret)";
    const secrets = await Promise.all(["a", "b", "c"].map((name) => run(program, path, name)));
    const credentials = openCredentials(path);
    expect(secrets.map((secret) => credentials.find(secret)?.name)).toEqual(["a", "b", "c"]);
    const principal = credentials.find(secrets[0] ?? "") ?? ANONYMOUS;
    expect(credentials.isValid(principal)).toBe(true);
    await run("openCredentials(path).revokeToken(args[0])", path, "a");
    expect([credentials.isValid(principal), credentials.find(secrets[0] ?? "")]).toEqual([false, undefined]);
    credentials.close();
  });

  it("use each ticket once", async () => {
    const path = newFile();
    const credentials = openCredentials(path);
    const expiresAt = Date.now() + 60_000;
    const tickets = Array.from({ length: 200 }, () => credentials.createTicket(ALICE, { expiresAt }).secret);
    const program = `
      const credentials = openCredentials(path);
      process.stdout.write(JSON.stringify(JSON.parse(args[0]).filter((one) => credentials.useTicket(one) !== undefined)));`;
    const used = await Promise.all([1, 2].map(() => run(program, path, JSON.stringify(tickets))));
    expect(used.flatMap((text) => JSON.parse(text) as string[]).toSorted()).toEqual(tickets.toSorted());
    credentials.close();
  });
});

it("fails when the file was replaced", async () => {
  const path = newFile();
  const credentials = openCredentials(path);
  const { secret } = credentials.createToken({ name: "a" });
  const principal = credentials.find(secret) ?? ANONYMOUS;
  for (const suffix of ["", "-wal", "-shm"]) renameSync(`${path}${suffix}`, `${path}${suffix}-away`);
  openCredentials(path).close();
  const failed = expect.objectContaining({ code: "store_failed", details: {} }) as Error;
  await expect
    .poll(
      () => {
        try {
          return String(credentials.isValid(principal));
        } catch (error) {
          return isLoomError(error) ? error.code : "";
        }
      },
      { timeout: 10_000 },
    )
    .toBe("store_failed");
  expect(() => credentials.find(secret)).toThrow(failed);
  expect(() => credentials.createToken({ name: "b" })).toThrow(failed);
  credentials.close();
});
