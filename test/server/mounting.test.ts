// The handler inside other servers, with the real packages: under a base path in Express and Hono, as a route function,
// and behind a proxy. Streams must not be buffered, and sockets must open.
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request as askHttp, type IncomingMessage, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGzip, constants as zlib } from "node:zlib";
import { serve } from "@hono/node-server";
import express, { type NextFunction, type Request as ExpressRequest, type Response as ExpressResponse } from "express";
import { Hono } from "hono";
import { mount } from "hono/mount";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { WebSocket } from "ws";
import { agent } from "../../src/agents/index.ts";
import { MemoryLog } from "../../src/log/index.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import {
  createEventsHandler,
  createLoomHandler,
  createPage,
  type LoomHandler,
  type LoomHandlerOptions,
} from "../../src/server/index.ts";
import { followSse } from "./server-fixture.ts";

const ANSWER = "Mounted, and well.";

interface Mounted {
  readonly handler: LoomHandler;
  /** Lets the model send the rest of its answer. */
  readonly continueAnswer: () => void;
}

function createMounted(options: Partial<LoomHandlerOptions> = {}): Mounted {
  const { promise: until, resolve: continueAnswer } = Promise.withResolvers<void>();
  const model = new ScriptedModel([
    { text: "First.", chunk: 100, calls: [{ name: "missing" }] },
    { text: ANSWER, chunk: 100, until },
    ...Array.from({ length: 5 }, () => ({ text: ANSWER, chunk: 100 })),
  ]);
  const agents = { main: agent({ model }) };
  const page = createPage({ folder: buildPage() });
  const handler = createLoomHandler({ log: new MemoryLog(), agents, basePath: "/agents", page, ...options });
  onTestFinished(() => handler.close({ graceMs: 0 }));
  return { handler, continueAnswer };
}

