import { describe, expect, it, onTestFinished } from "vitest";
import { MemoryLog } from "../../log/index.ts";
import { type Caller, mayRead } from "./authorize.ts";
import type { RequestInfo } from "../guard/read-request-info.ts";
import { type Action, DEFAULT_SCOPES } from "./scopes.ts";
import type { AuthOptions } from "./access.ts";
import { createAccess } from "./create-access.ts";
import { openCredentials } from "./credentials/open-credentials.ts";
import { LOCAL, type PrincipalLimits } from "./principal.ts";

const ORIGIN = "http://127.0.0.1:10338";

async function createFixture(options: Partial<AuthOptions> = {}) {
  const clock = { now: Date.now() };
  const log = new MemoryLog();
  const credentials = openCredentials(":memory:");
  const access = createAccess({ credentials, maxFailures: 3, ...options }, { log, now: () => clock.now });
  onTestFinished(async () => {
    await access.close();
    await credentials.close();
  });
  const makeRequest = (
    headers: { readonly [name: string]: string },
    path = "/v1/sessions",
    method = "GET",
  ): RequestInfo => ({
    method,
    headers: new Headers(headers),
    url: new URL(path, ORIGIN),
    address: "10.0.0.1",
    origin: ORIGIN,
  });
  const identify = async (request: RequestInfo): Promise<Caller> => ({
    ...request,
    ...(await access.identify(request)),
  });
  const codeOf = async (work: Promise<unknown> | void): Promise<string> => {
    try {
      await work;
      return "allowed";
    } catch (error) {
      return (error as { readonly code: string }).code;
    }
  };
  const may = async (caller: Caller, action: Action, session?: string) =>
    codeOf(Promise.resolve(access.authorize({ caller, action, session })));
  const token = (await credentials.createToken({ name: "ann", owner: "ann", scopes: DEFAULT_SCOPES })).secret;
  return { clock, log, credentials, access, makeRequest, identify, codeOf, may, token };
}

describe("identification", () => {
  it("uses the bearer token even if there are cookies", async () => {
    const { identify, makeRequest, token } = await createFixture();
    for (const authorization of [`Bearer ${token}`, `bearer  ${token}`, ` BEARER ${token} `]) {
      const { principal } = await identify(makeRequest({ authorization, cookie: "loom-session-10338=loom_ses_x" }));
      expect(principal).toMatchObject({ kind: "token", owner: "ann", name: "ann" });
    }
  });

  it("is anonymous without credentials, with another scheme or with an invalid cookie", async () => {
    const { identify, makeRequest } = await createFixture();
    for (const headers of [{}, { authorization: "Basic YTpi" }, { cookie: "loom-session-10338=loom_ses_nothing" }])
      expect(await identify(makeRequest(headers))).toMatchObject({ principal: { kind: "anonymous" }, shares: [] });
  });

  it("rejects all invalid credentials alike and then limits the address", async () => {
    const { identify, makeRequest, codeOf, token, clock } = await createFixture();
    const secrets = ["", `${token}x`, token.replace("tok", "ses"), "a.b.c"];
    const codes: string[] = [];
    for (const text of secrets) codes.push(await codeOf(identify(makeRequest({ authorization: `Bearer ${text}` }))));
    expect(codes).toEqual(["unauthorized", "unauthorized", "unauthorized", "rate_limited"]);
    expect(await codeOf(identify(makeRequest({}, "/v1/ws?ticket=loom_tkt_no", "UPGRADE")))).toBe("rate_limited");
    expect(await codeOf(identify(makeRequest({ authorization: `Bearer ${token}` })))).toBe("allowed");
    clock.now += 60_000;
    expect(await codeOf(identify(makeRequest({ authorization: "Bearer no" })))).toBe("unauthorized");
  });

  it("accepts a ticket once, for streams and sockets, and only for its session", async () => {
    const { identify, makeRequest, codeOf, may, token, credentials, log, clock } = await createFixture();
    for (const session of ["s", "t"]) await log.createSession(session, { owner: "ann" });
    const { principal } = await identify(makeRequest({ authorization: `Bearer ${token}` }));
    const issue = async (session?: string) =>
      (await credentials.createTicket(principal, { session, expiresAt: clock.now + 1000 })).secret;
    const whole = `/v1/sessions/s/events?ticket=${await issue()}`;
    expect((await identify(makeRequest({}, whole, "POST"))).principal.kind).toBe("anonymous");
    expect((await identify(makeRequest({}, whole))).principal.owner).toBe("ann");
    expect(await codeOf(identify(makeRequest({}, whole)))).toBe("unauthorized");
    const bound = await identify(makeRequest({}, `/v1/ws?ticket=${await issue("s")}`, "UPGRADE"));
    const attempts: readonly (readonly [Action, string | undefined])[] = [
      ["sessions.read", "s"],
      ["runs.start", "s"],
      ["sessions.read", "t"],
      ["runs.start", "t"],
      ["runs.start", "new"],
      ["sessions.list", undefined],
      ["server.read", undefined],
    ];
    const codes: string[] = [];
    for (const [action, session] of attempts) codes.push(await may(bound, action, session));
    const [refused, unknown] = ["forbidden", "unknown_session"];
    expect(codes).toEqual(["allowed", "allowed", unknown, unknown, unknown, refused, refused]);
  });

  it("limits the runs of a credential, or of the server, but not of the local user", async () => {
    const { access, credentials, identify, makeRequest } = await createFixture();
    const limitOf = async (name: string, limits: PrincipalLimits) => {
      const { secret } = await credentials.createToken({ name, limits });
      const caller = await identify(makeRequest({ authorization: `Bearer ${secret}` }));
      const { actor, maxRuns } = access.runLimitOf(caller) ?? {};
      expect(actor).toBe(caller.principal.id);
      return maxRuns;
    };
    expect([await limitOf("small", { maxRuns: 2 }), await limitOf("default", {})]).toEqual([2, 20]);
    const local = { ...(await identify(makeRequest({}))), principal: LOCAL };
    expect(access.runLimitOf(local)).toBeUndefined();
  });

  it("enforces the request limit and the allowed agents", async () => {
    const { identify, makeRequest, codeOf, credentials, access } = await createFixture();
    const limits = { requestsPerMinute: 2 };
    const { secret } = await credentials.createToken({ name: "slow", limits, agents: ["react"] });
    const request = makeRequest({ authorization: `Bearer ${secret}` });
    const caller = await identify(request);
    const run = (agent: string) => access.admitRun(caller, agent);
    expect([await codeOf(run("react")), await codeOf(run("tot"))]).toEqual(["allowed", "forbidden"]);
    expect([await codeOf(identify(request)), await codeOf(identify(request))]).toEqual(["allowed", "rate_limited"]);
  });
});

