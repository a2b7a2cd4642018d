/**
 * A server without authentication that other machines can reach: a share link is the only thing they can use, and it is
 * confined to its session. The other machine is the address of this machine on its network, or a proxy.
 */
import { networkInterfaces } from "node:os";
import { expect, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { createEntry } from "../../src/log/entry.ts";
import { MemoryLog } from "../../src/log/index.ts";
import type { LoomEvent } from "../../src/protocol/index.ts";
import type { NewShare } from "../../src/server/api/shapes.generated.ts";
import { openCredentials } from "../../src/server/auth/credentials/open-credentials.ts";
import { isAllowedByShareLink } from "../../src/server/auth/scopes.ts";
import { OPERATIONS } from "../../src/server/operations.ts";
import { openServer } from "./open-server.ts";
import { sendRaw, writeHead } from "./raw-request.ts";
import { testSlowThreat, testThreat } from "./test-threat.ts";

const PROMPT = "needle-in-the-prompt";
const OTHER = "needle-of-another-session";
/** Undefined on a machine without a network. */
const ADDRESS = Object.values(networkInterfaces())
  .flatMap((each) => each ?? [])
  .find(({ internal, family }) => !internal && family === "IPv4")?.address;

interface Asked {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: { readonly [name: string]: string };
}

const EVENTS: readonly LoomEvent[] = [
  { type: "run_start", run_id: "r", message: "Hi" },
  { type: "llm_start", llm_call_id: "c" },
  { type: "llm_content", llm_call_id: "c", role: "request", parts: [{ value: {} }, { value: [] }, { value: PROMPT }] },
  { type: "llm_end", llm_call_id: "c" },
  { type: "reply", reply: "Hello" },
  { type: "run_end", status: "completed" },
];

async function startShared() {
  const log = new MemoryLog();
  const entries = EVENTS.map((event, at) =>
    createEntry({ envelope: { session_id: "mine", run_id: "r", event_id: at + 1, ts: 1 }, event }),
  );
  await log.createSession("mine", { entries, title: "Mine" });
  await log.createSession("other", { title: OTHER });
  // A store that had tokens before authentication was turned off.
  const links = openCredentials(":memory:");
  onTestFinished(() => links.close());
  const token = (await links.createToken({ name: "admin", scopes: ["admin"] })).secret;
  const server = await openServer({
    log,
    links,
    host: "0.0.0.0",
    allowLinks: true,
    hosts: ["agents.example.com"],
    notify: () => undefined,
  });
  const send = (origin: string, path: string, { method, body, headers = {} }: Asked): Promise<Response> =>
    fetch(`${origin}${path}`, {
      method: method ?? (body === undefined ? "GET" : "POST"),
      headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(10_000),
    });
  const home = `http://127.0.0.1:${server.port}`;
  const here = (path: string, asked: Asked = {}) => send(home, path, asked);
  const proxied = (path: string, asked: Asked = {}) =>
    send(home, path, { ...asked, headers: { "x-forwarded-for": "203.0.113.9", ...asked.headers } });
  const away =
    ADDRESS === undefined
      ? proxied
      : (path: string, asked: Asked = {}) => send(`http://${ADDRESS}:${server.port}`, path, asked);
  const share = async (body: object = {}): Promise<NewShare> =>
    (await (await here("/v1/sessions/mine/shares", { body })).json()) as NewShare;
  const blob = async (session: string): Promise<string> => {
    const response = await fetch(`${home}/v1/sessions/${session}/blobs`, {
      method: "POST",
      headers: { "content-type": "image/png" },
      body: Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"),
    });
    return ((await response.json()) as { readonly blob_id: string }).blob_id;
  };
  return { log, links, server, token, here, away, proxied, share, blob };
}

const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });
const cookieOf = (secret: string) => ({ cookie: `loom-share-${secret.split("_")[2] ?? ""}=${secret}` });
const pathOf = (path: string, session: string): string =>
  path
    .replace("{id}", session)
    .replaceAll(/\{run\}/g, "r")
    .replaceAll(/\{\w+\}/g, "none");

/** What a browser needs before it has the cookie of a link. It says nothing about the sessions. */
const BEFORE_LINK = new Set(["GET /v1/auth", "POST /v1/auth/sign-in", "POST /v1/auth/sign-out"]);

