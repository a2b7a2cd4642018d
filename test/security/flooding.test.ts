// What one credential may use up: requests, runs, streams, and what models cost. Each limit is tried at every door that
// leads past it, and somebody else is not kept waiting.
import { createHash } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { expect, onTestFinished, vi } from "vitest";
import type { Script } from "../../src/models/scripted-model.ts";
import type { JsonObject } from "../../src/protocol/index.ts";
import { type GuardedStage, type Pass, SESSION, setGuardedStage } from "./guarded-stage.ts";
import { itHolds } from "./it-holds.ts";

const STALLED_ANSWER = { text: "Hey, you there.", fault: { kind: "stall", after: 1 } } as const;
const STALLED: Script = () => STALLED_ANSWER;

/** Begins a run in a session of its own; the code it is refused with, or undefined. */
type Begin = (stage: GuardedStage, pass: Pass, session: string) => Promise<string | undefined>;

async function readCode(response: Response): Promise<string | undefined> {
  if (response.status < 300) {
    await response.body?.cancel();
    return undefined;
  }
  const problem = (await response.json()) as JsonObject;
  expect([problem["status"], response.headers.get("retry-after") !== null]).toEqual([429, true]);
  return problem["code"] as string;
}

const BEGINNINGS: { readonly [door: string]: Begin } = {
  "POST runs of a session": async (stage, pass, session) =>
    readCode(await stage.ask("POST", `/v1/sessions/${session}/runs`, pass, { message: "go" })),
  "POST /v1/runs": async (stage, pass) => readCode(await stage.ask("POST", "/v1/runs", pass, { message: "go" })),
  "POST /api/chat": async (stage, pass, session) =>
    readCode(await stage.ask("POST", "/api/chat", pass, { content: "go", session_id: session })),
  "POST commands": async (stage, pass, session) => {
    const frame = { type: "run", id: "c", session, message: "go" };
    return readCode(await stage.ask("POST", `/v1/sessions/${session}/commands`, pass, frame));
  },
  "/v1/ws": async (stage, pass, session) => {
    const socket = stage.openSocket("/v1/ws", pass);
    await socket.live;
    socket.say({ type: "run", id: "c", session, message: "go" });
    const answer = JSON.parse(await socket.until((text) => text.includes('"c"'))) as JsonObject;
    return answer["type"] === "refusal" ? (answer["code"] as string) : undefined;
  },
  "/agentOS/v1/ws_stream": async (stage, pass, session) => {
    const socket = stage.openSocket(`/agentOS/v1/ws_stream?session_id=${session}`, pass);
    await socket.live;
    socket.say({ content: "go" });
    const answer = await socket.until((text) => text.includes("Hey") || /"\w+_(limited|runs|exceeded)"/.test(text));
    return /"(\w+_(?:limited|runs|exceeded))"/.exec(answer)?.[1];
  },
};

itHolds("flooding", "more requests in a minute than a credential may make", async ({ attempt }) => {
  const stage = await setGuardedStage({ limits: { requestsPerMinute: 5 } });
  const [one, other] = [stage.issue(), stage.issue({ limits: { requestsPerMinute: 7 } })];
  const flood = async (pass: Pass): Promise<readonly number[]> => {
    const statuses: number[] = [];
    for (let at = 0; at < 9; at++) statuses.push((await stage.ask("GET", "/v1/sessions", pass)).status);
    return statuses;
  };
  await attempt("by HTTP", async () => {
    expect(await flood(stage.bearer(one.secret))).toEqual([200, 200, 200, 200, 200, 429, 429, 429, 429]);
    const refused = await stage.ask("GET", "/v1/sessions", stage.bearer(one.secret));
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(5);
    expect(await refused.json()).toMatchObject({ code: "rate_limited", details: { limit: 5 } });
  });
  await attempt("by a cookie of the same token", async () => {
    const { secret } = stage.credentials.createCookie(stage.find(one.secret), Date.now() + 60_000);
    expect((await stage.ask("GET", "/v1/sessions", stage.sessionCookie(secret))).status).toBe(429);
  });
  await attempt("by a ticket of the same token", async () => {
    const { query } = stage.ticket(stage.find(one.secret));
    expect((await stage.ask("GET", `/v1/sessions?${query}`, { headers: {}, query })).status).toBe(429);
  });
  await attempt("by a token with a limit of its own", async () => {
    expect(await flood(stage.bearer(other.secret))).toEqual([200, 200, 200, 200, 200, 200, 200, 429, 429]);
  });
  for (const path of ["/v1/ws", "/agentOS/v1/ws_stream"])
    await attempt(`by frames at ${path}`, async () => {
      const socket = stage.openSocket(path, stage.bearer(stage.issue().secret));
      await socket.live;
      const isControl = path === "/v1/ws";
      for (let at = 0; at < 20; at++) {
        if (isControl) socket.say({ type: "ping", id: `p${at}` });
        if (isControl) socket.say({ type: "cancel", id: `c${at}`, session: SESSION, run_id: "none" });
        else socket.say({ type: "todo_update", list_id: "l", item_id: "i", completed: true, session_id: SESSION });
      }
      // The upgrade was one, and a sign of life is none.
      await expect.poll(() => socket.said.filter((text) => text.includes("rate_limited")).length).toBe(16);
      if (isControl) expect(socket.said.filter((text) => text.includes('"pong"')).length).toBeGreaterThan(0);
    });
});

