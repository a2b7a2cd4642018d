// Limits per credential: requests, runs, streams and model tokens. Each limit is tested at every endpoint it applies
// to, and one credential does not use up the limit of another.
import { createHash } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { expect, vi } from "vitest";
import type { Script } from "../../src/models/scripted-model.ts";
import { type JsonObject, LoomError } from "../../src/protocol/index.ts";
import { type AuthServerFixture, type RequestAuth, SESSION, createAuthServerFixture } from "./auth-server-fixture.ts";
import { testSlowThreat, testThreat } from "./test-threat.ts";

const STALLED_ANSWER = { text: "Hey, you there.", fault: { kind: "stall", after: 1 } } as const;
const STALLED: Script = () => STALLED_ANSWER;

/** Starts a run in a session. Returns the error code if it is refused. */
type StartRun = (fixture: AuthServerFixture, auth: RequestAuth, session: string) => Promise<string | undefined>;

async function readCode(response: Response): Promise<string | undefined> {
  if (response.status < 300) {
    await response.body?.cancel();
    return undefined;
  }
  const problem = (await response.json()) as JsonObject;
  const status = problem["code"] === "spend_unrecorded" ? 503 : 429;
  expect([problem["status"], response.headers.get("retry-after") !== null]).toEqual([status, true]);
  return problem["code"] as string;
}

const RUN_STARTERS: { readonly [endpoint: string]: StartRun } = {
  "POST runs of a session": async (fixture, auth, session) =>
    readCode(await fixture.ask("POST", `/v1/sessions/${session}/runs`, auth, { message: "go" })),
  "POST /v1/runs": async (fixture, auth) => readCode(await fixture.ask("POST", "/v1/runs", auth, { message: "go" })),
  "POST /api/chat": async (fixture, auth, session) =>
    readCode(await fixture.ask("POST", "/api/chat", auth, { content: "go", session_id: session })),
  "POST /ag-ui": async (fixture, auth, session) => {
    const messages = [{ role: "user", content: "go" }];
    return readCode(await fixture.ask("POST", "/ag-ui", auth, { threadId: session, runId: "r", messages }));
  },
  "POST commands": async (fixture, auth, session) => {
    const frame = { type: "run", id: "c", session, message: "go" };
    return readCode(await fixture.ask("POST", `/v1/sessions/${session}/commands`, auth, frame));
  },
  "/v1/ws": async (fixture, auth, session) => {
    const socket = fixture.openSocket("/v1/ws", auth);
    await socket.started;
    socket.send({ type: "run", id: "c", session, message: "go" });
    const answer = JSON.parse(await socket.waitFor((text) => text.includes('"c"'))) as JsonObject;
    return answer["type"] === "refusal" ? (answer["code"] as string) : undefined;
  },
  "/agentOS/v1/ws_stream": async (fixture, auth, session) => {
    const socket = fixture.openSocket(`/agentOS/v1/ws_stream?session_id=${session}`, auth);
    await socket.started;
    socket.send({ content: "go" });
    const answer = await socket.waitFor(
      (text) => text.includes("Hey") || /"\w+_(LIMITED|RUNS|EXCEEDED|UNRECORDED)"/.test(text),
    );
    return /"(\w+_(?:LIMITED|RUNS|EXCEEDED|UNRECORDED))"/.exec(answer)?.[1]?.toLowerCase();
  },
  "/openai/v1/responses": async (fixture, auth, conversation) => {
    const socket = fixture.openSocket("/openai/v1/responses", auth);
    await socket.started;
    socket.send({ type: "response.create", model: "main", input: "go", conversation });
    const answer = JSON.parse(await socket.waitFor(() => true)) as JsonObject;
    return answer["type"] === "error" ? ((answer["error"] as JsonObject)["code"] as string) : undefined;
  },
};

