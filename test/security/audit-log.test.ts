// The audit log has an entry for each action that matters, with who did it from where, and never a secret.
import { describe, expect, it, vi } from "vitest";
import { openKnowledgeBase } from "../../src/context/index.ts";
import type { JsonObject } from "../../src/protocol/index.ts";
import type { AuditEntry } from "../../src/server/auth/audit/auditor.ts";
import { type AuthServerFixtureOptions, createAuthServerFixture, OWNER, SESSION } from "./auth-server-fixture.ts";

const REMOVE = [{ calls: [{ name: "remove", input: { path: "a.txt" }, id: "c1" }] }, { text: "Done." }];
const CLIENT = "203.0.113.7";

async function createAudited(options: AuthServerFixtureOptions = {}) {
  const entries: AuditEntry[] = [];
  const audit = (entry: AuditEntry): void => void entries.push(entry);
  const server = { audit, trustedProxies: ["loopback"], ...options.server };
  const fixture = await createAuthServerFixture({ ...options, server });
  const { secret, info } = await fixture.issue({ name: "laptop" });
  const from = (given: string | undefined, more: { readonly [name: string]: string } = {}) => ({
    headers: {
      "x-forwarded-for": CLIENT,
      "x-request-id": "request-1",
      ...(given === undefined ? {} : { authorization: `Bearer ${given}` }),
      ...more,
    },
    query: "",
  });
  const ask = async (method: string, path: string, body?: JsonObject, given: string | undefined = secret) =>
    fixture.ask(method, path, from(given), body);
  const find = (action: string) => entries.filter((entry) => entry.action === action);
  const actor = { actor: `token:${info.tokenId}`, name: "laptop", owner: OWNER };
  const place = { address: CLIENT, request_id: "request-1" };
  return { ...fixture, send: fixture.ask, entries, secret, info, ask, from, find, actor, place };
}

/** Starts a run whose tool call waits for approval. */
async function startWaiting({ ask, log }: Awaited<ReturnType<typeof createAudited>>): Promise<void> {
  await (await ask("POST", `/v1/sessions/${SESSION}/runs`, { message: "Remove it" })).body?.cancel();
  await vi.waitFor(async () => {
    const { texts } = await log.read(SESSION, { after: 0 });
    expect(texts.some((text) => text.includes('"tool_approval"'))).toBe(true);
  });
}

