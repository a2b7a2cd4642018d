import { describe, expect, it, onTestFinished } from "vitest";
import { MemoryLog } from "../../log/index.ts";
import type { Action, Caller, RequestInfo } from "../guard/authorize.ts";
import type { AuthOptions } from "./auth-options.ts";
import { createAccess } from "./create-access.ts";
import { mayRead } from "./create-authorize.ts";
import { openCredentials } from "./credentials/open-credentials.ts";
import { USUAL_SCOPES } from "./scopes.ts";

const ORIGIN = "http://127.0.0.1:10338";

function setStage(options: Partial<AuthOptions> = {}) {
  const clock = { now: Date.now() };
  const log = new MemoryLog();
  const credentials = openCredentials(":memory:");
  const access = createAccess({ credentials, maxFailures: 3, ...options }, { log, now: () => clock.now });
  onTestFinished(() => {
    access.close();
    credentials.close();
  });
  const comeWith = (headers: { readonly [name: string]: string }, path = "/v1/sessions", method = "GET"): RequestInfo => ({
    method,
    headers: new Headers(headers),
    url: new URL(path, ORIGIN),
    address: "10.0.0.1",
    origin: ORIGIN,
  });
  const enter = async (stranger: RequestInfo): Promise<Caller> => ({ ...stranger, ...(await access.identify(stranger)) });
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
  const token = credentials.createToken({ name: "ann", owner: "ann", scopes: USUAL_SCOPES }).secret;
  return { clock, log, credentials, access, comeWith, enter, codeOf, may, token };
}

describe("who asks", () => {
  it("is known by a token, whatever else is brought", async () => {
    const { enter, comeWith, token } = setStage();
    for (const authorization of [`Bearer ${token}`, `bearer  ${token}`, ` BEARER ${token} `]) {
      const { principal } = await enter(comeWith({ authorization, cookie: "loom-session-10338=loom_ses_x" }));
      expect(principal).toMatchObject({ kind: "token", owner: "ann", name: "ann" });
    }
  });

  it("is nobody who brings nothing, another scheme, or a cookie that is no good", async () => {
    const { enter, comeWith } = setStage();
    for (const headers of [{}, { authorization: "Basic YTpi" }, { cookie: "loom-session-10338=loom_ses_nothing" }])
      expect(await enter(comeWith(headers))).toMatchObject({ principal: { kind: "nobody" }, shares: [] });
  });

  it("is refused alike for whatever is no good, until it is too often", async () => {
    const { enter, comeWith, codeOf, token, clock } = setStage();
    const shown = ["", `${token}x`, token.replace("tok", "ses"), "a.b.c"];
    const codes: string[] = [];
    for (const text of shown) codes.push(await codeOf(enter(comeWith({ authorization: `Bearer ${text}` }))));
    expect(codes).toEqual(["unauthorized", "unauthorized", "unauthorized", "rate_limited"]);
    expect(await codeOf(enter(comeWith({}, "/v1/ws?ticket=loom_tkt_no", "UPGRADE")))).toBe("rate_limited");
    expect(await codeOf(enter(comeWith({ authorization: `Bearer ${token}` })))).toBe("allowed");
    clock.now += 60_000;
    expect(await codeOf(enter(comeWith({ authorization: "Bearer no" })))).toBe("unauthorized");
  });

  it("is known by a ticket where a stream or a socket is asked for, once, and for its session", async () => {
    const { enter, comeWith, codeOf, may, token, credentials, log, clock } = setStage();
    for (const session of ["s", "t"]) await log.createSession(session, { owner: "ann" });
    const { principal } = await enter(comeWith({ authorization: `Bearer ${token}` }));
    const issue = (session?: string) =>
      credentials.createTicket(principal, { session, expiresAt: clock.now + 1000 }).secret;
    const whole = `/v1/sessions/s/events?ticket=${issue()}`;
    expect((await enter(comeWith({}, whole, "POST"))).principal.kind).toBe("nobody");
    expect((await enter(comeWith({}, whole))).principal.owner).toBe("ann");
    expect(await codeOf(enter(comeWith({}, whole)))).toBe("unauthorized");
    const bound = await enter(comeWith({}, `/v1/ws?ticket=${issue("s")}`, "UPGRADE"));
    const asked: readonly (readonly [Action, string | undefined])[] = [
      ["sessions.read", "s"],
      ["runs.start", "s"],
      ["sessions.read", "t"],
      ["runs.start", "t"],
      ["runs.start", "new"],
      ["sessions.list", undefined],
      ["server.read", undefined],
    ];
    const codes: string[] = [];
    for (const [action, session] of asked) codes.push(await may(bound, action, session));
    const [refused, unknown] = ["forbidden", "unknown_session"];
    expect(codes).toEqual(["allowed", "allowed", unknown, unknown, unknown, refused, refused]);
  });

  it("may ask so often, and start some agents", async () => {
    const { enter, comeWith, codeOf, credentials, access } = setStage();
    const limits = { requestsPerMinute: 2 };
    const { secret } = credentials.createToken({ name: "slow", limits, agents: ["react"] });
    const asked = comeWith({ authorization: `Bearer ${secret}` });
    const caller = await enter(asked);
    const run = (agent: string) => access.admitRun(caller, { agent, session: "s", run: agent, command: agent });
    expect([await codeOf(run("react")), await codeOf(run("tot"))]).toEqual(["allowed", "forbidden"]);
    expect([await codeOf(enter(asked)), await codeOf(enter(asked))]).toEqual(["allowed", "rate_limited"]);
  });
});