testThreat("flooding", "limits requests per minute", async ({ attempt }) => {
  const fixture = await createAuthServerFixture({ limits: { requestsPerMinute: 5 } });
  const [one, other] = [await fixture.issue(), await fixture.issue({ limits: { requestsPerMinute: 7 } })];
  const flood = async (auth: RequestAuth): Promise<readonly number[]> => {
    const statuses: number[] = [];
    for (let at = 0; at < 9; at++) statuses.push((await fixture.ask("GET", "/v1/sessions", auth)).status);
    return statuses;
  };
  await attempt("over HTTP", async () => {
    expect(await flood(fixture.bearer(one.secret))).toEqual([200, 200, 200, 200, 200, 429, 429, 429, 429]);
    const refused = await fixture.ask("GET", "/v1/sessions", fixture.bearer(one.secret));
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(5);
    expect(await refused.json()).toMatchObject({ code: "rate_limited", details: { limit: 5 } });
  });
  await attempt("with a cookie of the same token", async () => {
    const { secret } = await fixture.credentials.createCookie(await fixture.find(one.secret), Date.now() + 60_000);
    expect((await fixture.ask("GET", "/v1/sessions", fixture.sessionCookie(secret))).status).toBe(429);
  });
  await attempt("with a ticket of the same token", async () => {
    const { query } = await fixture.ticket(await fixture.find(one.secret));
    expect((await fixture.ask("GET", `/v1/sessions?${query}`, { headers: {}, query })).status).toBe(429);
  });
  await attempt("with a token that has its own limit", async () => {
    expect(await flood(fixture.bearer(other.secret))).toEqual([200, 200, 200, 200, 200, 200, 200, 429, 429]);
  });
  for (const path of ["/v1/ws", "/agentOS/v1/ws_stream", "/openai/v1/responses"])
    await attempt(`with frames on ${path}`, async () => {
      const socket = fixture.openSocket(path, fixture.bearer((await fixture.issue()).secret));
      await socket.started;
      const isControl = path === "/v1/ws";
      for (let at = 0; at < 20; at++) {
        if (isControl) socket.send({ type: "ping", id: `p${at}` });
        if (isControl) socket.send({ type: "cancel", id: `c${at}`, session: SESSION, run_id: "none" });
        else socket.send({ type: "todo_update", list_id: "l", item_id: "i", completed: true, session_id: SESSION });
      }
      // The upgrade counts as a request; a ping does not.
      await expect.poll(() => socket.received.filter((text) => /rate_limited/i.test(text)).length).toBe(16);
      if (isControl) expect(socket.received.filter((text) => text.includes('"pong"')).length).toBeGreaterThan(0);
    });
});

testThreat("flooding", "limits runs per minute", async ({ attempt }) => {
  const fixture = await createAuthServerFixture({
    script: () => ({ text: "Hey, you there." }),
    limits: { runsPerMinute: 1 },
  });
  for (const [endpoint, startRun] of Object.entries(RUN_STARTERS))
    await attempt(endpoint, async () => {
      const auth = fixture.bearer((await fixture.issue()).secret);
      expect(await startRun(fixture, auth, `one at ${endpoint.replaceAll("/", "-")}`)).toBeUndefined();
      expect(await startRun(fixture, auth, `two at ${endpoint.replaceAll("/", "-")}`)).toBe("rate_limited");
    });
});

testThreat("flooding", "limits live runs", async ({ attempt }) => {
  const fixture = await createAuthServerFixture({ script: STALLED, limits: { maxRuns: 2 } });
  const secret = (await fixture.issue()).secret;
  const auth = fixture.bearer(secret);
  const start = (session: string, key: string): Promise<Response> =>
    fixture.ask(
      "POST",
      `/v1/sessions/${session}/runs`,
      { ...auth, headers: { ...auth.headers, "idempotency-key": key } },
      { message: "go" },
    );
  const first = (await (await start("a", "1")).json()) as JsonObject;
  // A queued run counts too.
  expect((await start("a", "2")).status).toBeLessThan(300);
  for (const [endpoint, startRun] of Object.entries(RUN_STARTERS))
    await attempt(endpoint, async () => expect(await startRun(fixture, auth, "b")).toBe("too_many_runs"));
  // The same idempotency key starts no new run.
  expect((await start("a", "1")).status).toBeLessThan(300);
  // Another token of the same owner has its own limit.
  expect(
    await RUN_STARTERS["POST commands"]?.(fixture, fixture.bearer((await fixture.issue()).secret), "c"),
  ).toBeUndefined();
  // A run that ended makes room for exactly one.
  const run = first["run_id"] as string;
  expect((await fixture.ask("POST", `/v1/sessions/a/runs/${run}/cancel`, auth, {})).status).toBeLessThan(300);
  await expect.poll(async () => (await fixture.log.getRun("a", run))?.status).toBe("cancelled");
  expect((await start("d", "3")).status).toBeLessThan(300);
  expect(await readCode(await start("e", "4"))).toBe("too_many_runs");
});