describe("continued reading", () => {
  it("ends for a share link when the session was deleted and recreated", async () => {
    const { log, credentials, identify, makeRequest } = await createFixture();
    const { incarnation } = await log.createSession("s", { owner: "ann" });
    const { secret } = await credentials.createShare({ session: "s", incarnation, owner: "ann" });
    const caller = await identify(makeRequest({ authorization: `Bearer ${secret}` }));
    expect(await mayRead(log, caller, "s")).toBe(true);
    await log.deleteSession("s");
    await log.createSession("s", { owner: "ann" });
    expect(await mayRead(log, caller, "s")).toBe(false);
  });
});

describe("authorization", () => {
  it("depends on scopes and the session owner and hides sessions of other owners", async () => {
    const { identify, makeRequest, may, token, credentials, log } = await createFixture();
    await log.createSession("own", { owner: "ann" });
    await log.createSession("other", { owner: "ben" });
    const ann = await identify(makeRequest({ authorization: `Bearer ${token}` }));
    const boss = (await credentials.createToken({ name: "boss", owner: "boss", scopes: ["admin"] })).secret;
    const admin = await identify(makeRequest({ authorization: `Bearer ${boss}` }));
    const anonymous = await identify(makeRequest({}));
    const table: readonly (readonly [Action, string | undefined, string, string, string])[] = [
      ["public", undefined, "allowed", "allowed", "allowed"],
      ["sessions.list", undefined, "allowed", "allowed", "unauthorized"],
      ["sessions.read", "own", "allowed", "allowed", "unauthorized"],
      ["sessions.read", "other", "unknown_session", "allowed", "unauthorized"],
      ["sessions.read", "none", "unknown_session", "unknown_session", "unauthorized"],
      ["runs.start", "other", "session_id_taken", "allowed", "unauthorized"],
      ["runs.start", "none", "allowed", "allowed", "unauthorized"],
      ["runs.approve", "none", "unknown_session", "unknown_session", "unauthorized"],
      ["ingest", "own", "forbidden", "allowed", "unauthorized"],
      ["ingest", "other", "forbidden", "allowed", "unauthorized"],
      ["metrics.read", undefined, "forbidden", "allowed", "unauthorized"],
    ];
    for (const [action, session, ...codes] of table) {
      const found = [
        await may(ann, action, session),
        await may(admin, action, session),
        await may(anonymous, action, session),
      ];
      expect([action, session, ...found]).toEqual([action, session, ...codes]);
    }
  });

  it("ends with the share link", async () => {
    const { identify, makeRequest, may, credentials, log } = await createFixture();
    const { incarnation } = await log.createSession("s", { owner: "ann" });
    const { secret, info } = await credentials.createShare({ session: "s", incarnation, owner: "ann" });
    const cookie = `loom-share-${info.shareId}=${secret}`;
    const identifyAll = () =>
      Promise.all([identify(makeRequest({ authorization: `Bearer ${secret}` })), identify(makeRequest({ cookie }))]);
    const read = async (callers: readonly Caller[]) =>
      Promise.all(callers.map((caller) => may(caller, "sessions.read", "s")));
    const callers = await identifyAll();
    expect(await read(callers)).toEqual(["allowed", "allowed"]);
    await log.deleteSession("s");
    await log.createSession("s", { owner: "ann" });
    expect(await read(callers)).toEqual(["unknown_session", "unauthorized"]);
    await credentials.revokeShare("s", info.shareId);
    await expect(identifyAll()).rejects.toMatchObject({ code: "unauthorized" });
    expect((await identify(makeRequest({ cookie }))).shares).toEqual([]);
  });
});

describe("without a credential store", () => {
  it("keeps credentials in memory", async () => {
    const jwt = { jwks: { keys: [] }, issuer: "https://issuer.test", audience: "loom" };
    const access = createAccess({ jwt }, { log: new MemoryLog() });
    expect(await (await access.openAuthService()).credentials.hasTokens()).toBe(false);
    await access.close();
  });
});
