/** Invalid credentials: guessed, assembled from parts, sent in the wrong position, or read from disk. */
import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { expect, onTestFinished } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { MemoryLog } from "../../src/log/index.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { makeKey } from "../../src/server/auth/credentials/credentials.ts";
import { openCredentials } from "../../src/server/auth/credentials/open-credentials.ts";
import { startLoomServer } from "../../src/server/loom-server.ts";
import { type RequestAuth, SESSION, createAuthServerFixture } from "./auth-server-fixture.ts";
import { testThreat } from "./test-threat.ts";

const PATH = `/v1/sessions/${SESSION}`;
const IN_A_DAY = (): number => Date.now() + 86_400_000;

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "loom-secrets-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

testThreat("guessed-credentials", "rejects texts that resemble a token", async ({ attempt }) => {
  const fixture = await createAuthServerFixture();
  const { credentials, issue, bearer, sessionCookie, ask, find, log } = fixture;
  const [one, two] = [await issue(), await issue()];
  const principal = await find(one.secret);
  const cookie = (await credentials.createCookie(principal, IN_A_DAY())).secret;
  const ticket = (await credentials.createTicket(principal, { expiresAt: IN_A_DAY() })).secret;
  const share = (await fixture.share()).secret;
  const { incarnation = "" } = (await log.getSession(SESSION)) ?? {};
  const statusOf = async (auth: RequestAuth, path = PATH): Promise<number> => (await ask("GET", path, auth)).status;
  expect([await statusOf(bearer(one.secret)), await statusOf(sessionCookie(cookie))]).toEqual([200, 200]);

  const digest = createHash("sha256").update(one.secret).digest();
  const [head, secret] = [one.secret.slice(0, 22), one.secret.slice(22)];
  const wrong: { readonly [what: string]: string } = {
    "the id of a token": one.info.tokenId,
    "its id and an empty secret": head,
    "its name": one.info.name,
    "its owner": one.info.owner,
    "the id of the session": SESSION,
    "the incarnation of the session": incarnation,
    "its secret without its id": secret,
    "its secret under another id": two.secret.slice(0, 22) + secret,
    "its digest": head + digest.toString("base64url"),
    "its digest in hex": digest.toString("hex"),
    "one character less": one.secret.slice(0, -1),
    "one character more": `${one.secret}A`,
    "two tokens": `${one.secret},${two.secret}`,
    "upper case": one.secret.toUpperCase(),
    "a share link as a token": share.replace("_shr_", "_tok_"),
    "a cookie as a token": cookie.replace("_ses_", "_tok_"),
    "a ticket as a token": ticket.replace("_tkt_", "_tok_"),
    "a token as a link": one.secret.replace("_tok_", "_shr_"),
    "a cookie sent as a token": cookie,
    "a ticket sent as a token": ticket,
    "an empty token": "",
    undefined: "undefined",
    null: "null",
    local: "local",
    admin: "admin",
    "a property of Object.prototype": "__proto__",
    "an SQL injection": `${head}' OR '1'='1`,
    wildcards: `loom_tok_%_${"_".repeat(43)}`,
  };
  for (const [what, text] of Object.entries(wrong))
    await attempt(what, async () => expect(await statusOf(bearer(text))).toBe(401));

  const nowhere: { readonly [what: string]: readonly [RequestAuth, string?] } = {
    "a token in the query": [{ headers: {}, query: "" }, `${PATH}?token=${one.secret}`],
    "a token in the query, as in OAuth": [{ headers: {}, query: "" }, `${PATH}?access_token=${one.secret}`],
    "a token as a ticket": [{ headers: {}, query: "" }, `${PATH}?ticket=${one.secret}`],
    "a token as a cookie": [sessionCookie(one.secret)],
    "a ticket as a cookie": [sessionCookie(ticket)],
    "a cookie from another site": [
      { headers: { ...sessionCookie(cookie).headers, origin: "http://evil.example" }, query: "" },
    ],
    "a token as a password": [
      { headers: { authorization: `Basic ${Buffer.from(`x:${one.secret}`).toString("base64")}` }, query: "" },
    ],
    "a token in another header": [{ headers: { "x-api-key": one.secret }, query: "" }],
    "the user header of a proxy": [{ headers: { "x-forwarded-user": "ann", "x-remote-user": "ann" }, query: "" }],
    "the client address of a proxy": [{ headers: { "x-forwarded-for": "127.0.0.1" }, query: "" }],
  };
  for (const [what, [auth, path]] of Object.entries(nowhere))
    await attempt(what, async () => expect([401, 403]).toContain(await statusOf(auth, path)));
});

testThreat("guessed-credentials", "limits guesses without locking out valid tokens", async ({ attempt }) => {
  const credentials = openCredentials(":memory:");
  const { secret } = await credentials.createToken({ name: "a" });
  const agents = { main: agent({ model: new ScriptedModel([]) }) };
  const auth = { credentials, maxFailures: 5 };
  const server = await startLoomServer({ log: new MemoryLog(), agents, port: 0, auth });
  onTestFinished(async () => {
    await server.close({ graceMs: 0 });
    await credentials.close();
  });
  const statusOf = async (shown: string, more = {}): Promise<number> =>
    (await fetch(`${server.url}/v1/sessions`, { headers: { authorization: `Bearer ${shown}`, ...more } })).status;
  const statuses: number[] = [];
  for (let guess = 0; guess < 20; guess++) statuses.push(await statusOf(makeKey("token").secret));
  await attempt("twenty guesses", () =>
    expect(statuses).toEqual([...fives(401), ...fives(429), ...fives(429), ...fives(429)]),
  );
  await attempt("a forged client address", async () => {
    expect(await statusOf(makeKey("token").secret, { "x-forwarded-for": "9.9.9.9", "x-real-ip": "9.9.9.9" })).toBe(429);
  });
  await attempt("a valid token after the guesses", async () => expect(await statusOf(secret)).toBe(200));
});

