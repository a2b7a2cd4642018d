// Credentials: what is found and what is not, in memory, in a file, and by two who have the same file open.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StatementSync } from "node:sqlite";
import fc from "fast-check";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { Credentials, NewToken } from "./credentials.ts";
import { openCredentials } from "./open-credentials.ts";
import { LOCAL, NOBODY, type Principal } from "../principal.ts";

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

/** Those who ask and those who change: one, or two with the same file. */
type Two = readonly [asked: Credentials, changed: Credentials];
const SETTINGS: readonly (readonly [string, () => Two])[] = [
  [
    "in memory",
    () => {
      const one = open(":memory:");
      return [one, one];
    },
  ],
  [
    "in a file, asked and changed by two",
    () => {
      const path = newFile();
      return [open(path), open(path)];
    },
  ],
];

describe.each(SETTINGS)("credentials %s", (_, make) => {
  it("knows a token by its secret alone", () => {
    const [asked, changed] = make();
    expect([asked.hasTokens, changed.hasTokens]).toEqual([false, false]);
    const token: NewToken = {
      name: "ci",
      owner: "team",
      scopes: ["run", "read"],
      agents: ["react"],
      tools: { fetch: "ask", "*": "deny" },
      limits: { maxRuns: 2 },
      expiresAt: now + HOUR,
    };
    const { secret, info } = changed.createToken(token);
    expect(info).toEqual({ ...token, scopes: ["read", "run"], tokenId: secret.slice(9, 21), createdAt: now });
    expect(asked.find(secret)).toEqual({
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
    const other = changed.createToken({ name: "other" }).secret;
    for (const wrong of [
      "",
      "x",
      info.tokenId,
      secret.slice(0, 22) + other.slice(22),
      other.slice(0, 22) + secret.slice(22),
      secret.replace("tok", "shr"),
      secret.replace("tok", "ses"),
    ])
      expect(asked.find(wrong), wrong.slice(0, 22)).toBeUndefined();
    expect(asked.hasTokens).toBe(true);
  });

  it("gives a token the usual scopes and the owner of this machine", () => {
    const [asked, changed] = make();
    const { secret } = changed.createToken({ name: "me" });
    const { owner, scopes, limits } = asked.find(secret) ?? NOBODY;
    expect([owner, [...scopes], limits]).toEqual(["local", ["read", "write", "run", "approve", "knowledge"], {}]);
  });

  it.each(["name", "id"] as const)("revokes a token by its %s, once", (by) => {
    const [asked, changed] = make();
    const { secret, info } = changed.createToken({ name: "ci" });
    const principal = asked.find(secret) ?? NOBODY;
    expect(asked.isGood(principal)).toBe(true);
    const word = by === "name" ? "ci" : info.tokenId;
    expect([changed.revokeToken("nothing"), changed.revokeToken(word), changed.revokeToken(word)]).toEqual([
      false,
      true,
      false,
    ]);
    expect([asked.find(secret), asked.isGood(principal), asked.hasTokens]).toEqual([undefined, false, true]);
    expect(asked.listTokens()).toMatchObject([{ name: "ci", revokedAt: now }]);
  });

  it("lists tokens newest first, and when they were used", () => {
    const [asked, changed] = make();
    const secrets = ["a", "b", "c"].map((name) => changed.createToken({ name }).secret);
    now += 90_500;
    asked.find(secrets[1] ?? "");
    now += 60_000;
    asked.find(secrets[1] ?? "");
    expect(changed.listTokens().map(({ name, usedAt }) => [name, usedAt])).toEqual([
      ["c", undefined],
      ["b", NOON + 120_000],
      ["a", undefined],
    ]);
    expect(JSON.stringify(asked.listTokens())).not.toContain(secrets[0]?.slice(22));
  });

  it("has each name once among tokens that are not revoked", () => {
    const [asked, changed] = make();
    const { info } = asked.createToken({ name: "ci" });
    expect(() => changed.createToken({ name: "ci" })).toThrow(expect.objectContaining({ code: "invalid_name" }));
    // What revokes the one would revoke the other.
    expect(() => changed.createToken({ name: info.tokenId })).toThrow(
      expect.objectContaining({ code: "invalid_name" }),
    );
    changed.revokeToken("ci");
    const { secret } = asked.createToken({ name: "ci" });
    expect(changed.find(secret)).toBeDefined();
  });

  it("ends what has an end, to the millisecond", () => {
    const [asked, changed] = make();
    const token = changed.createToken({ name: "short", expiresAt: now + HOUR }).secret;
    const share = changed.createShare({ ...SHARE, expiresAt: now + HOUR }).secret;
    const found = asked.find(token) ?? NOBODY;
    const cookie = changed.createCookie(found, now + 2 * HOUR);
    expect(cookie.info.expiresAt).toBe(now + HOUR);
    const ticket = changed.createTicket(found, { expiresAt: now + 2 * HOUR });
    expect(ticket.info.expiresAt).toBe(now + HOUR);
    const all = [token, share, cookie.secret];
    const principals = all.map((secret) => asked.find(secret) ?? NOBODY);
    now += HOUR - 1;
    for (const secret of all) expect(asked.find(secret)).toBeDefined();
    expect(principals.map((one) => asked.isGood(one))).toEqual([true, true, true]);
    now += 1;
    for (const secret of all) expect(asked.find(secret)).toBeUndefined();
    expect(principals.map((one) => asked.isGood(one))).toEqual([false, false, false]);
    expect(asked.useTicket(ticket.secret)).toBeUndefined();
    expect(asked.listShares("s 1", "i1")).toEqual([]);
  });

  it("makes links to one session as it is", () => {
    const [asked, changed] = make();
    const { secret, info } = changed.createShare(SHARE);
    expect(info).toEqual({ ...SHARE, shareId: secret.slice(9, 21), createdAt: now });
    const principal = asked.find(secret) ?? NOBODY;
    expect(principal).toMatchObject({
      kind: "share",
      id: `share:${info.shareId}`,
      owner: "local",
      scopes: new Set(["read"]),
      session: { id: "s 1", incarnation: "i1" },
    });
    expect(asked.listShares("s 1", "i1")).toEqual([info]);
    expect([asked.listShares("s 1", "i2"), asked.listShares("s 2", "i1")]).toEqual([[], []]);
    expect(changed.revokeShare("s 2", info.shareId)).toBe(false);
    expect(asked.isGood(principal)).toBe(true);
    expect([changed.revokeShare("s 1", info.shareId), changed.revokeShare("s 1", info.shareId)]).toEqual([true, false]);
    expect([asked.find(secret), asked.isGood(principal)]).toEqual([undefined, false]);
    expect([asked.hasTokens, asked.listShares("s 1", "i1")]).toEqual([false, []]);
  });

  it("ends links with the token that made them, and counts them together by its limits", () => {
    const [asked, changed] = make();
    const token = changed.createToken({ name: "a", limits: { maxStreams: 3 }, expiresAt: now + 1000 });
    const maker = `token:${token.info.tokenId}`;
    const links = [{ maker }, { maker, expiresAt: now + 500 }, { maker: "jwt:ann" }, {}].map((more) =>
      changed.createShare({ ...SHARE, ...more }),
    );
    expect(links.map(({ info }) => info.expiresAt)).toEqual([now + 1000, now + 500, undefined, undefined]);
    const principals = links.map(({ secret }) => asked.find(secret) ?? NOBODY);
    expect(principals.map(({ account, limits }) => [account, limits])).toEqual([
      [`links of ${maker}`, { maxStreams: 3 }],
      [`links of ${maker}`, { maxStreams: 3 }],
      ["links of jwt:ann", {}],
      [undefined, {}],
    ]);
    expect(asked.isIssued(maker)).toBe(true);
    expect(changed.revokeToken("a")).toBe(true);
    expect(principals.map((one) => asked.isGood(one))).toEqual([false, false, true, true]);
    expect(asked.listShares("s 1", "i1").map(({ maker: of }) => of)).toEqual([undefined, "jwt:ann"]);
    expect(["jwt:ann", maker].map((id) => asked.isIssued(id))).toEqual([true, false]);
    expect(asked.find(changed.createShare({ ...SHARE, maker }).secret)).toBeUndefined();
  });

  it("has cookies that are as good as the token, and end with it or by signing out", () => {
    const [asked, changed] = make();
    const token = changed.createToken({ name: "me" });
    const me = asked.find(token.secret) ?? NOBODY;
    const [one, two] = [1, 2].map(() => changed.createCookie(me, now + HOUR).secret) as [string, string];
    const [first, second] = [one, two].map((secret) => asked.find(secret) ?? NOBODY) as [Principal, Principal];
    expect(first).toEqual({ ...me, expiresAt: now + HOUR, cookie: one.slice(9, 21) });
    // Of whoever knows the id alone, nobody is signed out.
    changed.deleteCookie(one.slice(0, 22) + two.slice(22));
    expect(asked.isGood(first)).toBe(true);
    changed.deleteCookie(one);
    expect([first, second, me].map((principal) => asked.isGood(principal))).toEqual([false, true, true]);
    expect([asked.find(one), asked.find(two)]).toMatchObject([undefined, { id: me.id }]);
    changed.revokeToken("me");
    expect([asked.find(two), asked.isGood(second)]).toEqual([undefined, false]);
  });

  it("keeps those that it does not know as they were, until they end", () => {
    const [asked, changed] = make();
    const cookie = changed.createCookie(ALICE, now + 10 * HOUR);
    expect(cookie.info.expiresAt).toBe(NOON + HOUR);
    const found = asked.find(cookie.secret) ?? NOBODY;
    expect(found).toEqual({ ...ALICE, cookie: cookie.secret.slice(9, 21) });
    expect(asked.isGood(ALICE)).toBe(true);
    const ticket = changed.createTicket(ALICE, { session: "s", expiresAt: now + 1000 });
    expect(asked.useTicket(ticket.secret)).toEqual({ principal: ALICE, session: "s" });
    now += HOUR;
    expect([asked.isGood(ALICE), asked.find(cookie.secret)]).toEqual([false, undefined]);
  });

  it("gives a ticket once, to whoever has all of it", () => {
    const [asked, changed] = make();
    const me = changed.find(changed.createToken({ name: "me" }).secret) ?? NOBODY;
    const [one, two] = [1, 2].map(() => changed.createTicket(me, { expiresAt: now + 30_000 }).secret) as [
      string,
      string,
    ];
    expect(asked.useTicket(one.slice(0, 22) + two.slice(22))).toBeUndefined();
    expect([asked.find(one), asked.useTicket(one.replace("tkt", "tok"))]).toEqual([undefined, undefined]);
    expect([asked.useTicket(one), changed.useTicket(one), asked.useTicket(one)]).toEqual([
      { principal: me },
      undefined,
      undefined,
    ]);
    // One that came too late is used as well.
    expect([asked.useTicket(two, now + 30_000), asked.useTicket(two)]).toEqual([undefined, undefined]);
  });

  it("has tickets that are worth no more than whoever asked for them", () => {
    const [asked, changed] = make();
    const me = changed.find(changed.createToken({ name: "me" }).secret) ?? NOBODY;
    const signedIn = changed.createCookie(me, now + HOUR).secret;
    const byCookie = changed.createTicket(changed.find(signedIn) ?? NOBODY, { expiresAt: now + 1000 }).secret;
    const byToken = changed.createTicket(me, { expiresAt: now + 1000 }).secret;
    const link = changed.createShare(SHARE);
    const linked = changed.find(link.secret) ?? NOBODY;
    const byLink = [1, 2].map(() => changed.createTicket(linked, { session: "other", expiresAt: now + 1000 }).secret);
    changed.deleteCookie(signedIn);
    expect(asked.useTicket(byCookie)).toBeUndefined();
    changed.revokeToken("me");
    expect(asked.useTicket(byToken)).toBeUndefined();
    expect(asked.useTicket(byLink[0] ?? "")).toEqual({ principal: linked, session: "s 1" });
    changed.revokeShare("s 1", link.info.shareId);
    expect(asked.useTicket(byLink[1] ?? "")).toBeUndefined();
  });

  it.each([LOCAL, NOBODY])("has nothing for those who were not asked who they are", (principal) => {
    const [asked] = make();
    const unsupported: unknown = expect.objectContaining({ code: "unsupported" });
    expect(() => asked.createCookie(principal, now + 1)).toThrow(unsupported);
    expect(() => asked.createTicket(principal, { expiresAt: now + 1 })).toThrow(unsupported);
    expect(asked.isGood(principal)).toBe(true);
  });

  it("counts what was used up by day and principal, and forgets it after a month", () => {
    const [asked, changed] = make();
    changed.addSpent("token:a", 10);
    asked.addSpent("token:a", 5.2);
    changed.addSpent("token:b", 1);
    for (const nothing of [0, -5, Number.NaN]) changed.addSpent("token:a", nothing);
    expect([asked.readSpent("token:a"), asked.readSpent("token:b"), asked.readSpent("token:c")]).toEqual([16, 1, 0]);
    changed.addSpent("token:b", Number.POSITIVE_INFINITY);
    changed.addSpent("token:b", 7);
    expect(asked.readSpent("token:b")).toBe(Number.MAX_SAFE_INTEGER);
    const next = NOON + 12 * HOUR;
    expect([asked.readSpent("token:a", next - 1), asked.readSpent("token:a", next)]).toEqual([16, 0]);
    asked.addSpent("token:a", 1, NOON + 32 * 24 * HOUR);
    expect(asked.readSpent("token:a", NOON)).toBe(16);
    asked.addSpent("token:a", 1, NOON + 33 * 24 * HOUR);
    expect(asked.readSpent("token:a", NOON)).toBe(0);
  });
});

describe("bounds", () => {
  const tooMany = expect.objectContaining({ code: "too_many_open" }) as Error;

  it("forgets tokens that are revoked or over before it refuses more", () => {
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

  it("has a number of links for a session, and one for an owner", () => {
    const credentials = open(":memory:", { maxSharesOfSession: 2, maxSharesOfOwner: 3 });
    const [first] = [1, 2].map(() => credentials.createShare(SHARE).secret) as [string, string];
    expect(() => credentials.createShare(SHARE)).toThrow(tooMany);
    // A session of the same name is another one, and has its own.
    const again = credentials.createShare({ ...SHARE, incarnation: "i2" }).secret;
    expect(credentials.find(first)).toBeUndefined();
    for (const session of ["s 2", "s 3"]) credentials.createShare({ ...SHARE, session });
    expect(credentials.find(again)).toBeDefined();
    credentials.createShare({ ...SHARE, session: "s 4", owner: "other" });
    expect(credentials.find(again)).toBeDefined();
    credentials.createShare({ ...SHARE, session: "s 4" });
    expect(credentials.find(again)).toBeUndefined();
  });

  it("lets the oldest cookie go: of the same principal, then of all", () => {
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

  it("refuses tickets beyond a number, until they are used or over", () => {
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
  ])("refuses a token with %s: %j", (code, wrong) => {
    const credentials = open(":memory:");
    expect(() => credentials.createToken({ name: "ci", ...wrong })).toThrow(expect.objectContaining({ code }) as Error);
    expect([credentials.listTokens(), credentials.hasTokens]).toEqual([[], false]);
  });
});

it("gives a ticket to one of those who come at once", () => {
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
        // Each has found it, and the next one comes before it is taken.
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

it("is closed once, and says so afterwards", () => {
  const credentials = open(newFile());
  const { secret } = credentials.createToken({ name: "a" });
  const principal = credentials.find(secret) ?? NOBODY;
  credentials.close();
  credentials.close();
  const closed = expect.objectContaining({ code: "store_closed" }) as Error;
  for (const ask of [
    () => credentials.find(secret),
    () => credentials.isGood(principal),
    () => credentials.listTokens(),
    () => credentials.createToken({ name: "b" }),
    () => credentials.addSpent("a", 1),
  ])
    expect(ask).toThrow(closed);
});