testThreat("flooding", "limits streams and sockets", async ({ attempt }) => {
  const fixture = await createAuthServerFixture({ limits: { maxStreams: 2 } });
  const auth = fixture.bearer((await fixture.issue()).secret);
  const [one, two] = [fixture.openSocket("/v1/ws", auth), fixture.openSocket("/agentOS/v1/ws_stream", auth)];
  await Promise.all([one.started, two.started]);
  const events = `/v1/sessions/${SESSION}/events?follow=true`;
  for (const path of ["/v1/ws", "/agentOS/v1/ws_stream", "/openai/v1/responses"])
    await attempt(path, async () => expect(await fixture.openSocket(path, auth).ended).toBe("429"));
  await attempt("server-sent events", async () =>
    expect(await readCode(await fixture.ask("GET", events, auth))).toBe("too_many_streams"),
  );
  await attempt("a subscription on a socket", async () => {
    one.send({ type: "subscribe", id: "s", session: SESSION });
    expect(await one.waitFor((text) => text.includes('"s"'))).toContain("too_many_streams");
  });
  expect(
    await readCode(await fixture.ask("GET", events, fixture.bearer((await fixture.issue()).secret))),
  ).toBeUndefined();
  // A closed stream makes room; a refused one took none.
  one.close();
  await one.ended;
  await expect.poll(async () => readCode(await fixture.ask("GET", events, auth))).toBeUndefined();
});