describe("who goes on reading", () => {
  it("is nobody by a link to what was deleted and made anew, also by its owner", async () => {
    const { log, credentials, enter, comeWith } = setStage();
    const { incarnation } = await log.createSession("s", { owner: "ann" });
    const { secret } = credentials.createShare({ session: "s", incarnation, owner: "ann" });
    const caller = await enter(comeWith({ authorization: `Bearer ${secret}` }));
    expect(await mayRead(log, caller, "s")).toBe(true);
    await log.deleteSession("s");
    await log.createSession("s", { owner: "ann" });
    expect(await mayRead(log, caller, "s")).toBe(false);
  });
});

describe("what they may do", () => {
  it("depends on who they are and whose the session is, and of others' nothing is told", async () => {
    const { enter, comeWith, may, token, credentials, log } = setStage();
    await log.createSession("own", { owner: "ann" });
    await log.createSession("other", { owner: "ben" });
    const ann = await enter(comeWith({ authorization: `Bearer ${token}` }));
    const boss = credentials.createToken({ name: "boss", owner: "boss", scopes: ["admin"] }).secret;
    const admin = await enter(comeWith({ authorization: `Bearer ${boss}` }));
    const nobody = await enter(comeWith({}));
    const table: readonly (readonly [Action, string | undefined, string, string, string])[] = [
      ["public", undefined, "allowed", "allowed", "allowed"],
      ["sessions.list", undefined, "allowed", "allowed", "unauthorized"],
      ["sessions.read", "own", "allowed", "allowed", "unauthorized"],
      ["sessions.read", "other", "unknown_session", "allowed", "unauthorized"],
      ["sessions.read", "none", "unknown_session", "unknown_session", "unauthorized"],
      ["runs.start", "other", "unknown_session", "allowed", "unauthorized"],
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
        await may(nobody, action, session),
      ];
      expect([action, session, ...found]).toEqual([action, session, ...codes]);
    }
  });

  it("ends with the link that lets a session be read", async () => {
    const { enter, comeWith, may, credentials, log } = setStage();
    const { incarnation } = await log.createSession("s", { owner: "ann" });
    const { secret, info } = credentials.createShare({ session: "s", incarnation, owner: "ann" });
    const cookie = `loom-share-${info.shareId}=${secret}`;
    const enterAll = () =>
      Promise.all([enter(comeWith({ authorization: `Bearer ${secret}` })), enter(comeWith({ cookie }))]);
    const read = async (callers: readonly Caller[]) =>
      Promise.all(callers.map((caller) => may(caller, "sessions.read", "s")));
    const callers = await enterAll();
    expect(await read(callers)).toEqual(["allowed", "allowed"]);
    await log.deleteSession("s");
    await log.createSession("s", { owner: "ann" });
    expect(await read(callers)).toEqual(["unknown_session", "unauthorized"]);
    credentials.revokeShare("s", info.shareId);
    await expect(enterAll()).rejects.toMatchObject({ code: "unauthorized" });
    expect((await enter(comeWith({ cookie }))).shares).toEqual([]);
  });
});

describe("a server without a store of credentials", () => {
  it("has one of its own for as long as it lives", () => {
    const jwt = { jwks: { keys: [] }, issuer: "https://issuer.test", audience: "loom" };
    const access = createAccess({ jwt }, { log: new MemoryLog() });
    expect(access.desk?.credentials.hasTokens).toBe(false);
    access.close();
  });
});
