// The credential store in memory, in a file, and with two handles to one file.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StatementSync } from "node:sqlite";
import fc from "fast-check";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { Credentials, NewToken } from "./credentials.ts";
import { openCredentials } from "./open-credentials.ts";
import { LOCAL, ANONYMOUS, type Principal } from "../principal.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-credentials-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const newFile = (): string => join(folder, `${++files}-auth`);

const NOON = Date.UTC(2030, 5, 1, 12);
const HOUR = 3_600_000;
let now = NOON;
const opened: Credentials[] = [];
afterEach(() => {
  for (const credentials of opened.splice(0)) credentials.close();
  now = NOON;
});

function open(path: string, limits = {}): Credentials {
  const credentials = openCredentials(path, { now: () => now, limits });
  opened.push(credentials);
  return credentials;
}

const ALICE: Principal = {
  kind: "jwt",
  id: "jwt:alice",
  name: "alice",
  owner: "jwt:alice",
  scopes: new Set(["read", "run"]),
  limits: {},
  expiresAt: NOON + HOUR,
};
const SHARE = { session: "s 1", incarnation: "i1", owner: "local" };

/** The handle that reads and the handle that writes; they may be the same. */
type Handles = readonly [reader: Credentials, writer: Credentials];
const SETTINGS: readonly (readonly [string, () => Handles])[] = [
  [
    "in memory",
    () => {
      const one = open(":memory:");
      return [one, one];
    },
  ],
  [
    "in a file with two handles",
    () => {
      const path = newFile();
      return [open(path), open(path)];
    },
  ],
];