testThreat("flooding", "limits model tokens per day", async ({ attempt }) => {
  const usage = { promptTokens: 30, completionTokens: 10, totalTokens: 40 };
  const script: Script = async () => {
    // Models do not answer immediately.
    await setTimeout(50);
    return { text: "More.", calls: [{ name: "add", input: { a: 1, b: 1 } }], usage };
  };
  const fixture = await createAuthServerFixture({ script, limits: { tokensPerDay: 100 } });
  const { secret, info } = await fixture.issue();
  const auth = fixture.bearer(secret);
  await attempt("a run that would not end", async () => {
    const stream = await fixture.ask(
      "POST",
      "/v1/sessions/a/runs",
      { ...auth, headers: { ...auth.headers, accept: "text/event-stream" } },
      { message: "go" },
    );
    const text = await stream.text();
    expect(text).toMatch(/"reason":"spend_exceeded: Daily limit of 100 model tokens.*"run_end"/);
    const [run] = await fixture.log.listRuns("a");
    expect(run?.status).toBe("cancelled");
    // The run is cancelled after the call that exceeds the limit, so a few more calls may have started.
    expect(await fixture.credentials.readSpent(`token:${info.tokenId}`)).toBeLessThan(400);
  });
  for (const [endpoint, startRun] of Object.entries(RUN_STARTERS))
    await attempt(endpoint, async () => expect(await startRun(fixture, auth, "b")).toBe("spend_exceeded"));
  // A token with a higher limit can still start runs.
  const rich = await fixture.issue({ limits: { tokensPerDay: 1000 } });
  expect(await RUN_STARTERS["POST commands"]?.(fixture, fixture.bearer(rich.secret), "c")).toBeUndefined();
});

testSlowThreat("flooding", "limits cannot be bypassed", async ({ attempt }) => {
  await attempt("while usage cannot be recorded", async () => {
    const usage = { promptTokens: 30, completionTokens: 10, totalTokens: 40 };
    const fixture = await createAuthServerFixture({ script: async () => ({ text: "Done.", usage }) });
    const { secret, info } = await fixture.issue();
    const auth = fixture.bearer(secret);
    const broken = vi.spyOn(fixture.credentials, "addSpent").mockImplementation(() => {
      throw new LoomError("store_full", "The disk is full");
    });
    const accept = { ...auth, headers: { ...auth.headers, accept: "text/event-stream" } };
    await (await fixture.ask("POST", "/v1/sessions/a/runs", accept, { message: "go" })).text();
    for (const startRun of Object.values(RUN_STARTERS))
      expect(await startRun(fixture, auth, "b")).toBe("spend_unrecorded");
    const refused = await fixture.ask("POST", "/v1/sessions/b/runs", auth, { message: "go" });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
    const other = fixture.bearer((await fixture.issue()).secret);
    expect(await RUN_STARTERS["POST commands"]?.(fixture, other, "c")).toBeUndefined();
    broken.mockRestore();
    expect(await RUN_STARTERS["POST commands"]?.(fixture, auth, "d")).toBeUndefined();
    expect(await fixture.credentials.readSpent(`token:${info.tokenId}`)).toBeGreaterThanOrEqual(40);
  });
  await attempt("and a queued run waits while usage cannot be recorded", async () => {
    const gate = Promise.withResolvers<void>();
    const usage = { promptTokens: 30, completionTokens: 10, totalTokens: 40 };
    const script: Script = async () => {
      await gate.promise;
      return { text: "Done.", usage };
    };
    const fixture = await createAuthServerFixture({ script });
    const auth = fixture.bearer((await fixture.issue()).secret);
    const startRun = RUN_STARTERS["POST runs of a session"];
    for (let at = 0; at < 2; at++) expect(await startRun?.(fixture, auth, "a")).toBeUndefined();
    const broken = vi.spyOn(fixture.credentials, "addSpent").mockImplementation(() => {
      throw new LoomError("store_failed", "The file is locked");
    });
    gate.resolve();
    const read = async () => (await fixture.log.listRuns("a")).map(({ status }) => status).toSorted();
    await vi.waitFor(async () => expect(await read()).toEqual(["completed", "live"]), 20_000);
    // The first call is for the usage of the first run, the second for the start of the second run.
    await vi.waitFor(() => expect(broken.mock.calls.length).toBeGreaterThan(1), 20_000);
    broken.mockRestore();
    await vi.waitFor(async () => expect(await read()).toEqual(["completed", "completed"]), 20_000);
  });
  await attempt("with share links in a browser", async () => {
    const fixture = await createAuthServerFixture({ limits: { requestsPerMinute: 5 } });
    const { secret, info } = await fixture.share();
    const auth = fixture.shareCookie(info.shareId, secret);
    const statuses: number[] = [];
    for (let at = 0; at < 7; at++) statuses.push((await fixture.ask("GET", `/v1/sessions/${SESSION}`, auth)).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429]);
    // Another share link has its own limit.
    const other = await fixture.share();
    const both = {
      ...auth,
      headers: { ...auth.headers, cookie: `${auth.headers["cookie"]}; loom-share-x=${other.secret}` },
    };
    expect((await fixture.ask("GET", `/v1/sessions/${SESSION}`, both)).status).toBe(200);
  });
  await attempt("with many share links of one token", async () => {
    const fixture = await createAuthServerFixture();
    const { secret, info } = await fixture.issue({ limits: { requestsPerMinute: 5, maxStreams: 1 } });
    const links: RequestAuth[] = [];
    for (let at = 0; at < 3; at++) links.push(fixture.bearer((await fixture.share(`token:${info.tokenId}`)).secret));
    const events = `/v1/sessions/${SESSION}/events?follow=true`;
    const opened = await Promise.all(links.map((auth) => fixture.ask("GET", events, auth)));
    expect(opened.map(({ status }) => String(status)).toSorted()).toEqual(["200", "429", "429"]);
    const statuses: number[] = [];
    for (const auth of links) statuses.push((await fixture.ask("GET", `/v1/sessions/${SESSION}`, auth)).status);
    expect(statuses).toEqual([200, 200, 429]);
    // Requests with the links do not count for the token itself.
    expect((await fixture.ask("GET", `/v1/sessions/${SESSION}`, fixture.bearer(secret))).status).toBe(200);
  });
  await attempt("by signing in repeatedly", async () => {
    const fixture = await createAuthServerFixture({ limits: { requestsPerMinute: 5 } });
    const [one, other] = [await fixture.issue(), await fixture.issue()];
    const signIn = async (credential: string): Promise<number> =>
      (
        await fixture.ask(
          "POST",
          "/v1/auth/sign-in",
          { headers: { origin: fixture.server.url }, query: "" },
          { credential },
        )
      ).status;
    const statuses: number[] = [];
    for (let at = 0; at < 7; at++) statuses.push(await signIn(one.secret));
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429]);
    expect(await signIn(other.secret)).toBe(200);
  });
  await attempt("with runs that continue in forks", async () => {
    const script: Script = ({ prompt }) =>
      prompt.at(-1)?.role === "user" ? { calls: [{ name: "add", input: { a: 1, b: 1 } }] } : STALLED_ANSWER;
    const fixture = await createAuthServerFixture({ script, limits: { maxRuns: 2 } });
    const auth = fixture.bearer((await fixture.issue()).secret);
    await fixture.ask("POST", "/v1/sessions/a/runs", auth, { message: "go" });
    await expect.poll(async () => (await fixture.log.listLandmarks("a", "checkpoint", 10)).length).toBeGreaterThan(1);
    const fork = (to: string): Promise<Response> =>
      fixture.ask("POST", "/v1/sessions/a/fork", auth, { session_id: to, after_event: 1000 });
    expect((await fork("b")).status).toBe(201);
    expect(await readCode(await fork("c"))).toBe("too_many_runs");
    expect(await fixture.log.getSession("c")).toBeUndefined();
  });
  await attempt("by reserving the id of the command that cancels the run", async () => {
    const usage = { promptTokens: 30, completionTokens: 10, totalTokens: 40 };
    let calls = 0;
    const script: Script = async () => {
      await setTimeout(30);
      return ++calls > 20
        ? { text: "Enough." }
        : { text: "More.", calls: [{ name: "add", input: { a: 1, b: 1 } }], usage };
    };
    const fixture = await createAuthServerFixture({ script, limits: { tokensPerDay: 100 } });
    const auth = fixture.bearer((await fixture.issue()).secret);
    const digest = createHash("sha256")
      .update(JSON.stringify(["a", "r"]))
      .digest("base64url");
    await fixture.ask("POST", "/v1/sessions", auth, { session_id: "a" });
    const frame = { type: "cancel", id: `spend:${digest}`, session: "a", run_id: "none" };
    // The command waits for its run.
    fixture.ask("POST", "/v1/sessions/a/commands", auth, frame).catch(() => undefined);
    await expect.poll(() => fixture.log.getCommand("a", frame.id)).toBeDefined();
    await fixture.ask("POST", "/v1/sessions/a/runs", auth, { message: "go", run_id: "r" });
    await expect.poll(async () => (await fixture.log.getRun("a", "r"))?.endedAt, { timeout: 4000 }).toBeDefined();
    expect((await fixture.log.getRun("a", "r"))?.status).toBe("cancelled");
  });
});