itHolds("flooding", "more runs in a minute than a credential may begin", async ({ attempt }) => {
  const stage = await setGuardedStage({ script: () => ({ text: "Hey, you there." }), limits: { runsPerMinute: 1 } });
  for (const [door, begin] of Object.entries(BEGINNINGS))
    await attempt(door, async () => {
      const pass = stage.bearer(stage.issue().secret);
      expect(await begin(stage, pass, `one at ${door.replaceAll("/", "-")}`)).toBeUndefined();
      expect(await begin(stage, pass, `two at ${door.replaceAll("/", "-")}`)).toBe("rate_limited");
    });
});

itHolds("flooding", "more live runs than a credential may have", async ({ attempt }) => {
  const stage = await setGuardedStage({ script: STALLED, limits: { maxRuns: 2 } });
  const secret = stage.issue().secret;
  const pass = stage.bearer(secret);
  const start = (session: string, key: string): Promise<Response> =>
    stage.ask(
      "POST",
      `/v1/sessions/${session}/runs`,
      { ...pass, headers: { ...pass.headers, "idempotency-key": key } },
      { message: "go" },
    );
  const first = (await (await start("a", "1")).json()) as JsonObject;
  // One that waits behind it.
  expect((await start("a", "2")).status).toBeLessThan(300);
  for (const [door, begin] of Object.entries(BEGINNINGS))
    await attempt(door, async () => expect(await begin(stage, pass, "b")).toBe("too_many_runs"));
  // The same again is the same.
  expect((await start("a", "1")).status).toBeLessThan(300);
  // Somebody else is not kept waiting, also with the same owner.
  expect(await BEGINNINGS["POST commands"]?.(stage, stage.bearer(stage.issue().secret), "c")).toBeUndefined();
  // What has ended makes room, and for no more than one.
  const run = first["run_id"] as string;
  expect((await stage.ask("POST", `/v1/sessions/a/runs/${run}/cancel`, pass, {})).status).toBeLessThan(300);
  await expect.poll(async () => (await stage.log.getRun("a", run))?.status).toBe("cancelled");
  expect((await start("d", "3")).status).toBeLessThan(300);
  expect(await readCode(await start("e", "4"))).toBe("too_many_runs");
});

itHolds("flooding", "more streams and sockets than a credential may have", async ({ attempt }) => {
  const stage = await setGuardedStage({ limits: { maxStreams: 2 } });
  const pass = stage.bearer(stage.issue().secret);
  const [one, two] = [stage.openSocket("/v1/ws", pass), stage.openSocket("/agentOS/v1/ws_stream", pass)];
  await Promise.all([one.live, two.live]);
  const events = `/v1/sessions/${SESSION}/events?follow=true`;
  for (const path of ["/v1/ws", "/agentOS/v1/ws_stream"])
    await attempt(path, async () => expect(await stage.openSocket(path, pass).ended).toBe("429"));
  await attempt("server-sent events", async () =>
    expect(await readCode(await stage.ask("GET", events, pass))).toBe("too_many_streams"),
  );
  await attempt("a stream on a socket", async () => {
    one.say({ type: "subscribe", id: "s", session: SESSION });
    expect(await one.until((text) => text.includes('"s"'))).toContain("too_many_streams");
  });
  expect(await readCode(await stage.ask("GET", events, stage.bearer(stage.issue().secret)))).toBeUndefined();
  // What was closed makes room, and what was refused has taken none.
  one.leave();
  await one.ended;
  await expect.poll(async () => readCode(await stage.ask("GET", events, pass))).toBeUndefined();
});

