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
import { setTimeout } from "node:timers/promises";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { isLoomError } from "../../../protocol/index.ts";
import { makeKey } from "./credentials.ts";
import { openCredentials } from "./open-credentials.ts";
import { ANONYMOUS, type Principal } from "../principal.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-credentials-file-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const newFile = (): string => join(folder, `${++files}-auth`);
const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);
const ALICE: Principal = { ...ANONYMOUS, kind: "jwt", id: "jwt:alice", owner: "jwt:alice" };

it("does not write or wait for an unknown cookie or ticket", async () => {
  const file = newFile();
  const credentials = openCredentials(file, { busyTimeoutMs: 0 });
  const { secret } = await credentials.createCookie(ALICE, Date.now() + 60_000);
  const other = new DatabaseSync(file);
  other.exec("BEGIN IMMEDIATE");
  await credentials.deleteCookie(makeKey("cookie").secret);
  expect(await credentials.useTicket(makeKey("ticket").secret)).toBeUndefined();
  await expect(credentials.deleteCookie(secret)).rejects.toThrow(expect.objectContaining({ code: "store_busy" }));
  other.close();
  await credentials.deleteCookie(secret);
  expect(await credentials.find(secret)).toBeUndefined();
  await credentials.close();
});

describe("while another process has locked the file", () => {
  async function openLocked() {
    const file = newFile();
    const credentials = openCredentials(file, { busyTimeoutMs: 30_000 });
    const token = await credentials.createToken({ name: "laptop" });
    const principal = (await credentials.find(token.secret)) ?? ANONYMOUS;
    const other = new DatabaseSync(file);
    other.exec("BEGIN IMMEDIATE");
    onTestFinished(() => credentials.close());
    return { credentials, token, principal, unlock: () => other.close() };
  }

  // The lock ends in this process, so a blocked event loop would never see its end.
  it("tickets, cookies, links and usage wait, and other requests do not", async () => {
    const { credentials, token, principal, unlock } = await openLocked();
    const expiresAt = Date.now() + 60_000;
    const ticketing = credentials.createTicket(principal, { expiresAt });
    const writes = [
      ticketing,
      credentials.createCookie(principal, expiresAt),
      credentials.createShare({ session: "s", incarnation: "i", owner: "local" }),
      credentials.addSpent(principal.id, 5),
      credentials.revokeToken("laptop"),
    ];
    for (let i = 0; i < 10; i++) expect(await credentials.find(token.secret)).toBeDefined();
    expect(await Promise.race([...writes, setTimeout(50, "waiting")])).toBe("waiting");
    unlock();
    await Promise.all(writes);
    expect(await credentials.readSpent(principal.id)).toBe(5);
    expect([await credentials.find(token.secret), await credentials.useTicket((await ticketing).secret)]).toEqual([
      undefined,
      undefined,
    ]);
  });

  it("the last use of a token is recorded with the next request after the lock", async () => {
    const { credentials, token, unlock } = await openLocked();
    const [before] = await credentials.listTokens();
    const later = Date.now() + 120_000;
    await credentials.find(token.secret, later);
    unlock();
    expect(await credentials.listTokens()).toEqual([before]);
    await credentials.find(token.secret, later);
    expect((await credentials.listTokens())[0]?.usedAt).toBe(later - (later % 60_000));
  });

  it("a write that was requested before closing is finished", async () => {
    const { credentials, token, unlock } = await openLocked();
    const revoked = credentials.revokeToken(token.info.tokenId);
    const closed = credentials.close();
    await expect(credentials.find(token.secret)).rejects.toThrow(expect.objectContaining({ code: "store_closed" }));
    unlock();
    expect(await revoked).toBe(true);
    await closed;
  });
});

async function refusalOf(path: string): Promise<readonly [code: string, message: string]> {
  try {
    await openCredentials(path).close();
  } catch (error) {
    if (isLoomError(error)) return [error.code, error.message];
    throw error;
  }
  return ["", "opened"];
}