testThreat("unintended-exposure", "another machine can do nothing without a share link", async ({ attempt }) => {
  const { here, away, proxied, token, share, log } = await startShared();
  const { secret } = await share();
  const unrelated = `${secret.slice(0, -2)}xx`;
  for (const [name, send] of Object.entries({ away, proxied }))
    for (const { method, path } of OPERATIONS) {
      if (BEFORE_LINK.has(`${method} ${path}`)) continue;
      await attempt(`${name} ${method} ${path}`, async () => {
        const asked = { method, ...(method === "GET" || method === "DELETE" ? {} : { body: {} }) };
        const at = pathOf(path, "mine");
        const refused = [403, 401];
        expect((await send(at, asked)).status).toBe(403);
        for (const headers of [bearer(token), bearer("x"), { cookie: "loom-session-80=loom_ses_x" }])
          expect((await send(at, { ...asked, headers })).status).toBe(403);
        for (const headers of [bearer(unrelated), cookieOf(unrelated)])
          expect(refused.concat(429)).toContain((await send(at, { ...asked, headers })).status);
        expect(refused).toContain((await send(`${at}?access=link`, asked)).status);
      });
    }
  expect(await (await away("/v1/auth")).json()).toEqual({
    mode: "links",
    signed_in: false,
    scopes: [],
    shared_session_ids: [],
  });
  for (const path of ["/healthz", "/readyz", "/openapi.json", "/metrics"])
    await attempt(path, async () => expect((await away(path)).status).toBe(403));
  await attempt("sign-in with a token", async () => {
    const signedIn = await away("/v1/auth/sign-in", { body: { credential: token } });
    expect([signedIn.status, signedIn.headers.getSetCookie()]).toEqual([400, []]);
  });
  // This machine can do everything, and the page itself has no data.
  expect((await here("/v1/sessions")).status).toBe(200);
  expect((await away("/")).status).toBe(200);
  expect(await log.listSessions({})).toHaveLength(2);
});

testThreat("unintended-exposure", "a share link is confined to its session", async ({ attempt }) => {
  const { here, away, share, blob, log } = await startShared();
  const [own, foreign] = [await blob("mine"), await blob("other")];
  const { secret } = await share();
  const before = JSON.stringify([await log.listSessions({}), await log.getSession("mine")]);
  const signedIn = await away("/v1/auth/sign-in", { body: { credential: secret } });
  const cookie = { cookie: signedIn.headers.getSetCookie()[0]?.split(";", 1)[0] ?? "" };
  expect(await signedIn.json()).toMatchObject({ mode: "links", shared_session_ids: ["mine"] });
  for (const [name, headers] of Object.entries({ bearer: bearer(secret), cookie })) {
    for (const { method, path, action, id } of OPERATIONS) {
      const isRead = isAllowedByShareLink(action) && id !== "forkSession";
      if (action === "public" || action === "images.read" || !path.startsWith("/v1/")) continue;
      const asked = { method, headers, ...(method === "GET" || method === "DELETE" ? {} : { body: {} }) };
      await attempt(`${name} ${method} ${path} of another session`, async () => {
        const response = await away(pathOf(path, "other"), asked);
        expect([400, 401, 403, 404]).toContain(response.status);
        expect(await response.text()).not.toContain(OTHER);
      });
      if (!isRead)
        await attempt(`${name} ${method} ${path}`, async () =>
          expect([401, 403]).toContain((await away(pathOf(path, "mine"), asked)).status),
        );
    }
    await attempt(`${name}: files of another session`, async () => {
      expect((await away(`/v1/sessions/mine/blobs/${own}`, { headers })).status).toBe(200);
      expect((await away(`/v1/sessions/other/blobs/${foreign}`, { headers })).status).toBeGreaterThanOrEqual(401);
      expect((await away(`/v1/sessions/mine/blobs/${own}`)).status).toBe(403);
    });
    for (const path of ["events", "events?modes=all", "events?modes=all&dialect=export", "export", "runs", "runs/r"])
      await attempt(`${name}: prompts in ${path}`, async () => {
        const response = await away(`/v1/sessions/mine/${path}`, { headers });
        expect(response.status).toBe(200);
        expect(await response.text()).not.toContain(PROMPT);
      });
  }
  expect(JSON.stringify([await log.listSessions({}), await log.getSession("mine")])).toBe(before);
  expect(await (await here("/v1/sessions/mine/export")).text()).toContain(PROMPT);
});