async function listen(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function post(url: string, body: object, headers: { readonly [name: string]: string } = {}): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

/** Checks a live run, its replay, a second run and a refusal. */
async function checkRequests(base: string, { continueAnswer }: Mounted, ask: typeof fetch = fetch): Promise<void> {
  const live = await post(`${base}/api/chat`, { session_id: "s 1", content: "Hello?" });
  expect(live.headers.get("x-request-id")).toMatch(/./);
  expect(live.headers.get("x-content-type-options")).toBe("nosniff");
  const seen: { readonly id: string | undefined; readonly data: string }[] = [];
  for await (const event of followSse(live)) {
    seen.push(event);
    // The first part has arrived before the model has sent the rest.
    if (event.data.includes("First.")) continueAnswer();
  }
  expect(seen.map(({ data }) => data).join("\n")).toContain(ANSWER);
  const again = await ask(`${base}/v1/sessions/s%201/events?dialect=engine&after=0`, {
    headers: { accept: "application/x-ndjson" },
  });
  expect((await again.text()).trim().split("\n")).toEqual(seen.map(({ data }) => data));
  const started = await post(`${base}/v1/sessions/s%201/runs`, { message: "Again?" });
  expect(started.status).toBe(202);
  const refused = await ask(`${base}/v1/sessions/none/events`);
  expect([refused.status, await refused.json()]).toMatchObject([
    404,
    { type: "urn:loom:problem:unknown_session", code: "unknown_session" },
  ]);
}

const SCRIPT = "export const page = 1;\n".repeat(100);

function buildPage(): string {
  const folder = mkdtempSync(join(tmpdir(), "loom-mounted-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, "assets"));
  writeFileSync(join(folder, "index.html"), '<script type="module" src="./assets/index-1.js"></script>');
  writeFileSync(join(folder, "assets", "index-1.js"), SCRIPT);
  return folder;
}

/** Loads the page as a browser does, without and with the trailing slash, and its script. */
async function checkPage(base: string): Promise<void> {
  const document = await fetch(`${base}?from=here`);
  expect([document.status, document.url]).toEqual([200, `${base}/?from=here`]);
  expect(document.headers.get("content-security-policy")).toContain("default-src 'none'");
  const [, address = ""] = /src="([^"]+)"/.exec(await document.text()) ?? [];
  const script = await fetch(new URL(address, document.url), { headers: { "accept-encoding": "br" } });
  expect([script.status, script.headers.get("content-type")]).toEqual([200, "text/javascript; charset=utf-8"]);
  expect(script.headers.get("content-encoding")).toBe("br");
  expect(await script.text()).toBe(SCRIPT);
  expect((await fetch(`${base}/assets/none.js`)).status).toBe(404);
  expect((await fetch(`${base}/assets/index-1.js`, { method: "POST" })).status).toBe(405);
}

async function checkSockets(host: string, headers: { readonly [name: string]: string } = {}): Promise<void> {
  const socket = new WebSocket(`ws://${host}/agentOS/v1/ws_stream`, { headers });
  onTestFinished(() => socket.terminate());
  const texts: string[] = [];
  const done = new Promise<void>((resolve, reject) => {
    socket.on("error", reject);
    socket.on("message", (data: Buffer) => {
      texts.push(data.toString());
      if (data.toString().includes("[DONE]")) resolve();
    });
  });
  socket.on("open", () => socket.send(JSON.stringify({ content: "Hello?" })));
  await done;
  expect(texts.join("\n")).toContain("well.");
  const control = new WebSocket(`ws://${host}/v1/ws`, { headers });
  onTestFinished(() => control.terminate());
  await once(control, "open");
}

/** Compresses responses like common middleware: it wraps the response and buffers until it is flushed. */
function compress(_asked: ExpressRequest, answer: ExpressResponse, next: NextFunction): void {
  const gzip = createGzip({ flush: zlib.Z_SYNC_FLUSH });
  const { write, end, writeHead } = answer;
  gzip.on("data", (bytes: Buffer) => Reflect.apply(write, answer, [bytes]) as boolean);
  gzip.on("end", () => Reflect.apply(end, answer, []) as unknown);
  answer.writeHead = (...given: unknown[]) => {
    const [status, headers = {}] = given as [number, { [name: string]: unknown }?];
    answer.setHeader("content-encoding", "gzip");
    const rest = Object.entries(headers).filter(([name]) => name.toLowerCase() !== "content-length");
    return Reflect.apply(writeHead, answer, [status, Object.fromEntries(rest)]) as ExpressResponse;
  };
  answer.write = ((bytes: Buffer | string) => gzip.write(bytes)) as ExpressResponse["write"];
  answer.end = ((bytes?: Buffer | string) => {
    gzip.end(bytes);
    return answer;
  }) as ExpressResponse["end"];
  next();
}

describe("in Express", () => {
  async function mount(mounted: Mounted, ...before: readonly express.RequestHandler[]): Promise<string> {
    const app = express();
    for (const middleware of before) app.use(middleware);
    app.use("/agents", mounted.handler.listener);
    app.get("/own", (_asked, answer) => void answer.send("theirs"));
    const server = createServer(app);
    server.on("upgrade", (incoming, socket, head) => {
      if (!mounted.handler.upgrade(incoming, socket, head)) socket.end("HTTP/1.1 418 I'm a teapot\r\n\r\n");
    });
    return listen(server);
  }

  it("answers under its base path and leaves other routes alone", async () => {
    const paths = new Set<boolean>();
    const mounted = createMounted({
      authorize: ({ caller }) => void paths.add(caller.url.pathname.startsWith("/agents/")),
    });
    const host = await mount(mounted);
    await checkRequests(`http://${host}/agents`, mounted);
    await checkSockets(`${host}/agents`);
    await checkPage(`http://${host}/agents`);
    expect([...paths]).toEqual([true]);
    expect(await (await fetch(`http://${host}/own`)).text()).toBe("theirs");
    const other = new WebSocket(`ws://${host}/v1/ws`);
    const [, response] = (await once(other, "unexpected-response")) as [unknown, IncomingMessage];
    expect(response.statusCode).toBe(418);
  });

  it("accepts parsed bodies and compressed responses", async () => {
    const mounted = createMounted();
    const host = await mount(mounted, express.json(), compress);
    const health = await fetch(`http://${host}/agents/healthz`);
    expect(health.headers.get("content-encoding")).toBe("gzip");
    await checkRequests(`http://${host}/agents`, mounted);
  });

  it("works without knowing its base path", async () => {
    const mounted = createMounted({ basePath: "" });
    const host = await mount(mounted);
    await checkRequests(`http://${host}/agents`, mounted);
    await checkPage(`http://${host}/agents`);
  });
});

describe("without authentication", () => {
  /** A server with Express whose connections come from `peer`, as far as the handler can see. */
  async function mount({ handler }: Mounted, peer: string | undefined): Promise<string> {
    const pretend = ({ socket }: IncomingMessage): void =>
      void Object.defineProperty(socket, "remoteAddress", { value: peer });
    const app = express();
    app.use((incoming, _answer, next) => {
      pretend(incoming);
      next();
    });
    app.use("/agents", handler.listener);
    const server = createServer(app);
    server.on("upgrade", (incoming, socket, head) => {
      pretend(incoming);
      handler.upgrade(incoming, socket, head);
    });
    return listen(server);
  }

  /** Sends a request and a WebSocket upgrade, and returns their statuses and what the refusals say. */
  async function send(host: string, headers: { readonly [name: string]: string }): Promise<readonly unknown[]> {
    const [, port] = host.split(":");
    const request = askHttp({ host: "127.0.0.1", port, path: "/agents/v1/agents", headers });
    request.end();
    const [response] = (await once(request, "response")) as [IncomingMessage];
    const socket = new WebSocket(`ws://${host}/agents/v1/ws`, { headers });
    onTestFinished(() => socket.terminate());
    const [, refused] = (await Promise.race([once(socket, "open"), once(socket, "unexpected-response")])) as [
      unknown,
      IncomingMessage?,
    ];
    return [response.statusCode, await textOf(response), refused?.statusCode, await textOf(refused)];
  }

  async function textOf(message: IncomingMessage | undefined): Promise<string> {
    let text = "";
    for await (const piece of message ?? []) text += String(piece);
    return text;
  }

  const quiet = { notify: () => undefined };

  it.each<[string | undefined, { readonly [name: string]: string }, string]>([
    ["192.0.2.7", {}, "comes from 192.0.2.7"],
    ["192.0.2.7", { host: "127.0.0.1" }, "comes from 192.0.2.7"],
    ["::ffff:192.0.2.7", {}, "comes from ::ffff:192.0.2.7"],
    ["2001:db8::7", {}, "comes from 2001:db8::7"],
    [undefined, {}, "route handlers of Next.js"],
    ["127.0.0.1", { "x-forwarded-for": "127.0.0.1" }, "development servers"],
    ["127.0.0.1", { "x-forwarded-host": "localhost" }, "`x-forwarded-host`"],
    ["127.0.0.1", { forwarded: "for=127.0.0.1" }, "`forwarded`"],
    ["::1", { "x-real-ip": "127.0.0.1" }, "`x-real-ip`"],
    ["::1", { via: "1.1 proxy" }, "`via`"],
    ["::1", { "cdn-loop": "example" }, "`cdn-loop`"],
    ["::1", { "x-vercel-forwarded-for": "192.0.2.7" }, "`x-vercel-forwarded-for`"],
    ["::1", { "do-connecting-ip": "192.0.2.7" }, "`do-connecting-ip`"],
    ["::1", { "x-azure-clientip": "192.0.2.7" }, "`x-azure-clientip`"],
    ["127.0.0.1", { host: "evil.example" }, "option `hosts`"],
  ])("refuses a client at %s with %o", async (peer, headers, why) => {
    const [status, text, upgradeStatus, upgradeText] = await send(await mount(createMounted(quiet), peer), headers);
    expect([status, upgradeStatus]).toEqual([403, 403]);
    for (const refusal of [text, upgradeText]) {
      expect(JSON.parse(String(refusal))).toMatchObject({ code: "forbidden" });
      for (const part of [why, "option `auth`", "`allowPublic: true`"]) expect(refusal).toContain(part);
    }
  });

  it.each<[string | undefined, { readonly [name: string]: string }, Partial<LoomHandlerOptions>]>([
    ["127.0.0.1", {}, {}],
    ["::ffff:127.0.0.1", { host: "localhost:5000" }, {}],
    ["::1", { host: "app.localhost" }, {}],
    ["127.0.0.1", { host: "app.test" }, { hosts: ["app.test"] }],
    ["192.0.2.7", { "x-forwarded-for": "192.0.2.8", host: "app.test" }, { allowPublic: true }],
    [undefined, {}, { allowPublic: true }],
  ])("answers a client at %s with %o and the options %o", async (peer, headers, options) => {
    const [status, , upgradeStatus] = await send(await mount(createMounted(options), peer), headers);
    expect([status, upgradeStatus]).toEqual([200, undefined]);
  });

  it("refuses a request without a peer, also to a handler of events, and warns the operator", async () => {
    const notify = vi.fn();
    const handlers = [
      createMounted({ notify }).handler.fetch,
      createEventsHandler({ log: new MemoryLog(), base: "/agents" }),
    ];
    for (const fetch of handlers) {
      const response = await fetch(new Request("http://localhost/agents/v1/sessions/s/events"));
      expect([response.status, await response.text()]).toEqual([403, expect.stringContaining("Next.js")]);
    }
    expect(notify.mock.calls).toMatchObject([[{ kind: "client_refused", option: "auth" }]]);
  });
});

describe("as a route function", () => {
  it("needs only Request and Response", async () => {
    const mounted = createMounted({ allowPublic: true });
    // Used as the export of a route file.
    const { fetch: GET } = mounted.handler;
    const live = await GET(
      new Request("http://app.example/agents/api/chat", {
        method: "POST",
        headers: { "content-type": "application/json", host: "app.example", origin: "http://app.example" },
        body: JSON.stringify({ session_id: "s1", content: "Hello?" }),
      }),
    );
    const seen: string[] = [];
    for await (const { data } of followSse(live)) {
      seen.push(data);
      if (data.includes("First.")) mounted.continueAnswer();
    }
    expect(seen.join("\n")).toContain(ANSWER);
    const head = await GET(new Request("http://app.example/agents/v1/sessions/s1/events?follow=1", { method: "HEAD" }));
    expect([head.status, head.headers.get("content-type"), head.body]).toEqual([200, "text/event-stream", null]);
    const bare = await GET(new Request("http://app.example/agents"));
    expect([bare.status, bare.headers.get("location")]).toEqual([308, "./agents/"]);
    expect(await (await GET(new Request("http://app.example/agents/"))).text()).toContain("./assets/index-1.js");
    const foreign = await GET(
      new Request("http://app.example/agents/version", { headers: { origin: "http://x.example" } }),
    );
    expect(foreign.status).toBe(403);
  });
});

/** A minimal proxy that sets forwarding headers. */
async function startProxy(target: string, prefix: string): Promise<string> {
  const [host, port] = target.split(":");
  const toHeaders = (incoming: IncomingMessage) => ({
    ...incoming.headers,
    host: target,
    "x-forwarded-for": `${String(incoming.headers["x-forwarded-for"] ?? "")}, 203.0.113.9`,
    "x-forwarded-host": "loom.example.com",
    "x-forwarded-proto": "https",
  });
  const proxy = createServer((incoming, outgoing) => {
    const { method, url = "/" } = incoming;
    const passed = askHttp({ host, port, method, path: url.replace(prefix, ""), headers: toHeaders(incoming) });
    passed.on("response", (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on("error", () => outgoing.destroy());
    incoming.pipe(passed);
  });
  proxy.on("upgrade", (incoming, socket) => {
    const behind = connect(Number(port), host);
    const lines = Object.entries(toHeaders(incoming)).map(([name, value]) => `${name}: ${String(value)}`);
    behind.write([`GET ${incoming.url ?? "/"} HTTP/1.1`, ...lines, "", ""].join("\r\n"));
    behind
      .on("error", () => socket.destroy())
      .pipe(socket.on("error", () => behind.destroy()))
      .pipe(behind);
  });
  return listen(proxy);
}

describe("behind a proxy", () => {
  it("uses the forwarded host and address if the proxy is trusted", async () => {
    const callers = new Set<string>();
    const mounted = createMounted({
      allowPublic: true,
      trustedProxies: ["loopback"],
      hosts: ["loom.example.com"],
      authorize: ({ caller }) => void callers.add(`${caller.address} ${caller.url.origin}`),
    });
    const server = createServer(mounted.handler.listener);
    server.on("upgrade", (incoming, socket, head) => void mounted.handler.upgrade(incoming, socket, head));
    const host = await listen(server);
    const proxyHost = await startProxy(host, "");
    const page = { origin: "https://loom.example.com", "x-forwarded-for": "6.6.6.6" };
    const ask: typeof fetch = (url, init) => {
      const headers = new Headers(init?.headers);
      for (const [name, value] of Object.entries(page)) headers.set(name, value);
      return fetch(url, { ...init, headers });
    };
    await checkRequests(`http://${proxyHost}/agents`, mounted, ask);
    await checkSockets(`${proxyHost}/agents`, page);
    expect([...callers]).toEqual(["203.0.113.9 https://loom.example.com"]);
    expect((await fetch(`http://${proxyHost}/agents/version`, { headers: { origin: `http://${host}` } })).status).toBe(
      403,
    );
  });

  it("works when the proxy strips the base path, and ignores untrusted headers", async () => {
    const mounted = createMounted({ allowPublic: true });
    const proxyHost = await startProxy(await listen(createServer(mounted.handler.listener)), "/agents");
    await checkRequests(`http://${proxyHost}/agents`, mounted);
    const page = { headers: { origin: "https://loom.example.com" } };
    expect((await fetch(`http://${proxyHost}/agents/version`, page)).status).toBe(403);
  });
});

// Last, because its server replaces the global Request and Response.
describe("in Hono", () => {
  it.each(["all", "mount", "without env"])("mounted by %s", async (how) => {
    const mounted = createMounted({ allowPublic: how === "without env" });
    const app = new Hono();
    if (how === "mount") app.all("/agents/*", mount(mounted.handler.fetch));
    else app.all("/agents/*", ({ req, env }) => mounted.handler.fetch(req.raw, how === "all" ? env : undefined));
    app.get("/own", (context) => context.text("theirs"));
    const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }) as Server;
    server.on("upgrade", (incoming, socket, head) => void mounted.handler.upgrade(incoming, socket, head));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    if (!server.listening) await once(server, "listening");
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    await checkRequests(`http://${host}/agents`, mounted);
    await checkSockets(`${host}/agents`);
    await checkPage(`http://${host}/agents`);
    expect(await (await fetch(`http://${host}/own`)).text()).toBe("theirs");
  });

  it("in the same process as a Node server", async () => {
    const errors = vi.spyOn(console, "error");
    onTestFinished(() => errors.mockRestore());
    // Replaces the global `Response` by that of Hono.
    const theirs = serve({ fetch: () => new Response("theirs"), port: 0, hostname: "127.0.0.1" }) as Server;
    onTestFinished(() => void theirs.close());
    const { handler } = createMounted();
    await checkPage(`http://${await listen(createServer(handler.listener))}/agents`);
    // Hono reports a response that it cannot send, and destroys its connection.
    expect(errors).not.toHaveBeenCalled();
  });
});