testThreat(
  "missing-scopes",
  "rejects an approval over a socket from a token without the scope",
  async ({ attempt }) => {
    const script: Script = [{ calls: [{ name: "remove", input: { path: "x" }, id: "call" }] }, { text: "Done." }];
    const fixture = await createAuthServerFixture({ script });
    const starter = fixture.bearer((await fixture.issue()).secret);
    await fixture.ask("POST", `/v1/sessions/${SESSION}/runs`, starter, { message: "go" });
    const weak = fixture.bearer((await fixture.issue({ scopes: ["read", "write", "run"] })).secret);
    await attempt("/v1/ws", async () => {
      const socket = fixture.openSocket("/v1/ws", weak);
      await socket.started;
      socket.send({ type: "approve", id: "a", session: SESSION, call_id: "call", decision: "approved" });
      expect(JSON.parse(await socket.waitFor((text) => text.includes('"a"')))).toMatchObject({ code: "forbidden" });
    });
    await attempt("/agentOS/v1/ws_stream", async () => {
      const socket = fixture.openSocket(`/agentOS/v1/ws_stream?session_id=${SESSION}`, weak);
      await socket.started;
      socket.send({ type: "tool_approval", tool_use_id: "call", decision: "approved", session_id: SESSION });
      expect(await socket.waitFor((text) => text.includes("scope"))).toContain("FORBIDDEN");
    });
    expect(fixture.ran).toEqual([]);
  },
);