describe("the audit log", () => {
  it("records sign-ins, sign-outs and refused credentials", async () => {
    const { ask, find, secret, place, actor, sessionCookie, ...fixture } = await createAudited();
    const signIn = await ask("POST", "/v1/auth/sign-in", { credential: secret }, "");
    expect(signIn.status).toBe(401);
    const { headers } = fixture.from(undefined);
    const signedIn = await fixture.send("POST", "/v1/auth/sign-in", { headers, query: "" }, { credential: secret });
    expect([signedIn.status, find("sign_in")]).toMatchObject([200, [{ outcome: "done", ...actor, ...place }]]);
    const cookie = sessionCookie(signedIn.headers.getSetCookie()[0]?.split(/[=;]/)[1] ?? "");
    await fixture.send("POST", "/v1/auth/sign-out", cookie);
    expect(find("sign_out")).toMatchObject([{ outcome: "done", ...actor }]);
    // No cookie was revoked.
    await fixture.send("POST", "/v1/auth/sign-out", { headers: {}, query: "" });
    expect(find("sign_out")).toHaveLength(1);
    expect(find("credential.refuse")).toEqual([
      {
        time: expect.stringMatching(/^\d{4}-.*Z$/) as string,
        action: "credential.refuse",
        outcome: "unauthorized",
        actor: "anonymous",
        ...place,
        target: { credential: "unknown" },
      },
    ]);
  });

  it("names a revoked credential by its ID", async () => {
    const { ask, find, secret, info, credentials } = await createAudited();
    await credentials.revokeToken(info.tokenId);
    await ask("GET", "/v1/sessions", undefined, secret);
    expect(find("credential.refuse")).toMatchObject([{ target: { credential: `token:${info.tokenId}` } }]);
  });

  it("records links, deletions and missing permissions", async () => {
    const knowledge = await openKnowledgeBase(":memory:");
    const { ask, entries, issue, actor, place } = await createAudited({ server: { knowledge } });
    const made = (await (await ask("POST", `/v1/sessions/${SESSION}/shares`, {})).json()) as { share_id: string };
    const share = made.share_id;
    await ask("DELETE", `/v1/sessions/${SESSION}/shares/${share}`);
    await ask("DELETE", `/v1/sessions/${SESSION}`);
    await ask("DELETE", `/v1/sessions/${SESSION}`);
    await ask("DELETE", "/v1/knowledge/a.md");
    const keeper = await issue({ name: "keeper", scopes: ["admin"] });
    await ask("DELETE", "/v1/knowledge/a.md", undefined, keeper.secret);
    const who = { ...actor, ...place };
    const admin = { actor: `token:${keeper.info.tokenId}`, name: "keeper", owner: OWNER, admin: true, ...place };
    expect(entries.map(({ time: _time, ...entry }) => entry)).toEqual([
      { action: "share.create", outcome: "done", ...who, target: { session: SESSION, share } },
      { action: "share.revoke", outcome: "done", ...who, target: { session: SESSION, share } },
      { action: "session.delete", outcome: "done", ...who, target: { session: SESSION } },
      { action: "permission.refuse", outcome: "forbidden", ...who, target: { permission: "knowledge.write" } },
      { action: "document.delete", outcome: "unknown_document", ...admin, target: { document: "a.md" } },
    ]);
    await knowledge.close();
  });

  it("records that an owner was erased, and refused attempts", async () => {
    const { ask, find, actor, place } = await createAudited();
    expect((await ask("DELETE", "/v1/owners/bob")).status).toBe(403);
    expect((await ask("DELETE", `/v1/owners/${OWNER}`)).status).toBe(200);
    expect(find("owner.erase")).toMatchObject([
      { outcome: "forbidden", ...actor, ...place, target: { owner: "bob" } },
      { outcome: "done", ...actor, ...place, target: { owner: OWNER, sessions: 1, blobs: 0, tokens: 1, shares: 0 } },
    ]);
  });

  it.each(["http", "control", "lumine"])("records the decision and the tool of an approval over %s", async (how) => {
    const fixture = await createAudited({ script: REMOVE });
    const { find, actor, ask, openSocket, from, secret } = fixture;
    await startWaiting(fixture);
    if (how === "http") await ask("POST", `/v1/sessions/${SESSION}/approvals/c1`, { decision: "rejected" });
    else {
      const socket = openSocket(
        how === "control" ? "/v1/ws" : `/agentOS/v1/ws_stream?session_id=${SESSION}&follow=1`,
        from(secret),
      );
      socket.started.catch(() => undefined);
      await vi.waitFor(() => socket.send(APPROVALS[how as keyof typeof APPROVALS]));
    }
    await vi.waitFor(() => expect(find("approval.answer")).toHaveLength(1));
    expect(find("approval.answer")).toMatchObject([
      {
        outcome: "done",
        ...actor,
        address: CLIENT,
        request_id: "request-1",
        target: { session: SESSION, call: "c1", decision: "rejected", tool: "remove" },
      },
    ]);
  });

  it("contains no secret, whatever a client sends", async () => {
    const { send, entries, issue, from, secret, log, ...fixture } = await createAudited();
    const planted = (await issue()).secret;
    const jwt = `eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.${"s".repeat(40)}`;
    const api = `sk-${"k".repeat(40)}`;
    const scopes = ["read", "write", "approve", "knowledge"] as const;
    const named = await issue({ name: api, owner: api, scopes });
    for (const [at, text] of [planted, jwt, api, `Bearer ${api}`, `password=${api}`].entries()) {
      const part = encodeURIComponent(text);
      const noise = { "x-request-id": text, "user-agent": text };
      // Another address each time, so that no refusal is summed up.
      const auth = from(named.secret, { ...noise, "x-forwarded-for": `198.51.100.${at}` });
      const bad = from(`${text}x`, { ...noise, "x-forwarded-for": text });
      const cookie = fixture.sessionCookie(part);
      await log.createSession(text, { owner: api });
      await send("POST", "/v1/auth/sign-in", auth, { credential: text });
      await send("POST", "/v1/auth/sign-in", { ...auth, headers: {} }, { credential: named.secret });
      await send("GET", `/v1/sessions?ticket=${part}`, bad);
      await send("GET", `/v1/sessions?ticket=${part}`, { headers: noise, query: "" });
      await send("GET", "/v1/sessions", { ...cookie, headers: { ...cookie.headers, ...noise } });
      await send("POST", `/v1/sessions/${part}/runs`, auth, { message: text });
      await send("POST", `/v1/sessions/${part}/approvals/${part}`, auth, { decision: "approved", reason: text });
      await send("DELETE", `/v1/sessions/${part}/shares/${part}`, auth);
      await send("DELETE", `/v1/knowledge/${part}`, auth);
      await send("DELETE", `/v1/sessions/${part}`, auth);
    }
    const counts = Object.entries(Object.groupBy(entries, ({ action }) => action)).map(([name, all]) => [
      name,
      all.length >= 5,
    ]);
    const actions = ["sign_in", "permission.refuse", "approval.answer", "share.revoke", "document.delete"];
    expect(counts).toEqual(
      expect.arrayContaining([...actions, "session.delete"].map((name) => [name, true])) as unknown,
    );
    expect(new Set(entries.map(({ action }) => action))).toContain("credential.refuse");
    const written = JSON.stringify(entries);
    for (const text of [planted, jwt, api, secret, named.secret, "k".repeat(40), "s".repeat(40)])
      expect(written).not.toContain(text.slice(-30));
  });
});