describe("the credentials file", () => {
  it("is private to its owner, including side files and created folders", async () => {
    const path = join(folder, "made", "deep", "store-auth");
    const credentials = openCredentials(path);
    await credentials.createToken({ name: "a" });
    expect([path, `${path}-wal`, `${path}-shm`].map(modeOf)).toEqual(["600", "600", "600"]);
    expect([join(folder, "made"), join(folder, "made", "deep")].map(modeOf)).toEqual(["700", "700"]);
    await credentials.close();
    expect(readdirSync(join(folder, "made", "deep"))).toEqual(["store-auth"]);
  });

  it("becomes private again if it was readable for others", async () => {
    const path = newFile();
    await openCredentials(path).close();
    chmodSync(path, 0o666);
    await openCredentials(path).close();
    expect(modeOf(path)).toBe("600");
  });

  it("persists tokens and usage", async () => {
    const path = newFile();
    const before = openCredentials(path);
    const { secret } = await before.createToken({ name: "a" });
    await before.addSpent("a", 3);
    await before.close();
    const after = openCredentials(path);
    expect([await after.hasTokens(), (await after.find(secret))?.name, await after.readSpent("a")]).toEqual([
      true,
      "a",
      3,
    ]);
    await after.close();
  });

  it("contains no secret while open or closed", async () => {
    const path = newFile();
    const credentials = openCredentials(path);
    const token = await credentials.createToken({ name: "needle-in-the-file" });
    const principal = (await credentials.find(token.secret)) ?? ANONYMOUS;
    const expiresAt = Date.now() + 60_000;
    const secrets = [
      token.secret,
      (await credentials.createShare({ session: "s", incarnation: "i", owner: "local" })).secret,
      (await credentials.createCookie(principal, expiresAt)).secret,
      (await credentials.createTicket(principal, { expiresAt })).secret,
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
    await credentials.close();
    for (const bytes of [whileOpen, readAll()]) {
      expect(bytes.includes("needle-in-the-file")).toBe(true);
      expect(containsSecret(bytes)).not.toContain(true);
    }
  });
});

describe("rejects and does not change", () => {
  const makers: { readonly [what: string]: readonly [code: string, make: (path: string) => Promise<void> | void] } = {
    "a symbolic link": [
      "store_failed",
      async (path) => {
        const target = newFile();
        await openCredentials(target).close();
        symlinkSync(target, path);
      },
    ],
    "a dangling symbolic link": ["store_failed", (path) => symlinkSync(newFile(), path)],
    "a folder": ["store_failed", (path) => mkdirSync(path)],
    "an empty file": ["store_corrupt", (path) => writeFileSync(path, "")],
    "a text": ["store_corrupt", (path) => writeFileSync(path, "not a database,".repeat(1000))],
    "a truncated database": [
      "store_corrupt",
      async (path) => {
        await openCredentials(path).close();
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
      async (path) => {
        await openCredentials(path).close();
        change(path, "PRAGMA user_version = 99");
      },
    ],
    "an older version": [
      "store_older",
      async (path) => {
        await openCredentials(path).close();
        change(path, "PRAGMA user_version = 1");
      },
    ],
    "a missing version": [
      "store_corrupt",
      async (path) => {
        await openCredentials(path).close();
        change(path, "PRAGMA user_version = 0");
      },
    ],
    "a file without tables": ["store_corrupt", (path) => change(path, "CREATE TABLE t (x); DROP TABLE t")],
    "a file whose WAL was deleted": [
      "store_corrupt",
      async (path) => {
        await openCredentials(path).close();
        writeFileSync(`${path}-shm`, "");
      },
    ],
    "the WAL of a deleted file": ["store_corrupt", (path) => writeFileSync(`${path}-wal`, "")],
    "a symbolic link in place of its WAL": [
      "store_failed",
      async (path) => {
        await openCredentials(path).close();
        symlinkSync(newFile(), `${path}-wal`);
      },
    ],
  };

  function change(path: string, sql: string): void {
    const db = new DatabaseSync(path);
    db.exec(sql);
    db.close();
  }

  it.each(Object.entries(makers))("%s", async (_, [code, make]) => {
    const path = newFile();
    await make(path);
    const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() === true;
    const before = isFile ? readFileSync(path) : undefined;
    const [refused, message] = await refusalOf(path);
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
    const program = "process.stdout.write((await openCredentials(path).createToken({ name: args[0] })).secret)";
    const secrets = await Promise.all(["a", "b", "c"].map((name) => run(program, path, name)));
    const credentials = openCredentials(path);
    expect(await Promise.all(secrets.map(async (secret) => (await credentials.find(secret))?.name))).toEqual([
      "a",
      "b",
      "c",
    ]);
    const principal = (await credentials.find(secrets[0] ?? "")) ?? ANONYMOUS;
    expect(await credentials.isValid(principal)).toBe(true);
    await run("await openCredentials(path).revokeToken(args[0])", path, "a");
    expect([await credentials.isValid(principal), await credentials.find(secrets[0] ?? "")]).toEqual([
      false,
      undefined,
    ]);
    await credentials.close();
  });

  it("use each ticket once", async () => {
    const path = newFile();
    const credentials = openCredentials(path);
    const expiresAt = Date.now() + 60_000;
    const tickets = await Promise.all(
      Array.from({ length: 200 }, async () => (await credentials.createTicket(ALICE, { expiresAt })).secret),
    );
    const program = `
      const credentials = openCredentials(path);
      const used = [];
      for (const one of JSON.parse(args[0])) if ((await credentials.useTicket(one)) !== undefined) used.push(one);
      process.stdout.write(JSON.stringify(used));`;
    const used = await Promise.all([1, 2].map(() => run(program, path, JSON.stringify(tickets))));
    expect(used.flatMap((text) => JSON.parse(text) as string[]).toSorted()).toEqual(tickets.toSorted());
    await credentials.close();
  });
});

it("fails when the file was replaced", async () => {
  const path = newFile();
  const credentials = openCredentials(path);
  const { secret } = await credentials.createToken({ name: "a" });
  const principal = (await credentials.find(secret)) ?? ANONYMOUS;
  for (const suffix of ["", "-wal", "-shm"]) renameSync(`${path}${suffix}`, `${path}${suffix}-away`);
  await openCredentials(path).close();
  const failed = expect.objectContaining({ code: "store_failed", details: {} }) as Error;
  await expect
    .poll(
      async () => {
        try {
          return String(await credentials.isValid(principal));
        } catch (error) {
          return isLoomError(error) ? error.code : "";
        }
      },
      { timeout: 10_000 },
    )
    .toBe("store_failed");
  await expect(credentials.find(secret)).rejects.toThrow(failed);
  await expect(credentials.createToken({ name: "b" })).rejects.toThrow(failed);
  await credentials.close();
});