describe.each(SETTINGS)("credentials %s", (_, make) => {
  it("finds a token only by its exact secret", () => {
    const [reader, writer] = make();
    expect([reader.hasTokens, writer.hasTokens]).toEqual([false, false]);
    const token: NewToken = {
      name: "ci",
      owner: "team",
      scopes: ["run", "read"],
      agents: ["react"],
      tools: { fetch: "ask", "*": "deny" },
      limits: { maxRuns: 2 },
      expiresAt: now + HOUR,
    };
    const { secret, info } = writer.createToken(token);
    expect(info).toEqual({ ...token, scopes: ["read", "run"], tokenId: secret.slice(9, 21), createdAt: now });
    expect(reader.find(secret)).toEqual({
      kind: "token",
      id: `token:${info.tokenId}`,
      name: "ci",
      owner: "team",
      scopes: new Set(["read", "run"]),
      agents: ["react"],
      tools: { fetch: "ask", "*": "deny" },
      limits: { maxRuns: 2 },
      expiresAt: now + HOUR,
    });
    const other = writer.createToken({ name: "other" }).secret;
    for (const wrong of [
      "",
      "x",
      info.tokenId,
      secret.slice(0, 22) + other.slice(22),
      other.slice(0, 22) + secret.slice(22),
      secret.replace("tok", "shr"),
      secret.replace("tok", "ses"),
    ])
      expect(reader.find(wrong), wrong.slice(0, 22)).toBeUndefined();
    expect(reader.hasTokens).toBe(true);
  });

  it("gives a token default scopes and the local owner", () => {
    const [reader, writer] = make();
    const { secret } = writer.createToken({ name: "me" });
    const { owner, scopes, limits } = reader.find(secret) ?? ANONYMOUS;
    expect([owner, [...scopes], limits]).toEqual(["local", ["read", "write", "run", "approve"], {}]);
  });

  it.each(["name", "id"] as const)("revokes a token by %s once", (by) => {
    const [reader, writer] = make();
    const { secret, info } = writer.createToken({ name: "ci" });
    const principal = reader.find(secret) ?? ANONYMOUS;
    expect(reader.isValid(principal)).toBe(true);
    const word = by === "name" ? "ci" : info.tokenId;
    expect([writer.revokeToken("nothing"), writer.revokeToken(word), writer.revokeToken(word)]).toEqual([
      false,
      true,
      false,
    ]);
    expect([reader.find(secret), reader.isValid(principal), reader.hasTokens]).toEqual([undefined, false, true]);
    expect(reader.listTokens()).toMatchObject([{ name: "ci", revokedAt: now }]);
  });

  it("lists tokens newest first with their last use", () => {
    const [reader, writer] = make();
    const secrets = ["a", "b", "c"].map((name) => writer.createToken({ name }).secret);
    now += 90_500;
    reader.find(secrets[1] ?? "");
    now += 60_000;
    reader.find(secrets[1] ?? "");
    expect(writer.listTokens().map(({ name, usedAt }) => [name, usedAt])).toEqual([
      ["c", undefined],
      ["b", NOON + 120_000],
      ["a", undefined],
    ]);
    expect(JSON.stringify(reader.listTokens())).not.toContain(secrets[0]?.slice(22));
  });

  it("keeps names of valid tokens unique", () => {
    const [reader, writer] = make();
    const { info } = reader.createToken({ name: "ci" });
    expect(() => writer.createToken({ name: "ci" })).toThrow(expect.objectContaining({ code: "invalid_name" }));
    // Otherwise revoking by name or ID would be ambiguous.
    expect(() => writer.createToken({ name: info.tokenId })).toThrow(expect.objectContaining({ code: "invalid_name" }));
    writer.revokeToken("ci");
    const { secret } = reader.createToken({ name: "ci" });
    expect(writer.find(secret)).toBeDefined();
  });

  it("expires credentials to the millisecond", () => {
    const [reader, writer] = make();
    const token = writer.createToken({ name: "short", expiresAt: now + HOUR }).secret;
    const share = writer.createShare({ ...SHARE, expiresAt: now + HOUR }).secret;
    const found = reader.find(token) ?? ANONYMOUS;
    const cookie = writer.createCookie(found, now + 2 * HOUR);
    expect(cookie.info.expiresAt).toBe(now + HOUR);
    const ticket = writer.createTicket(found, { expiresAt: now + 2 * HOUR });
    expect(ticket.info.expiresAt).toBe(now + HOUR);
    const all = [token, share, cookie.secret];
    const principals = all.map((secret) => reader.find(secret) ?? ANONYMOUS);
    now += HOUR - 1;
    for (const secret of all) expect(reader.find(secret)).toBeDefined();
    expect(principals.map((one) => reader.isValid(one))).toEqual([true, true, true]);
    now += 1;
    for (const secret of all) expect(reader.find(secret)).toBeUndefined();
    expect(principals.map((one) => reader.isValid(one))).toEqual([false, false, false]);
    expect(reader.useTicket(ticket.secret)).toBeUndefined();
    expect(reader.listShares("s 1", "i1")).toEqual([]);
  });

  it("creates links to one incarnation of a session", () => {
    const [reader, writer] = make();
    const { secret, info } = writer.createShare(SHARE);
    expect(info).toEqual({ ...SHARE, shareId: secret.slice(9, 21), createdAt: now });
    const principal = reader.find(secret) ?? ANONYMOUS;
    expect(principal).toMatchObject({
      kind: "share",
      id: `share:${info.shareId}`,
      owner: "local",
      scopes: new Set(["read"]),
      session: { id: "s 1", incarnation: "i1" },
    });
    expect(reader.listShares("s 1", "i1")).toEqual([info]);
    expect([reader.listShares("s 1", "i2"), reader.listShares("s 2", "i1")]).toEqual([[], []]);
    expect(writer.revokeShare("s 2", info.shareId)).toBe(false);
    expect(reader.isValid(principal)).toBe(true);
    expect([writer.revokeShare("s 1", info.shareId), writer.revokeShare("s 1", info.shareId)]).toEqual([true, false]);
    expect([reader.find(secret), reader.isValid(principal)]).toEqual([undefined, false]);
    expect([reader.hasTokens, reader.listShares("s 1", "i1")]).toEqual([false, []]);
  });

  it("revokes links with the token that created them and counts them together", () => {
    const [reader, writer] = make();
    const token = writer.createToken({ name: "a", limits: { maxStreams: 3 }, expiresAt: now + 1000 });
    const maker = `token:${token.info.tokenId}`;
    const links = [{ maker }, { maker, expiresAt: now + 500 }, { maker: "jwt:ann" }, {}].map((more) =>
      writer.createShare({ ...SHARE, ...more }),
    );
    expect(links.map(({ info }) => info.expiresAt)).toEqual([now + 1000, now + 500, undefined, undefined]);
    const principals = links.map(({ secret }) => reader.find(secret) ?? ANONYMOUS);
    expect(principals.map(({ account, limits }) => [account, limits])).toEqual([
      [`links of ${maker}`, { maxStreams: 3 }],
      [`links of ${maker}`, { maxStreams: 3 }],
      ["links of jwt:ann", {}],
      [undefined, {}],
    ]);
    expect(reader.isNotRevoked(maker)).toBe(true);
    expect(writer.revokeToken("a")).toBe(true);
    expect(principals.map((one) => reader.isValid(one))).toEqual([false, false, true, true]);
    expect(reader.listShares("s 1", "i1").map(({ maker: of }) => of)).toEqual([undefined, "jwt:ann"]);
    expect(["jwt:ann", maker].map((id) => reader.isNotRevoked(id))).toEqual([true, false]);
    expect(reader.find(writer.createShare({ ...SHARE, maker }).secret)).toBeUndefined();
  });

  it("keeps cookies valid until sign-out or until the token is revoked", () => {
    const [reader, writer] = make();
    const token = writer.createToken({ name: "me" });
    const me = reader.find(token.secret) ?? ANONYMOUS;
    const [one, two] = [1, 2].map(() => writer.createCookie(me, now + HOUR).secret) as [string, string];
    const [first, second] = [one, two].map((secret) => reader.find(secret) ?? ANONYMOUS) as [Principal, Principal];
    expect(first).toEqual({ ...me, expiresAt: now + HOUR, cookie: one.slice(9, 21) });
    // Knowing the ID alone is not enough to sign out.
    writer.deleteCookie(one.slice(0, 22) + two.slice(22));
    expect(reader.isValid(first)).toBe(true);
    writer.deleteCookie(one);
    expect([first, second, me].map((principal) => reader.isValid(principal))).toEqual([false, true, true]);
    expect([reader.find(one), reader.find(two)]).toMatchObject([undefined, { id: me.id }]);
    writer.revokeToken("me");
    expect([reader.find(two), reader.isValid(second)]).toEqual([undefined, false]);
  });

  it("stores JWT principals until they expire", () => {
    const [reader, writer] = make();
    const cookie = writer.createCookie(ALICE, now + 10 * HOUR);
    expect(cookie.info.expiresAt).toBe(NOON + HOUR);
    const found = reader.find(cookie.secret) ?? ANONYMOUS;
    expect(found).toEqual({ ...ALICE, cookie: cookie.secret.slice(9, 21) });
    expect(reader.isValid(ALICE)).toBe(true);
    const ticket = writer.createTicket(ALICE, { session: "s", expiresAt: now + 1000 });
    expect(reader.useTicket(ticket.secret)).toEqual({ principal: ALICE, session: "s" });
    now += HOUR;
    expect([reader.isValid(ALICE), reader.find(cookie.secret)]).toEqual([false, undefined]);
  });

  it("accepts a ticket once and only with its full secret", () => {
    const [reader, writer] = make();
    const me = writer.find(writer.createToken({ name: "me" }).secret) ?? ANONYMOUS;
    const [one, two] = [1, 2].map(() => writer.createTicket(me, { expiresAt: now + 30_000 }).secret) as [
      string,
      string,
    ];
    expect(reader.useTicket(one.slice(0, 22) + two.slice(22))).toBeUndefined();
    expect([reader.find(one), reader.useTicket(one.replace("tkt", "tok"))]).toEqual([undefined, undefined]);
    expect([reader.useTicket(one), writer.useTicket(one), reader.useTicket(one)]).toEqual([
      { principal: me },
      undefined,
      undefined,
    ]);
    // An expired ticket is used up as well.
    expect([reader.useTicket(two, now + 30_000), reader.useTicket(two)]).toEqual([undefined, undefined]);
  });

  it("limits a ticket to the rights of its principal", () => {
    const [reader, writer] = make();
    const me = writer.find(writer.createToken({ name: "me" }).secret) ?? ANONYMOUS;
    const signedIn = writer.createCookie(me, now + HOUR).secret;
    const byCookie = writer.createTicket(writer.find(signedIn) ?? ANONYMOUS, { expiresAt: now + 1000 }).secret;
    const byToken = writer.createTicket(me, { expiresAt: now + 1000 }).secret;
    const link = writer.createShare(SHARE);
    const linked = writer.find(link.secret) ?? ANONYMOUS;
    const byLink = [1, 2].map(() => writer.createTicket(linked, { session: "other", expiresAt: now + 1000 }).secret);
    writer.deleteCookie(signedIn);
    expect(reader.useTicket(byCookie)).toBeUndefined();
    writer.revokeToken("me");
    expect(reader.useTicket(byToken)).toBeUndefined();
    expect(reader.useTicket(byLink[0] ?? "")).toEqual({ principal: linked, session: "s 1" });
    writer.revokeShare("s 1", link.info.shareId);
    expect(reader.useTicket(byLink[1] ?? "")).toBeUndefined();
  });

  it.each([LOCAL, ANONYMOUS])("rejects cookies and tickets for principals without credentials", (principal) => {
    const [reader] = make();
    const unsupported: unknown = expect.objectContaining({ code: "unsupported" });
    expect(() => reader.createCookie(principal, now + 1)).toThrow(unsupported);
    expect(() => reader.createTicket(principal, { expiresAt: now + 1 })).toThrow(unsupported);
    expect(reader.isValid(principal)).toBe(true);
  });

  it("counts usage per UTC day and principal and forgets it after a month", () => {
    const [reader, writer] = make();
    writer.addSpent("token:a", 10);
    reader.addSpent("token:a", 5.2);
    writer.addSpent("token:b", 1);
    for (const nothing of [0, -5, Number.NaN]) writer.addSpent("token:a", nothing);
    expect([reader.readSpent("token:a"), reader.readSpent("token:b"), reader.readSpent("token:c")]).toEqual([16, 1, 0]);
    writer.addSpent("token:b", Number.POSITIVE_INFINITY);
    writer.addSpent("token:b", 7);
    expect(reader.readSpent("token:b")).toBe(Number.MAX_SAFE_INTEGER);
    const next = NOON + 12 * HOUR;
    expect([reader.readSpent("token:a", next - 1), reader.readSpent("token:a", next)]).toEqual([16, 0]);
    reader.addSpent("token:a", 1, NOON + 32 * 24 * HOUR);
    expect(reader.readSpent("token:a", NOON)).toBe(16);
    reader.addSpent("token:a", 1, NOON + 33 * 24 * HOUR);
    expect(reader.readSpent("token:a", NOON)).toBe(0);
  });
});