itHolds("flooding", "more of models than a credential may use in a day", async ({ attempt }) => {
  const usage = { promptTokens: 30, completionTokens: 10, totalTokens: 40 };
  const script: Script = async () => {
    // No model answers at once.
    await setTimeout(50);
    return { text: "More.", calls: [{ name: "add", input: { a: 1, b: 1 } }], usage };
  };
  const stage = await setGuardedStage({ script, limits: { tokensPerDay: 100 } });
  const { secret, info } = stage.issue();
  const pass = stage.bearer(secret);
  await attempt("a run that does not end by itself", async () => {
    const stream = await stage.ask(
      "POST",
      "/v1/sessions/a/runs",
      { ...pass, headers: { ...pass.headers, accept: "text/event-stream" } },
      { message: "go" },
    );
    const told = await stream.text();
    expect(told).toMatch(/"reason":"spend_exceeded: at most 100 tokens.*"run_end"/);
    const [run] = await stage.log.listRuns("a");
    expect(run?.status).toBe("cancelled");
    // It is told of after the call that was too much: it may have got a little further, and no more.
    expect(stage.credentials.readSpent(`token:${info.tokenId}`)).toBeLessThan(400);
  });
  for (const [door, begin] of Object.entries(BEGINNINGS))
    await attempt(door, async () => expect(await begin(stage, pass, "b")).toBe("spend_exceeded"));
  // A token with a limit of its own that is higher goes on.
  const rich = stage.issue({ limits: { tokensPerDay: 1000 } });
  expect(await BEGINNINGS["POST commands"]?.(stage, stage.bearer(rich.secret), "c")).toBeUndefined();
});

itHolds("flooding", "limits that somebody tries to slip past", async ({ attempt }) => {
  await attempt("by links in a browser", async () => {
    const stage = await setGuardedStage({ limits: { requestsPerMinute: 5 } });
    const { secret, info } = await stage.share();
    const pass = stage.shareCookie(info.shareId, secret);
    const statuses: number[] = [];
    for (let at = 0; at < 7; at++) statuses.push((await stage.ask("GET", `/v1/sessions/${SESSION}`, pass)).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429]);
    // Whoever has a link of somebody else is not kept waiting.
    const other = await stage.share();
    const both = {
      ...pass,
      headers: { ...pass.headers, cookie: `${pass.headers["cookie"]}; loom-share-x=${other.secret}` },
    };
    expect((await stage.ask("GET", `/v1/sessions/${SESSION}`, both)).status).toBe(200);
  });
  await attempt("by many links of one token", async () => {
    const stage = await setGuardedStage();
    const { secret, info } = stage.issue({ limits: { requestsPerMinute: 5, maxStreams: 1 } });
    const links: Pass[] = [];
    for (let at = 0; at < 3; at++) links.push(stage.bearer((await stage.share(`token:${info.tokenId}`)).secret));
    const events = `/v1/sessions/${SESSION}/events?follow=true`;
    const opened = await Promise.all(links.map((pass) => stage.ask("GET", events, pass)));
    expect(opened.map(({ status }) => String(status)).toSorted()).toEqual(["200", "429", "429"]);
    const statuses: number[] = [];
    for (const pass of links) statuses.push((await stage.ask("GET", `/v1/sessions/${SESSION}`, pass)).status);
    expect(statuses).toEqual([200, 200, 429]);
    // The token itself is not kept waiting by those it gave them to.
    expect((await stage.ask("GET", `/v1/sessions/${SESSION}`, stage.bearer(secret))).status).toBe(200);
  });
  await attempt("by signing in over and over", async () => {
    const stage = await setGuardedStage({ limits: { requestsPerMinute: 5 } });
    const [one, other] = [stage.issue(), stage.issue()];
    const signIn = async (credential: string): Promise<number> =>
      (
        await stage.ask(
          "POST",
          "/v1/auth/sign-in",
          { headers: { origin: stage.server.url }, query: "" },
          { credential },
        )
      ).status;
    const statuses: number[] = [];
    for (let at = 0; at < 7; at++) statuses.push(await signIn(one.secret));
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429]);
    expect(await signIn(other.secret)).toBe(200);
  });
  await attempt("by runs that go on in forks", async () => {
    // What was let in is looked for in the log only after a while.
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const script: Script = ({ prompt }) =>
      prompt.at(-1)?.role === "user" ? { calls: [{ name: "add", input: { a: 1, b: 1 } }] } : STALLED_ANSWER;
    const stage = await setGuardedStage({ script, limits: { maxRuns: 2 } });
    const pass = stage.bearer(stage.issue().secret);
    await stage.ask("POST", "/v1/sessions/a/runs", pass, { message: "go" });
    await expect.poll(async () => (await stage.log.listLandmarks("a", "checkpoint", 10)).length).toBeGreaterThan(1);
    const fork = (to: string): Promise<Response> =>
      stage.ask("POST", "/v1/sessions/a/fork", pass, { session_id: to, after_event: 1000 });
    expect((await fork("b")).status).toBe(201);
    vi.setSystemTime(Date.now() + 60_000);
    expect(await readCode(await fork("c"))).toBe("too_many_runs");
    expect(await stage.log.getSession("c")).toBeUndefined();
    vi.useRealTimers();
  });
  await attempt("by taking the name of the command that would end a run", async () => {
    const usage = { promptTokens: 30, completionTokens: 10, totalTokens: 40 };
    let calls = 0;
    const script: Script = async () => {
      await setTimeout(30);
      return ++calls > 20
        ? { text: "Enough." }
        : { text: "More.", calls: [{ name: "add", input: { a: 1, b: 1 } }], usage };
    };
    const stage = await setGuardedStage({ script, limits: { tokensPerDay: 100 } });
    const pass = stage.bearer(stage.issue().secret);
    const digest = createHash("sha256")
      .update(JSON.stringify(["a", "r"]))
      .digest("base64url");
    await stage.ask("POST", "/v1/sessions", pass, { session_id: "a" });
    const frame = { type: "cancel", id: `spend:${digest}`, session: "a", run_id: "none" };
    // It waits a while for its run to come.
    stage.ask("POST", "/v1/sessions/a/commands", pass, frame).catch(() => undefined);
    await expect.poll(() => stage.log.getCommand("a", frame.id)).toBeDefined();
    await stage.ask("POST", "/v1/sessions/a/runs", pass, { message: "go", run_id: "r" });
    await expect.poll(async () => (await stage.log.getRun("a", "r"))?.endedAt, { timeout: 4000 }).toBeDefined();
    expect((await stage.log.getRun("a", "r"))?.status).toBe("cancelled");
  });
});

