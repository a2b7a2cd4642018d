// Tests that every credential store must pass.
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import type { Credentials, CredentialsOptions, NewToken } from "../../src/server/auth/credentials/credentials.ts";
import { SHARE, testShareLinks } from "./share-links.ts";
import { LOCAL, ANONYMOUS, type Principal } from "../../src/server/auth/principal.ts";
import { LONG } from "../sampling.ts";

const NOON = Date.UTC(2030, 5, 1, 12);
const HOUR = 3_600_000;

const ALICE: Principal = {
  kind: "jwt",
  id: "jwt:alice",
  name: "alice",
  owner: "jwt:alice",
  scopes: new Set(["read", "run"]),
  limits: {},
  expiresAt: NOON + HOUR,
};

/** The handle that reads and the handle that writes; they may be the same. */
export type CredentialHandles = readonly [reader: Credentials, writer: Credentials];

/** `open` creates a store and opens it. */
export function testCredentials(open: (options: CredentialsOptions) => Promise<CredentialHandles>): void {
  let now = NOON;
  const opened: Credentials[] = [];
  afterEach(async () => {
    for (const credentials of opened.splice(0)) await credentials.close();
    now = NOON;
  });

  const make = async (limits: CredentialsOptions["limits"] = {}): Promise<CredentialHandles> => {
    const handles = await open({ now: () => now, limits });
    opened.push(...handles);
    return handles;
  };

  it("finds a token only by its exact secret", async () => {
    const [reader, writer] = await make();
    expect([await reader.hasTokens(), await writer.hasTokens()]).toEqual([false, false]);
    const token: NewToken = {
      name: "ci",
      owner: "team",
      scopes: ["run", "read"],
      agents: ["react"],
      tools: { fetch: "ask", "*": "deny" },
      limits: { maxRuns: 2 },
      expiresAt: now + HOUR,
    };
    const { secret, info } = await writer.createToken(token);
    expect(info).toEqual({ ...token, scopes: ["read", "run"], tokenId: secret.slice(9, 21), createdAt: now });
    expect(await reader.find(secret)).toEqual({
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
    const other = (await writer.createToken({ name: "other" })).secret;
    for (const wrong of [
      "",
      "x",
      info.tokenId,
      secret.slice(0, 22) + other.slice(22),
      other.slice(0, 22) + secret.slice(22),
      secret.replace("tok", "shr"),
      secret.replace("tok", "ses"),
    ])
      expect(await reader.find(wrong), wrong.slice(0, 22)).toBeUndefined();
    expect(await reader.hasTokens()).toBe(true);
  });

  it("gives a token default scopes and the local owner", async () => {
    const [reader, writer] = await make();
    const { secret } = await writer.createToken({ name: "me" });
    const { owner, scopes, limits } = (await reader.find(secret)) ?? ANONYMOUS;
    expect([owner, [...scopes], limits]).toEqual(["local", ["read", "write", "run", "approve"], {}]);
  });

  it.each(["name", "id"] as const)("revokes a token by %s once", async (by) => {
    const [reader, writer] = await make();
    const { secret, info } = await writer.createToken({ name: "ci" });
    const principal = (await reader.find(secret)) ?? ANONYMOUS;
    expect(await reader.isValid(principal)).toBe(true);
    const word = by === "name" ? "ci" : info.tokenId;
    expect([
      await writer.revokeToken("nothing"),
      await writer.revokeToken(word),
      await writer.revokeToken(word),
    ]).toEqual([false, true, false]);
    expect([await reader.find(secret), await reader.isValid(principal), await reader.hasTokens()]).toEqual([
      undefined,
      false,
      true,
    ]);
    expect(await reader.listTokens()).toMatchObject([{ name: "ci", revokedAt: now }]);
  });

  it("lists tokens newest first with their last use", async () => {
    const [reader, writer] = await make();
    const secrets: string[] = [];
    for (const name of ["a", "b", "c"]) secrets.push((await writer.createToken({ name })).secret);
    now += 90_500;
    await reader.find(secrets[1] ?? "");
    now += 60_000;
    await reader.find(secrets[1] ?? "");
    expect((await writer.listTokens()).map(({ name, usedAt }) => [name, usedAt])).toEqual([
      ["c", undefined],
      ["b", NOON + 120_000],
      ["a", undefined],
    ]);
    expect(JSON.stringify(await reader.listTokens())).not.toContain(secrets[0]?.slice(22));
  });

  it("copies tokens to another store", async () => {
    const [source] = await make();
    const valid = await source.createToken({ name: "a", owner: "team", agents: ["react"], tools: { "*": "ask" } });
    const late = await source.createToken({ name: "b", expiresAt: now + HOUR });
    const revoked = await source.createToken({ name: "c" });
    await source.revokeToken("c");
    await source.find(valid.secret);
    const [reader, target] = await make();
    const own = await target.createToken({ name: "c" });
    expect(await target.importTokens(await source.exportTokens())).toBe(3);
    expect(await target.importTokens(await source.exportTokens())).toBe(0);
    expect((await target.listTokens()).toReversed()).toEqual([own.info, ...(await source.listTokens()).toReversed()]);
    for (const { secret } of [valid, late]) expect(await reader.find(secret)).toEqual(await source.find(secret));
    expect([await reader.find(revoked.secret), (await reader.find(own.secret))?.name]).toEqual([undefined, "c"]);

    // A later revocation is copied too, but never undone.
    await source.revokeToken("a");
    await target.revokeToken("b");
    expect(await target.importTokens(await source.exportTokens())).toBe(0);
    for (const { secret } of [valid, late]) expect(await target.find(secret)).toBeUndefined();
  });

  it("copies no token if the name of one is taken", async () => {
    const [source] = await make();
    await source.createToken({ name: "a" });
    await source.createToken({ name: "b" });
    const [, target] = await make();
    await target.createToken({ name: "b" });
    await expect(target.importTokens(await source.exportTokens())).rejects.toMatchObject({ code: "invalid_name" });
    expect((await target.listTokens()).map(({ name }) => name)).toEqual(["b"]);
  });

  it("keeps names of valid tokens unique", async () => {
    const [reader, writer] = await make();
    const { info } = await reader.createToken({ name: "ci" });
    await expect(writer.createToken({ name: "ci" })).rejects.toThrow(expect.objectContaining({ code: "invalid_name" }));
    // Otherwise revoking by name or ID would be ambiguous.
    await expect(writer.createToken({ name: info.tokenId })).rejects.toThrow(
      expect.objectContaining({ code: "invalid_name" }),
    );
    await writer.revokeToken("ci");
    const { secret } = await reader.createToken({ name: "ci" });
    expect(await writer.find(secret)).toBeDefined();
  });

  it("expires credentials to the millisecond", async () => {
    const [reader, writer] = await make();
    const token = (await writer.createToken({ name: "short", expiresAt: now + HOUR })).secret;
    const share = (await writer.createShare({ ...SHARE, expiresAt: now + HOUR })).secret;
    const found = (await reader.find(token)) ?? ANONYMOUS;
    const cookie = await writer.createCookie(found, now + 2 * HOUR);
    expect(cookie.info.expiresAt).toBe(now + HOUR);
    const ticket = await writer.createTicket(found, { expiresAt: now + 2 * HOUR });
    expect(ticket.info.expiresAt).toBe(now + HOUR);
    const all = [token, share, cookie.secret];
    const principals = await Promise.all(all.map(async (secret) => (await reader.find(secret)) ?? ANONYMOUS));
    now += HOUR - 1;
    for (const secret of all) expect(await reader.find(secret)).toBeDefined();
    expect(await Promise.all(principals.map((one) => reader.isValid(one)))).toEqual([true, true, true]);
    now += 1;
    for (const secret of all) expect(await reader.find(secret)).toBeUndefined();
    expect(await Promise.all(principals.map((one) => reader.isValid(one)))).toEqual([false, false, false]);
    expect(await reader.useTicket(ticket.secret)).toBeUndefined();
    expect(await reader.listShares("s 1", "i1")).toEqual([]);
  });

  testShareLinks(make, {
    now: () => now,
    wait: (ms) => {
      now += ms;
    },
  });

  it("keeps cookies valid until sign-out or until the token is revoked", async () => {
    const [reader, writer] = await make();
    const token = await writer.createToken({ name: "me" });
    const me = (await reader.find(token.secret)) ?? ANONYMOUS;
    const [one, two] = (await Promise.all(
      [1, 2].map(async () => (await writer.createCookie(me, now + HOUR)).secret),
    )) as [string, string];
    const [first, second] = (await Promise.all(
      [one, two].map(async (secret) => (await reader.find(secret)) ?? ANONYMOUS),
    )) as [Principal, Principal];
    expect(first).toEqual({ ...me, expiresAt: now + HOUR, cookie: one.slice(9, 21) });
    // Knowing the ID alone is not enough to sign out.
    await writer.deleteCookie(one.slice(0, 22) + two.slice(22));
    expect(await reader.isValid(first)).toBe(true);
    await writer.deleteCookie(one);
    expect(await Promise.all([first, second, me].map((principal) => reader.isValid(principal)))).toEqual([
      false,
      true,
      true,
    ]);
    expect([await reader.find(one), await reader.find(two)]).toMatchObject([undefined, { id: me.id }]);
    await writer.revokeToken("me");
    expect([await reader.find(two), await reader.isValid(second)]).toEqual([undefined, false]);
  });

  it("stores JWT principals until they expire", async () => {
    const [reader, writer] = await make();
    const cookie = await writer.createCookie(ALICE, now + 10 * HOUR);
    expect(cookie.info.expiresAt).toBe(NOON + HOUR);
    const found = (await reader.find(cookie.secret)) ?? ANONYMOUS;
    expect(found).toEqual({ ...ALICE, cookie: cookie.secret.slice(9, 21) });
    expect(await reader.isValid(ALICE)).toBe(true);
    const ticket = await writer.createTicket(ALICE, { session: "s", expiresAt: now + 1000 });
    expect(await reader.useTicket(ticket.secret)).toEqual({ principal: ALICE, session: "s" });
    now += HOUR;
    expect([await reader.isValid(ALICE), await reader.find(cookie.secret)]).toEqual([false, undefined]);
  });

  it("stores users of another login without their lease, and erases them with their owner", async () => {
    const [reader, writer] = await make();
    const user: Principal = {
      kind: "user",
      id: "user:ann",
      name: "ann",
      owner: "ann",
      scopes: new Set(["read"]),
      limits: {},
    };
    const login = { key: "secret", check: () => undefined, confirm: async () => undefined };
    const issue = () => writer.createTicket({ ...user, login }, { expiresAt: now + HOUR });
    expect((await reader.useTicket((await issue()).secret))?.principal).toEqual(user);
    const { secret } = await issue();
    const share = await writer.createShare({ ...SHARE, maker: user.id });
    await writer.addSpent(user.id, 5);
    expect(await writer.eraseOwner("ann")).toEqual({ tokens: 0, shares: 1, signIns: 1, usageRecords: 1 });
    expect([await reader.useTicket(secret), await reader.find(share.secret)]).toEqual([undefined, undefined]);
    expect(await reader.readSpent(user.id)).toBe(0);
  });

  it("accepts a ticket once and only with its full secret", async () => {
    const [reader, writer] = await make();
    const me = (await writer.find((await writer.createToken({ name: "me" })).secret)) ?? ANONYMOUS;
    const [one, two] = (await Promise.all(
      [1, 2].map(async () => (await writer.createTicket(me, { expiresAt: now + 30_000 })).secret),
    )) as [string, string];
    expect(await reader.useTicket(one.slice(0, 22) + two.slice(22))).toBeUndefined();
    expect([await reader.find(one), await reader.useTicket(one.replace("tkt", "tok"))]).toEqual([undefined, undefined]);
    expect([await reader.useTicket(one), await writer.useTicket(one), await reader.useTicket(one)]).toEqual([
      { principal: me },
      undefined,
      undefined,
    ]);
    // An expired ticket is used up as well.
    expect([await reader.useTicket(two, now + 30_000), await reader.useTicket(two)]).toEqual([undefined, undefined]);
  });

  it("limits a ticket to the rights of its principal", async () => {
    const [reader, writer] = await make();
    const me = (await writer.find((await writer.createToken({ name: "me" })).secret)) ?? ANONYMOUS;
    const signedIn = (await writer.createCookie(me, now + HOUR)).secret;
    const byCookie = (await writer.createTicket((await writer.find(signedIn)) ?? ANONYMOUS, { expiresAt: now + 1000 }))
      .secret;
    const byToken = (await writer.createTicket(me, { expiresAt: now + 1000 })).secret;
    const link = await writer.createShare(SHARE);
    const linked = (await writer.find(link.secret)) ?? ANONYMOUS;
    const byLink = await Promise.all(
      [1, 2].map(async () => (await writer.createTicket(linked, { session: "other", expiresAt: now + 1000 })).secret),
    );
    await writer.deleteCookie(signedIn);
    expect(await reader.useTicket(byCookie)).toBeUndefined();
    await writer.revokeToken("me");
    expect(await reader.useTicket(byToken)).toBeUndefined();
    expect(await reader.useTicket(byLink[0] ?? "")).toEqual({ principal: linked, session: "s 1" });
    await writer.revokeShare("s 1", link.info.shareId);
    expect(await reader.useTicket(byLink[1] ?? "")).toBeUndefined();
  });

  it.each([LOCAL, ANONYMOUS])("rejects cookies and tickets for principals without credentials", async (principal) => {
    const [reader] = await make();
    const unsupported: unknown = expect.objectContaining({ code: "unsupported" });
    await expect(reader.createCookie(principal, now + 1)).rejects.toThrow(unsupported);
    await expect(reader.createTicket(principal, { expiresAt: now + 1 })).rejects.toThrow(unsupported);
    expect(await reader.isValid(principal)).toBe(true);
  });

  it("counts usage per UTC day and principal and forgets it after a month", async () => {
    const [reader, writer] = await make();
    await writer.addSpent("token:a", 10);
    await reader.addSpent("token:a", 5.2);
    await writer.addSpent("token:b", 1);
    for (const nothing of [0, -5, Number.NaN]) await writer.addSpent("token:a", nothing);
    expect([
      await reader.readSpent("token:a"),
      await reader.readSpent("token:b"),
      await reader.readSpent("token:c"),
    ]).toEqual([16, 1, 0]);
    await writer.addSpent("token:b", Number.POSITIVE_INFINITY);
    await writer.addSpent("token:b", 7);
    expect(await reader.readSpent("token:b")).toBe(Number.MAX_SAFE_INTEGER);
    const next = NOON + 12 * HOUR;
    expect([await reader.readSpent("token:a", next - 1), await reader.readSpent("token:a", next)]).toEqual([16, 0]);
    await reader.addSpent("token:a", 1, NOON + 32 * 24 * HOUR);
    expect(await reader.readSpent("token:a", NOON)).toBe(16);
    await reader.addSpent("token:a", 1, NOON + 33 * 24 * HOUR);
    expect(await reader.readSpent("token:a", NOON)).toBe(0);
  });

  it("stores session IDs with any characters", async () => {
    const [reader, writer] = await make();
    const [session, incarnation] = ["a\\0\0\\\\b 😀", "i1"];
    const { secret, info } = await writer.createShare({ ...SHARE, session });
    expect((await reader.find(secret))?.session).toEqual({ id: session, incarnation });
    expect(await reader.listShares(session, incarnation)).toEqual([info]);
    const ticket = await writer.createTicket(ALICE, { session, expiresAt: now + 1000 });
    expect(await reader.useTicket(ticket.secret)).toEqual({ principal: ALICE, session });
    expect([await writer.revokeToken("a\0b"), await writer.revokeShare(session, "\0")]).toEqual([false, false]);
    expect(await writer.revokeShare(session, info.shareId)).toBe(true);
  });

  describe("limits", () => {
    const tooMany = expect.objectContaining({ code: "too_many_open" }) as Error;

    it("deletes revoked and expired tokens before it rejects new ones", async () => {
      const [credentials] = await make({ maxTokens: 3 });
      await credentials.createToken({ name: "a" });
      await credentials.createToken({ name: "b", expiresAt: now + 1 });
      await credentials.createToken({ name: "c" });
      await expect(credentials.createToken({ name: "d" })).rejects.toThrow(tooMany);
      await credentials.revokeToken("a");
      await credentials.createToken({ name: "d" });
      now += 1;
      await credentials.createToken({ name: "e" });
      await expect(credentials.createToken({ name: "f" })).rejects.toThrow(tooMany);
      expect((await credentials.listTokens()).map(({ name }) => name)).toEqual(["e", "d", "c"]);
    });

    it("limits links per session and per owner", async () => {
      const [credentials] = await make({ maxSharesOfSession: 2, maxSharesOfOwner: 3 });
      const [first] = (await Promise.all([1, 2].map(async () => (await credentials.createShare(SHARE)).secret))) as [
        string,
        string,
      ];
      await expect(credentials.createShare(SHARE)).rejects.toThrow(tooMany);
      // A recreated session has its own links.
      const again = (await credentials.createShare({ ...SHARE, incarnation: "i2" })).secret;
      expect(await credentials.find(first)).toBeUndefined();
      for (const session of ["s 2", "s 3"]) await credentials.createShare({ ...SHARE, session });
      expect(await credentials.find(again)).toBeDefined();
      await credentials.createShare({ ...SHARE, session: "s 4", owner: "other" });
      expect(await credentials.find(again)).toBeDefined();
      await credentials.createShare({ ...SHARE, session: "s 4" });
      expect(await credentials.find(again)).toBeUndefined();
    });

    it("deletes the oldest cookie of the principal, then of all", async () => {
      const [credentials] = await make({ maxCookies: 3, maxCookiesOfPrincipal: 2 });
      const add = async (id: string): Promise<string> =>
        (await credentials.createCookie({ ...ALICE, id }, now + HOUR)).secret;
      const isThere = async (secrets: readonly string[]): Promise<boolean[]> =>
        Promise.all(secrets.map(async (one) => (await credentials.find(one)) !== undefined));
      const cookies = [await add("jwt:a"), await add("jwt:b"), await add("jwt:a")];
      const third = await add("jwt:a");
      expect(await isThere([...cookies, third])).toEqual([false, true, true, true]);
      const other = await add("jwt:c");
      expect(await isThere([...cookies, third, other])).toEqual([false, false, true, true, true]);
    });

    it("rejects tickets above the limit until some are used or expired", async () => {
      const [credentials] = await make({ maxTickets: 3, maxTicketsOfPrincipal: 2 });
      const add = async (id: string): Promise<string> =>
        (await credentials.createTicket({ ...ALICE, id }, { expiresAt: now + 1000 })).secret;
      const [first] = [await add("jwt:a"), await add("jwt:a")];
      await expect(add("jwt:a")).rejects.toThrow(tooMany);
      await add("jwt:b");
      await expect(add("jwt:c")).rejects.toThrow(tooMany);
      await credentials.useTicket(first ?? "");
      await add("jwt:c");
      now += 1000;
      for (const id of ["jwt:c", "jwt:c", "jwt:a"]) await add(id);
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
    ])("rejects a token with %s: %j", async (code, wrong) => {
      const [credentials] = await make();
      await expect(credentials.createToken({ name: "ci", ...wrong })).rejects.toThrow(
        expect.objectContaining({ code }) as Error,
      );
      expect([await credentials.listTokens(), await credentials.hasTokens()]).toEqual([[], false]);
    });
  });

  it("accepts a ticket once under concurrency", async () => {
    const handles = await make();
    const [first] = handles;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: 1 }), { minLength: 2, maxLength: 8 }), async (order) => {
        const { secret } = await first.createTicket(ALICE, { expiresAt: now + 1000 });
        // Each call reads the row before the first one deletes it.
        const used = await Promise.all(order.map((index) => handles[index]!.useTicket(secret)));
        return used.filter((one) => one !== undefined).length === 1;
      }),
      { numRuns: LONG ? 200 : 15 },
    );
  });

  it("can be closed twice and rejects later calls", async () => {
    const [credentials] = await make();
    const { secret } = await credentials.createToken({ name: "a" });
    const principal = (await credentials.find(secret)) ?? ANONYMOUS;
    await credentials.close();
    await credentials.close();
    const closed = expect.objectContaining({ code: "store_closed" }) as Error;
    for (const ask of [
      async () => credentials.find(secret),
      async () => credentials.isValid(principal),
      async () => credentials.listTokens(),
      async () => credentials.createToken({ name: "b" }),
      async () => credentials.addSpent("a", 1),
    ])
      await expect(ask()).rejects.toThrow(closed);
  });
}