const fives = (status: number): readonly number[] => Array.from({ length: 5 }, () => status);

testThreat("guessed-credentials", "rejects a token with one character added, removed or changed", async ({ count }) => {
  const credentials = openCredentials(":memory:");
  const { secret } = await credentials.createToken({ name: "a" });
  const letter = fc.constantFrom("a", "b", "Z", "0", "9", "-", "_");
  const position = fc.nat({ max: secret.length - 1 });
  const runs = 500;
  await fc.assert(
    fc.asyncProperty(position, letter, fc.constantFrom(0, 1), async (at, put, cut) => {
      const changed = secret.slice(0, at) + put + secret.slice(at + cut);
      return changed === secret || (await credentials.find(changed)) === undefined;
    }),
    { numRuns: runs },
  );
  expect(await credentials.find(secret)).toBeDefined();
  await credentials.close();
  count(runs);
});

testThreat("guessed-credentials", "creates tokens from independent random bits", async ({ count }) => {
  const credentials = openCredentials(":memory:");
  const secrets = await Promise.all(
    Array.from({ length: 500 }, async (_, index) => (await credentials.createToken({ name: `t${index}` })).secret),
  );
  await credentials.close();
  const bytes = secrets.map((secret) => Buffer.from(secret.slice(22), "base64url"));
  for (const each of bytes) expect(each).toHaveLength(32);
  // No two secrets share their first eight bytes.
  expect(new Set(bytes.map((each) => each.subarray(0, 8).toString("hex"))).size).toBe(500);
  // Every bit is set about half of the time.
  for (let bit = 0; bit < 256; bit++) {
    const set = bytes.filter((each) => ((each[bit >> 3] ?? 0) >> (bit & 7)) & 1).length;
    expect(set).toBeGreaterThan(150);
    expect(set).toBeLessThan(350);
  }
  count(500);
});

testThreat(
  "secrets-at-rest",
  "contents of the credentials file cannot be used to authenticate",
  async ({ attempt }) => {
    const folder = makeFolder();
    const file = join(folder, "loom.db-auth");
    const fixture = await createAuthServerFixture({ file });
    const { credentials, issue, bearer, ask, find } = fixture;
    const token = await issue({ name: "needle" });
    const principal = await find(token.secret);
    const gone = await issue();
    await credentials.revokeToken(gone.info.tokenId);
    const secrets = [
      token.secret,
      gone.secret,
      (await fixture.share()).secret,
      (await credentials.createCookie(principal, IN_A_DAY())).secret,
      (await credentials.createTicket(principal, { expiresAt: IN_A_DAY() })).secret,
    ];
    const files = readdirSync(folder);
    const bytes = Buffer.concat(files.map((name) => readFileSync(join(folder, name))));
    expect(bytes.includes("needle")).toBe(true);
    for (const secret of secrets)
      await attempt(`${secret.slice(0, 9)} in the file`, () => {
        const random = Buffer.from(secret.slice(22), "base64url");
        const forms = [secret, secret.slice(22), random, random.toString("hex"), random.toString("base64")];
        expect(forms.map((form) => bytes.includes(form))).not.toContain(true);
      });

    // Try every value in the file as a token.
    const db = new DatabaseSync(file, { readOnly: true });
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    const values = tables.flatMap(({ name }) =>
      db
        .prepare(`SELECT * FROM "${String(name)}"`)
        .all()
        .flatMap((row): unknown[] => Object.values(row)),
    );
    db.close();
    const texts = values.flatMap((value: unknown) =>
      value instanceof Uint8Array
        ? [Buffer.from(value).toString("hex"), Buffer.from(value).toString("base64url")]
        : typeof value === "string"
          ? [value]
          : [],
    );
    expect(texts.length).toBeGreaterThan(20);
    const heads = [token, gone].map(({ secret }) => secret.slice(0, 22));
    for (const text of new Set(texts.flatMap((each) => [each, ...heads.map((head) => head + each)])))
      await attempt("a stored value as a token", async () => {
        // Headers cannot carry every value unencoded.
        const shown = encodeURIComponent(text);
        expect((await ask("GET", PATH, bearer(shown))).status).toBe(401);
      });

    if (process.platform !== "win32")
      for (const name of files)
        await attempt(`${name} is private`, () => expect(statSync(join(folder, name)).mode & 0o077).toBe(0));
  },
);

testThreat("secrets-at-rest", "refuses a credentials file that an attacker may have placed", async ({ attempt }) => {
  const folder = makeFolder();
  const own = join(folder, "own-auth");
  const planted = openCredentials(own);
  await planted.createToken({ name: "planted", scopes: ["admin"] });
  await planted.close();
  const target = join(folder, "link-auth");
  symlinkSync(own, target);
  await attempt("a symbolic link to another file", () =>
    expect(() => openCredentials(target)).toThrow("symbolic link"),
  );
  mkdirSync(join(folder, "folder-auth"));
  await attempt("a folder", () =>
    expect(() => openCredentials(join(folder, "folder-auth"))).toThrow("not a regular file"),
  );
  await attempt("a symbolic link in the position of its write-ahead log", () => {
    symlinkSync(own, join(folder, "own-auth-wal"));
    expect(() => openCredentials(own)).toThrow("symbolic link");
    rmSync(join(folder, "own-auth-wal"));
  });
  await attempt("a file that others can write", async () => {
    chmodSync(own, 0o666);
    await openCredentials(own).close();
    expect(statSync(own).mode & 0o777).toBe(0o600);
  });
});