testThreat("unintended-exposure", "a socket needs the link too, and reads its session only", async ({ attempt }) => {
  const { server, share } = await startShared();
  const { secret } = await share();
  const origin = `http://${ADDRESS ?? "127.0.0.1"}:${server.port}`;
  const open = (headers: object, path = "/v1/ws") =>
    new WebSocket(`${origin.replace("http", "ws")}${path}`, {
      headers: { origin, ...(ADDRESS === undefined ? { via: "1.1 proxy" } : {}), ...headers },
    });
  const statusOf = (headers: object, path?: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const socket = open(headers, path);
      socket.on("unexpected-response", (_, { statusCode = 0 }) => resolve(statusCode));
      socket.on("open", () => {
        socket.terminate();
        resolve(101);
      });
      socket.on("error", reject);
    });
  for (const path of ["/v1/ws", "/agentOS/v1/ws_stream", "/openai/v1/responses"]) {
    await attempt(path, async () => expect(await statusOf({}, path)).toBe(403));
    await attempt(`${path} with a wrong link`, async () =>
      expect(await statusOf(cookieOf(`${secret.slice(0, -2)}xx`), path)).toBe(401),
    );
  }
  const socket = open(cookieOf(secret));
  onTestFinished(() => socket.terminate());
  const frames: { readonly [name: string]: unknown }[] = [];
  socket.on("message", (data: Buffer) => void frames.push(JSON.parse(data.toString()) as object as (typeof frames)[0]));
  await new Promise((resolve) => socket.on("open", resolve));
  socket.send(JSON.stringify({ type: "subscribe", id: "a", session: "other" }));
  socket.send(JSON.stringify({ type: "run", id: "m", session: "mine", message: "Hi" }));
  socket.send(JSON.stringify({ type: "subscribe", id: "b", session: "mine" }));
  await expect.poll(() => JSON.stringify(frames)).toContain("Hello");
  await attempt("another session on the socket", () => expect(JSON.stringify(frames)).not.toContain(OTHER));
  await attempt("a message on the socket", () =>
    expect(frames.find(({ id }) => id === "m")).toMatchObject({ type: "refusal", code: "unauthorized" }),
  );
});

testSlowThreat("revoked-credentials", "a link on an open server ends within seconds", async ({ attempt }) => {
  const { here, away, proxied, share } = await startShared();
  for (const [name, send] of Object.entries({ away, proxied, "the same machine": here }))
    await attempt(name, async () => {
      const { secret, share_id } = await share();
      const link = name === "the same machine" ? "&access=link" : "";
      for (const headers of [bearer(secret), cookieOf(secret)]) {
        const stream = await send(`/v1/sessions/mine/events?follow=true${link}`, { headers });
        expect(stream.status).toBe(200);
        void stream.body?.cancel();
      }
      const stream = await send(`/v1/sessions/mine/events?follow=true${link}`, { headers: cookieOf(secret) });
      const reading = stream.text().catch(() => "cut");
      const began = performance.now();
      expect((await here(`/v1/sessions/mine/shares/${share_id}`, { method: "DELETE" })).status).toBe(204);
      await reading;
      expect(performance.now() - began).toBeLessThan(4000);
      for (const headers of [bearer(secret), cookieOf(secret)])
        expect((await send(`/v1/sessions/mine?${link}`, { headers })).status).toBe(401);
    });
  await attempt("an expired link", async () => {
    const { secret } = await share({ expires_in_ms: 1000 });
    const stream = await away("/v1/sessions/mine/events?follow=true", { headers: bearer(secret) });
    await stream.text().catch(() => "cut");
    expect((await away("/v1/sessions/mine", { headers: bearer(secret) })).status).toBe(401);
    expect((await away("/v1/auth/sign-in", { body: { credential: secret } })).status).toBe(401);
  });
});

testThreat("guessed-credentials", "links of an open server cannot be guessed", async ({ attempt }) => {
  const { away, share } = await startShared();
  const { secret } = await share();
  const guess = (at: number): string => `${secret.slice(0, 22)}${String(at).padStart(43, "A")}`;
  const statuses: number[] = [];
  for (let at = 0; at < 40; at++)
    await attempt(`guess ${at}`, async () => {
      const { status } =
        at % 2 === 0
          ? await away("/v1/sessions/mine", { headers: bearer(guess(at)) })
          : await away("/v1/auth/sign-in", { body: { credential: guess(at) } });
      statuses.push(status);
      expect([401, 429]).toContain(status);
    });
  expect(statuses.slice(-10)).toEqual(Array(10).fill(429));
  // The link itself still works from this address.
  expect((await away("/v1/sessions/mine", { headers: bearer(secret) })).status).toBe(200);
});

testThreat("dns-rebinding", "a foreign host name is not this machine", async ({ attempt }) => {
  const { server, share } = await startShared();
  const { secret } = await share();
  const ask = (host: string, path: string, more: { readonly [name: string]: string } = {}) =>
    sendRaw(server.port, writeHead(`GET ${path} HTTP/1.1`, Object.entries({ host, ...more })));
  for (const path of ["/v1/sessions", "/v1/sessions/mine", "/v1/sessions/mine/export"]) {
    // A name that is allowed for links: the request may come through a proxy that adds no header.
    for (const host of ["agents.example.com", "evil.example", "127.0.0.1.evil.example", "0.0.0.0"])
      await attempt(`${path} at ${host}`, async () => expect((await ask(host, path)).status).toBe(403));
  }
  const link = bearer(secret);
  await attempt("a link at a host name that is not allowed", async () =>
    expect((await ask("evil.example", "/v1/sessions/mine", link)).status).toBe(403),
  );
  expect((await ask("agents.example.com", "/v1/sessions/mine", link)).status).toBe(200);
});