itHolds("missing-scopes", "an answer to an approval over a socket, by a token that may not", async ({ attempt }) => {
  const script: Script = [{ calls: [{ name: "remove", input: { path: "x" }, id: "call" }] }, { text: "Done." }];
  const stage = await setGuardedStage({ script });
  const starter = stage.bearer(stage.issue().secret);
  await stage.ask("POST", `/v1/sessions/${SESSION}/runs`, starter, { message: "go" });
  const weak = stage.bearer(stage.issue({ scopes: ["read", "write", "run"] }).secret);
  await attempt("/v1/ws", async () => {
    const socket = stage.openSocket("/v1/ws", weak);
    await socket.live;
    socket.say({ type: "approve", id: "a", session: SESSION, call_id: "call", decision: "approved" });
    expect(JSON.parse(await socket.until((text) => text.includes('"a"')))).toMatchObject({ code: "forbidden" });
  });
  await attempt("/agentOS/v1/ws_stream", async () => {
    const socket = stage.openSocket(`/agentOS/v1/ws_stream?session_id=${SESSION}`, weak);
    await socket.live;
    socket.say({ type: "tool_approval", tool_use_id: "call", decision: "approved", session_id: SESSION });
    expect(await socket.until((text) => text.includes("scope"))).toContain("forbidden");
  });
  expect(stage.ran).toEqual([]);
});