describe("limits", () => {
  const tooMany = expect.objectContaining({ code: "too_many_open" }) as Error;

  it("deletes revoked and expired tokens before it rejects new ones", () => {
    const credentials = open(":memory:", { maxTokens: 3 });
    credentials.createToken({ name: "a" });
    credentials.createToken({ name: "b", expiresAt: now + 1 });
    credentials.createToken({ name: "c" });
    expect(() => credentials.createToken({ name: "d" })).toThrow(tooMany);
    credentials.revokeToken("a");
    credentials.createToken({ name: "d" });
    now += 1;
    credentials.createToken({ name: "e" });
    expect(() => credentials.createToken({ name: "f" })).toThrow(tooMany);
    expect(credentials.listTokens().map(({ name }) => name)).toEqual(["e", "d", "c"]);
  });

  it("limits links per session and per owner", () => {
    const credentials = open(":memory:", { maxSharesOfSession: 2, maxSharesOfOwner: 3 });
    const [first] = [1, 2].map(() => credentials.createShare(SHARE).secret) as [string, string];
    expect(() => credentials.createShare(SHARE)).toThrow(tooMany);
    // A recreated session has its own links.
    const again = credentials.createShare({ ...SHARE, incarnation: "i2" }).secret;
    expect(credentials.find(first)).toBeUndefined();
    for (const session of ["s 2", "s 3"]) credentials.createShare({ ...SHARE, session });
    expect(credentials.find(again)).toBeDefined();
    credentials.createShare({ ...SHARE, session: "s 4", owner: "other" });
    expect(credentials.find(again)).toBeDefined();
    credentials.createShare({ ...SHARE, session: "s 4" });
    expect(credentials.find(again)).toBeUndefined();
  });

  it("deletes the oldest cookie of the principal, then of all", () => {
    const credentials = open(":memory:", { maxCookies: 3, maxCookiesOfPrincipal: 2 });
    const make = (id: string): string => credentials.createCookie({ ...ALICE, id }, now + HOUR).secret;
    const isThere = (secrets: readonly string[]): boolean[] =>
      secrets.map((one) => credentials.find(one) !== undefined);
    const cookies = [make("jwt:a"), make("jwt:b"), make("jwt:a")];
    const third = make("jwt:a");
    expect(isThere([...cookies, third])).toEqual([false, true, true, true]);
    const other = make("jwt:c");
    expect(isThere([...cookies, third, other])).toEqual([false, false, true, true, true]);
  });

  it("rejects tickets above the limit until some are used or expired", () => {
    const credentials = open(":memory:", { maxTickets: 3, maxTicketsOfPrincipal: 2 });
    const make = (id: string): string => credentials.createTicket({ ...ALICE, id }, { expiresAt: now + 1000 }).secret;
    const [first] = [make("jwt:a"), make("jwt:a")];
    expect(() => make("jwt:a")).toThrow(tooMany);
    make("jwt:b");
    expect(() => make("jwt:c")).toThrow(tooMany);
    credentials.useTicket(first ?? "");
    make("jwt:c");
    now += 1000;
    for (const id of ["jwt:c", "jwt:c", "jwt:a"]) make(id);
  });

  it.each<[string, Partial<NewToken>]>([
    ["invalid_name", { name: "" }],
    ["invalid_name", { name: " ci" }],
    ["invalid_name", { name: "a\nb" }],
    ["invalid_name", { name: "a\u001b[31m" }],
    ["invalid_name", { name: "\ud800" }],
    ["invalid_name", { name: "x".repeat(101) }],
    ["invalid_name", { owner: "" }],
    ["invalid_name", { owner: "a\0b" }],
    ["invalid_arguments", { scopes: [] }],
    ["invalid_arguments", { scopes: ["root" as "admin"] }],
    ["invalid_arguments", { agents: [""] }],
    ["invalid_arguments", { tools: { fetch: "maybe" as "ask" } }],
    ["invalid_arguments", { limits: { maxRuns: 0 } }],
    ["invalid_arguments", { limits: { maxRuns: 1.5 } }],
    ["invalid_arguments", { limits: { maxRun: 1 } as object }],
    ["invalid_arguments", { expiresAt: NOON }],
    ["invalid_arguments", { expiresAt: Number.NaN }],
  ])("rejects a token with %s: %j", (code, wrong) => {
    const credentials = open(":memory:");
    expect(() => credentials.createToken({ name: "ci", ...wrong })).toThrow(expect.objectContaining({ code }) as Error);
    expect([credentials.listTokens(), credentials.hasTokens]).toEqual([[], false]);
  });
});

