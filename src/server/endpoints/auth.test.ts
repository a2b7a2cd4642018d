import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { codeOf, createAuthFixture, createClock, takeCookie } from "../../../test/server/auth-fixture.ts";
import type { Auth } from "../api/shapes.generated.ts";
import { SCOPES, DEFAULT_SCOPES } from "../auth/scopes.ts";

describe("GET /v1/auth", () => {
  it("reports open mode when authentication is off", async () => {
    const { ask, signIn, getAuth } = createAuthFixture("open");
    expect(await getAuth()).toEqual({ mode: "open", signed_in: false, scopes: SCOPES, shared_session_ids: [] });
    expect(await codeOf(await signIn("loom_tok_x"))).toEqual([400, "unsupported"]);
    expect(await codeOf(await ask("/v1/auth/tickets", { body: {} }))).toEqual([400, "unsupported"]);
    expect((await ask("/v1/auth/sign-out", { method: "POST" })).status).toBe(204);
  });

  it("describes the caller's identity", async () => {
    const { credentials, ask, getAuth } = createAuthFixture();
    const expiresAt = Date.now() + 60_000;
    const { secret } = await credentials.createToken({ name: "ci", owner: "ann", expiresAt });
    const anonymous = { mode: "required", signed_in: false, scopes: [], shared_session_ids: [] };
    expect(await getAuth()).toEqual(anonymous);
    expect(await getAuth({ cookie: "loom-session-10338=loom_ses_abcdefghijkl_wrong" })).toEqual(anonymous);
    expect(await getAuth({ bearer: secret })).toEqual({
      ...anonymous,
      signed_in: true,
      kind: "token",
      name: "ci",
      owner: "ann",
      scopes: DEFAULT_SCOPES,
      expires_at: expiresAt,
    });
    const refused = await ask("/v1/auth", { bearer: `${secret}x` });
    expect(await codeOf(refused)).toEqual([401, "unauthorized"]);
    expect((await ask("/v1/auth")).headers.get("cache-control")).toContain("no-store");
  });
});