const COMMON = { session: SESSION, call_id: "c1", decision: "rejected" };
const APPROVALS = {
  control: { type: "approve", id: "a1", ...COMMON },
  lumine: { type: "tool_approval", tool_use_id: "c1", decision: "rejected" },
} as const;

describe("an audit log that cannot be written", () => {
  const server = {
    audit: (): never => {
      throw new Error("disk full");
    },
  };

  it("is reported once, and actions are executed", async () => {
    const { ask, reported } = await createAudited({ server });
    await ask("POST", `/v1/sessions/${SESSION}/shares`, {});
    expect((await ask("DELETE", `/v1/sessions/${SESSION}`)).status).toBe(204);
    expect(reported).toMatchObject([{ code: "audit_failed", cause: { message: "disk full" } }]);
  });

  it("refuses actions if the audit log is required", async () => {
    const fixture = await createAudited({ script: REMOVE, server: { ...server, auditRequired: true } });
    const { ask, log, ran, secret } = fixture;
    const refusal = await ask("DELETE", `/v1/sessions/${SESSION}`);
    expect([refusal.status, refusal.headers.get("retry-after"), await refusal.json()]).toMatchObject([
      503,
      "5",
      { code: "audit_failed" },
    ]);
    expect(await log.getSession(SESSION)).toBeDefined();
    await startWaiting(fixture);
    const approval = await ask("POST", `/v1/sessions/${SESSION}/approvals/c1`, { decision: "approved" });
    expect([approval.status, ran]).toEqual([503, []]);
    expect((await ask("POST", "/v1/auth/sign-in", { credential: secret })).headers.getSetCookie()).toEqual([]);
  });

  it("writes an entry before the action if it is required", async () => {
    const { ask, entries } = await createAudited({ server: { auditRequired: true } });
    await ask("DELETE", `/v1/sessions/${SESSION}`);
    expect(entries.map(({ action, outcome }) => [action, outcome])).toEqual([
      ["session.delete", "started"],
      ["session.delete", "done"],
    ]);
  });
});