it("accepts a ticket once under concurrency", () => {
  const path = newFile();
  const handles = [1, 2, 3].map(() => open(path));
  const [first] = handles as [Credentials];
  const get = Reflect.get(StatementSync.prototype, "get");
  try {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 2 }), { minLength: 2, maxLength: 8 }), (order) => {
        const { secret } = first.createTicket(ALICE, { expiresAt: now + 1000 });
        const waiting = order.map((index) => handles[index]);
        let got = 0;
        const useNext = (): void => {
          if (waiting.shift()?.useTicket(secret) !== undefined) got += 1;
        };
        // Each handle has read the row before the next one deletes it.
        StatementSync.prototype.get = function (...args: never[]) {
          const row = Reflect.apply(get, this, args) as ReturnType<typeof get>;
          if (this.sourceSQL.startsWith("SELECT * FROM tickets")) useNext();
          return row;
        };
        useNext();
        StatementSync.prototype.get = get;
        return got === 1 && waiting.length === 0;
      }),
      { numRuns: 50 },
    );
  } finally {
    StatementSync.prototype.get = get;
  }
});

it("can be closed twice and rejects later calls", () => {
  const credentials = open(newFile());
  const { secret } = credentials.createToken({ name: "a" });
  const principal = credentials.find(secret) ?? ANONYMOUS;
  credentials.close();
  credentials.close();
  const closed = expect.objectContaining({ code: "store_closed" }) as Error;
  for (const ask of [
    () => credentials.find(secret),
    () => credentials.isValid(principal),
    () => credentials.listTokens(),
    () => credentials.createToken({ name: "b" }),
    () => credentials.addSpent("a", 1),
  ])
    expect(ask).toThrow(closed);
});