describe("sign-in", () => {
  it("sets a cookie that only pages of the server can use", async () => {
    const { credentials, signIn, ask, getAuth } = createAuthFixture();
    const { secret } = await credentials.createToken({ name: "me", owner: "ann" });
    const response = await signIn(`  ${secret}\n`);
    expect(response.status).toBe(200);
    expect(response.headers.get("cache-control")).toContain("no-store");
    const [written = "", ...others] = response.headers.getSetCookie();
    expect(others).toEqual([]);
    expect(written).toMatch(
      /^loom-session-10338=loom_ses_[a-z0-9]{12}_[\w-]{43}; Path=\/; Max-Age=60\d\d\d\d; HttpOnly; SameSite=Strict$/,
    );
    expect(written).not.toContain(secret.slice(-43));
    const cookie = takeCookie(response);
    const who = (await response.json()) as Auth;
    expect(who).toMatchObject({ signed_in: true, kind: "token", name: "me", owner: "ann" });
    expect(who.expires_at).toBeGreaterThan(Date.now() + 6 * 86_400_000);
    expect(await getAuth({ cookie, origin: null })).toMatchObject({ signed_in: true, name: "me" });
    expect((await ask("/v1/sessions", { cookie, body: {} })).status).toBe(201);
    // A page of another origin may use a token but not the cookie, and neither may a request without an origin.
    for (const origin of ["https://app.example.com", null])
      expect(await codeOf(await ask("/v1/sessions", { cookie, body: {}, origin }))).toEqual([401, "unauthorized"]);
    expect(await getAuth({ cookie, origin: "https://app.example.com" })).toMatchObject({ signed_in: false });
  });

  it("returns the same error for every invalid credential", async () => {
    const wait = createClock();
    const { credentials, signIn } = createAuthFixture({ maxFailures: 1000 });
    const make = async (name: string, more = {}) => (await credentials.createToken({ name, ...more })).secret;
    const revoked = await make("revoked");
    await credentials.revokeToken("revoked");
    const good = await make("good");
    const over = await make("over", { expiresAt: Date.now() + 5000 });
    const share = { session: "s", incarnation: "i", owner: "ann", expiresAt: Date.now() + 5000 };
    const wrong = [
      "",
      "x",
      "a.b.c",
      revoked,
      over,
      `${good.slice(0, -4)}AAAA`,
      good.replace("tok", "shr"),
      (await credentials.createShare(share)).secret,
      (await credentials.createCookie((await credentials.find(good))!, Date.now() + 99_999)).secret,
      (await credentials.createTicket((await credentials.find(good))!, { expiresAt: Date.now() + 99_999 })).secret,
      "z".repeat(20_000),
    ];
    wait(5000);
    const answers = await Promise.all(
      wrong.map(async (credential) => {
        const response = await signIn(credential);
        const { id: _, ...problem } = (await response.json()) as { readonly id: string };
        const headers = Object.fromEntries([...response.headers].filter(([name]) => name !== "x-request-id"));
        return JSON.stringify([response.status, problem, headers]);
      }),
    );
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).toContain("unauthorized");
    expect(answers[0]).not.toContain("set-cookie");
  });

  it("is only allowed from pages of the server", async () => {
    const { credentials, signIn, ask } = createAuthFixture();
    const { secret } = await credentials.createToken({ name: "me" });
    const response = await signIn(secret, { origin: "https://app.example.com" });
    expect(response.headers.getSetCookie()).toEqual([]);
    expect(await codeOf(response)).toEqual([403, "forbidden"]);
    const out = await ask("/v1/auth/sign-out", { method: "POST", origin: "https://app.example.com" });
    expect(await codeOf(out)).toEqual([403, "forbidden"]);
  });

  it("revokes the previous cookie", async () => {
    const { credentials, signIn, getAuth } = createAuthFixture();
    const { secret } = await credentials.createToken({ name: "me" });
    const first = takeCookie(await signIn(secret));
    const second = takeCookie(await signIn(secret, { cookie: first }));
    expect(await getAuth({ cookie: first })).toMatchObject({ signed_in: false });
    expect(await getAuth({ cookie: second })).toMatchObject({ signed_in: true });
  });

  it("expires with the token", async () => {
    const { credentials, signIn, getAuth } = createAuthFixture();
    const expiresAt = Date.now() + 3_600_500;
    const { secret } = await credentials.createToken({ name: "me", expiresAt });
    const response = await signIn(secret);
    expect(response.headers.getSetCookie()[0]).toMatch(/; Max-Age=(3600|3599);/);
    expect(await response.json()).toMatchObject({ expires_at: expiresAt });
    const cookie = takeCookie(response);
    await credentials.revokeToken("me");
    expect(await getAuth({ cookie })).toMatchObject({ signed_in: false });
  });

  it("with a JWT lasts until the JWT expires", async () => {
    const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
    const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: "k", alg: "ES256" }] };
    const { signIn, getAuth, ask } = createAuthFixture({
      jwt: { jwks, issuer: "https://id.example.com", audience: "loom" },
    });
    const end = Math.floor(Date.now() / 1000) + 600;
    const jwt = await new SignJWT({ scope: "loom:read loom:write" })
      .setProtectedHeader({ alg: "ES256", kid: "k" })
      .setIssuer("https://id.example.com")
      .setAudience("loom")
      .setSubject("alice")
      .setExpirationTime(end)
      .sign(privateKey);
    const response = await signIn(jwt);
    expect(response.headers.getSetCookie()[0]).toMatch(/; Max-Age=(6[0-2]\d|59\d);/);
    const cookie = takeCookie(response);
    const who = { signed_in: true, kind: "jwt", owner: "jwt:alice", scopes: ["read", "write"] };
    expect(await getAuth({ cookie })).toMatchObject(who);
    const { ticket } = (await (await ask("/v1/auth/tickets", { cookie, body: {} })).json()) as { ticket: string };
    expect((await ask(`/v1/sessions?ticket=${ticket}`)).status).toBe(200);
    await ask("/v1/auth/sign-out", { method: "POST", cookie });
    expect(await getAuth({ cookie })).toMatchObject({ signed_in: false });
  });

  it("with a share link keeps the signed-in user", async () => {
    const { credentials, log, signIn, ask, getAuth } = createAuthFixture();
    const { incarnation } = await log.createSession("theirs", { owner: "bob" });
    const link = await credentials.createShare({ session: "theirs", incarnation, owner: "bob" });
    const { secret } = await credentials.createToken({ name: "me", owner: "ann" });
    const cookie = takeCookie(await signIn(secret));
    const opened = await signIn(link.secret, { cookie });
    expect(await opened.json()).toMatchObject({ signed_in: true, name: "me", owner: "ann", session_id: "theirs" });
    expect(takeCookie(opened)).toBe(`loom-share-${link.info.shareId}=${link.secret}`);
    const both = `${cookie}; ${takeCookie(opened)}`;
    expect(await getAuth({ cookie: both })).toMatchObject({ signed_in: true, shared_session_ids: ["theirs"] });
    expect((await ask("/v1/sessions/theirs", { cookie: both })).status).toBe(200);
    const alone = takeCookie(opened);
    const who = await getAuth({ cookie: alone });
    expect(who).toMatchObject({ signed_in: false, shared_session_ids: ["theirs"] });
    expect(JSON.stringify(who)).not.toContain("bob");
    expect((await ask("/v1/sessions/theirs", { cookie: alone })).status).toBe(200);
    expect((await ask("/v1/sessions/theirs", { cookie: alone, method: "DELETE" })).status).toBe(401);
    // Signing out removes both cookies.
    const out = await ask("/v1/auth/sign-out", { method: "POST", cookie: both });
    expect(out.headers.getSetCookie().map((text) => text.split("; ", 3).join("; "))).toEqual([
      "loom-session-10338=; Path=/; Max-Age=0",
      `loom-share-${link.info.shareId}=; Path=/; Max-Age=0`,
    ]);
  });
});

describe("sign-out", () => {
  it("revokes the cookie and tickets created with it", async () => {
    const { credentials, signIn, ask, getAuth } = createAuthFixture();
    const { secret } = await credentials.createToken({ name: "me" });
    const cookie = takeCookie(await signIn(secret));
    const { ticket } = (await (await ask("/v1/auth/tickets", { cookie, body: {} })).json()) as { ticket: string };
    const out = await ask("/v1/auth/sign-out", { method: "POST", cookie });
    expect([out.status, out.headers.get("clear-site-data")]).toEqual([204, '"cache"']);
    expect(await getAuth({ cookie })).toMatchObject({ signed_in: false });
    expect(await codeOf(await ask(`/v1/sessions?ticket=${ticket}`))).toEqual([401, "unauthorized"]);
    expect(await getAuth({ bearer: secret })).toMatchObject({ signed_in: true });
  });

  it("does not revoke a cookie that the request may not use", async () => {
    const { credentials, signIn, ask, getAuth } = createAuthFixture();
    const { secret } = await credentials.createToken({ name: "me" });
    const cookie = takeCookie(await signIn(secret));
    await ask("/v1/auth/sign-out", { method: "POST", cookie, origin: null });
    expect(await getAuth({ cookie })).toMatchObject({ signed_in: true });
  });
});
