import { once } from "node:events";
import { type IncomingMessage, request as askHttp } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { WebSocket } from "ws";
import { agent } from "../agents/index.ts";
import { MemoryLog } from "../log/index.ts";
import { ScriptedModel } from "../models/testing.ts";
import { openCredentials } from "./auth/credentials/open-credentials.ts";
import { createMemoryBlobStore } from "./blobs/create-memory-blob-store.ts";
import { type LoomServer, type LoomServerOptions, startLoomServer } from "./loom-server.ts";
import { SERVER_LIMITS } from "./guard/server-limits.ts";

async function start(options: Partial<LoomServerOptions> = {}): Promise<LoomServer> {
  const agents = { main: agent({ model: new ScriptedModel([{ text: "Hello." }]) }) };
  const server = await startLoomServer({ log: new MemoryLog(), agents, port: 0, ...options });
  onTestFinished(() => server.close({ graceMs: 0 }));
  return server;
}

/** Sends any Host and any headers, which `fetch` does not allow. */
async function ask(server: LoomServer, path: string, headers: { readonly [name: string]: string } = {}) {
  const asked = askHttp({
    port: server.port,
    host: "127.0.0.1",
    path,
    headers: { host: `localhost:${server.port}`, ...headers },
  });
  asked.end();
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
}

/** Sends raw bytes and returns everything received until the connection closes. */
async function speak(port: number, ...parts: readonly string[]): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  for (const part of parts) socket.write(part);
  let said = "";
  socket.on("error", () => undefined).on("data", (bytes: Buffer) => (said += bytes.toString()));
  await once(socket, "close");
  return said;
}

async function open(server: LoomServer, path: string, options: object = {}): Promise<number | "open"> {
  const socket = new WebSocket(`ws://127.0.0.1:${server.port}${path}`, options);
  onTestFinished(() => socket.terminate());
  return new Promise((resolve) => {
    socket.on("open", () => resolve("open"));
    socket.on("unexpected-response", (_request, response) => resolve(response.statusCode ?? 0));
    socket.on("error", () => resolve(0));
  });
}

describe("startLoomServer", () => {
  it("answers on this machine under its loopback names", async () => {
    const server = await start({ basePath: "/loom" });
    expect(server.url).toBe(`http://127.0.0.1:${server.port}/loom`);
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    expect((await ask(server, "/loom/healthz")).status).toBe(200);
    expect((await ask(server, "/healthz")).status).toBe(200);
    const { headers } = await ask(server, "/version");
    expect(headers["x-content-type-options"]).toBe("nosniff");
    expect(headers["x-request-id"]).toMatch(/./);
    expect(headers["x-powered-by"]).toBeUndefined();
  });

  it("rejects an unknown query parameter below /v1, also of a socket", async () => {
    const server = await start();
    const { status, body } = await ask(server, "/v1/sessions?limt=1");
    expect([status, body]).toEqual([400, expect.stringContaining("Unknown query parameter `limt`")]);
    expect((await ask(server, "/v1/agents?x=1")).status).toBe(400);
    expect((await ask(server, "/healthz?x=1")).status).toBe(200);
    expect(await open(server, "/v1/ws?strict=1")).toBe(400);
    expect(await open(server, "/v1/ws")).toBe("open");
    expect(await open(server, "/agentOS/v1/ws_stream?x=1")).toBe("open");
  });

  it("rejects a Host header it does not know", async () => {
    const server = await start({ hosts: ["loom.example.com"] });
    const host = `evil.example:${server.port}`;
    const refused = await ask(server, "/version", { host, origin: `http://${host}` });
    expect([refused.status, refused.body]).toEqual([403, expect.stringContaining("forbidden")]);
    expect((await ask(server, "/version", { host: "loom.example.com" })).status).toBe(200);
    expect(await open(server, "/v1/ws", { headers: { host }, origin: `http://${host}` })).toBe(403);
  });

  it("opens sockets for allowed origins only", async () => {
    const server = await start();
    const origin = `http://127.0.0.1:${server.port}`;
    expect(await open(server, "/v1/ws")).toBe("open");
    expect(await open(server, "/v1/ws", { origin })).toBe("open");
    expect(await open(server, "/agentOS/v1/ws_stream", { origin })).toBe("open");
    expect(await open(server, "/v1/ws", { origin: "https://evil.example" })).toBe(403);
    expect(await open(server, "/v1/ws", { origin: "null" })).toBe(403);
    expect(await open(server, "/elsewhere")).toBe(404);
  });

  it("finds sockets with and without the base path", async () => {
    const server = await start({ basePath: "/loom" });
    expect(await open(server, "/loom/v1/ws")).toBe("open");
    expect(await open(server, "/v1/ws")).toBe("open");
  });

  it("limits the time and size of request headers", async () => {
    const server = await start({ limits: { headersTimeoutMs: 60, maxHeaderBytes: 2048 } });
    const dribbled = speak(server.port, "GET /healthz HTTP/1.1\r\nhost: loc");
    const long = speak(server.port, `GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: ${"x".repeat(4000)}\r\n\r\n`);
    expect(await dribbled).toContain(" 408 ");
    expect(await long).toContain(" 431 ");
    expect((await ask(server, "/healthz")).status).toBe(200);
  });

  it("keeps a connection whose body was rejected while it arrived", async () => {
    const server = await start();
    const socket = connect(server.port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    let said = "";
    socket.on("error", () => undefined).on("data", (bytes: Buffer) => (said += bytes.toString()));
    const piece = `186a0\r\n${"x".repeat(100_000)}\r\n`;
    const head = `host: localhost:${server.port}\r\n`;
    socket.write(
      `POST /v1/sessions HTTP/1.1\r\n${head}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`,
    );
    for (let n = 0; n < 3; n++) socket.write(piece);
    await vi.waitFor(() => expect(said).toContain(" 413 "));
    for (let n = 0; n < 20; n++) socket.write(piece);
    socket.write(`0\r\n\r\nGET /healthz HTTP/1.1\r\n${head}\r\n`);
    await vi.waitFor(() => expect(said).toContain(" 200 OK"));
  });

  it("answers malformed requests", async () => {
    const server = await start();
    expect(await speak(server.port, "GET / HTTP/1.1\r\nconnection: close\r\n\r\n")).toContain(" 400 ");
    const odd = await speak(server.port, "GET /a\\b HTTP/1.1\r\nhost: a b\r\nconnection: close\r\n\r\n");
    expect(odd).toMatch(/ 40[03] /);
    expect(odd).not.toMatch(/\n\s+at /);
  });

  it("ignores an offer to upgrade to HTTP/2", async () => {
    const server = await start();
    const headers = { connection: "Upgrade, HTTP2-Settings", upgrade: "h2c", "http2-settings": "AAMAAABkAAQ" };
    expect(await ask(server, "/healthz", headers)).toMatchObject({ status: 200, body: '{"status":"ok"}' });
  });

  it("does not report a client that disconnects as an error", async () => {
    const onError = vi.fn();
    const server = await start({ onError, blobs: createMemoryBlobStore(SERVER_LIMITS) });
    const head = `HTTP/1.1\r\nhost: 127.0.0.1:${server.port}\r\ncontent-type: application/json\r\n`;
    const bodies = ["content-length: 100\r\n\r\n{", 'transfer-encoding: chunked\r\n\r\n5\r\n{"mes\r\n'];
    const paths = ["/v1/runs", "/v1/sessions/s/blobs"];
    for (const sent of paths.flatMap((path) => bodies.map((body) => `POST ${path} ${head}${body}`))) {
      const socket = connect(server.port, "127.0.0.1");
      socket.on("error", () => undefined);
      await new Promise<void>((resolve) => socket.write(sent, () => resolve()));
      // The bytes were read once the next request is answered.
      expect((await ask(server, "/healthz")).status).toBe(200);
      socket.resetAndDestroy();
    }
    await server.close({ graceMs: 0 });
    expect(onError).not.toHaveBeenCalled();
  });

  it("limits the number of connections", async () => {
    const server = await start({ limits: { maxConnections: 1 } });
    const first = connect(server.port, "127.0.0.1");
    onTestFinished(() => void first.destroy());
    await once(first, "connect");
    first.write(`GET /healthz HTTP/1.1\r\nhost: localhost:${server.port}\r\n\r\n`);
    await once(first, "data");
    const second = connect(server.port, "127.0.0.1").on("error", () => undefined);
    await once(second, "close");
    expect(second.bytesRead).toBe(0);
  });

  it("says why it cannot start", async () => {
    const server = await start();
    await expect(start({ port: server.port })).rejects.toMatchObject({
      code: "listen_failed",
      message: `Cannot listen on 127.0.0.1:${server.port}: the address is already in use`,
    });
    await expect(start({ host: "0.0.0.0" })).rejects.toThrow("`allowPublic: true`");
    await expect(start({ port: 70_000 })).rejects.toThrow("`port` must be an integer from 0 to 65535, not 70000");
    await expect(start({ host: "203.0.113.1", allowPublic: true })).rejects.toMatchObject({ code: "listen_failed" });
    await expect(start({ trustedProxies: ["x"] })).rejects.toThrow("`trustedProxies`");
  });

  it("listens publicly with `allowPublic` and still checks the Host header", async () => {
    const server = await start({ host: "0.0.0.0", allowPublic: true });
    expect(server.url).toBe(`http://127.0.0.1:${server.port}`);
    expect((await ask(server, "/healthz")).status).toBe(200);
    expect((await ask(server, "/healthz", { host: `other.example:${server.port}` })).status).toBe(403);
  });

  it("listens publicly with `auth` and requires credentials", async () => {
    const credentials = openCredentials(":memory:");
    const { secret } = await credentials.createToken({ name: "ann" });
    const server = await start({ host: "0.0.0.0", auth: { credentials } });
    expect((await ask(server, "/healthz")).status).toBe(200);
    const refused = await ask(server, "/v1/sessions");
    expect([refused.status, refused.headers["www-authenticate"]]).toEqual([401, "Bearer"]);
    expect((await ask(server, "/v1/sessions", { authorization: `Bearer ${secret}` })).status).toBe(200);
    expect([await open(server, "/v1/ws"), await open(server, "/agentOS/v1/ws_stream")]).toEqual([401, 401]);
    expect(await open(server, "/v1/ws", { headers: { authorization: `Bearer ${secret}` } })).toBe("open");
  });

  it("closes every connection when it shuts down", async () => {
    const server = await start({ limits: { closeMs: 50 } });
    const socket = new WebSocket(`ws://127.0.0.1:${server.port}/v1/ws`);
    await once(socket, "open");
    const idle = connect(server.port, "127.0.0.1");
    await once(idle, "connect");
    const gone = once(idle, "close");
    const closed = once(socket, "close");
    await server.close({ graceMs: 0 });
    expect((await closed)[0]).toBe(1012);
    await gone;
    await expect(fetch(server.url)).rejects.toThrow("fetch failed");
    await server.close();
  });

  it("cuts a response whose body fails and reports the error to the operator only", async () => {
    const onError = vi.fn<(error: unknown) => void>();
    const shown = vi.spyOn(console, "error");
    const page = (): Response => {
      let pulls = 0;
      const pull = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
        if (pulls++ === 0) controller.enqueue(new TextEncoder().encode("half"));
        else controller.error(new Error("secret"));
      };
      return new Response(new ReadableStream({ pull }), { headers: { "content-type": "text/plain" } });
    };
    const server = await start({ page, onError });
    const broken = fetch(server.url).then((response) => response.text());
    await expect(broken).rejects.toThrow("terminated");
    expect(onError.mock.lastCall?.[0]).toMatchObject({ message: "secret" });
    expect(shown).not.toHaveBeenCalled();
    const raw = await speak(
      server.port,
      `GET / HTTP/1.1\r\nhost: localhost:${server.port}\r\nconnection: close\r\n\r\n`,
    );
    expect(raw).toMatch(/ 200 /);
    expect(raw).not.toContain("secret");
    expect(raw.endsWith("0\r\n\r\n")).toBe(false);
  });

  it("lets a live run finish while it shuts down", async () => {
    const { promise: until, resolve: goOn } = Promise.withResolvers<void>();
    const model = new ScriptedModel([{ text: "The end.", chunk: 100, until }]);
    const server = await start({ agents: { main: agent({ model }) } });
    const stream = await chat(server);
    const reader = stream.body?.getReader();
    await reader?.read();
    const closed = server.close({ graceMs: 10_000 });
    // An open connection may still send a request.
    const refused = await server.handler.fetch(
      new Request(`${server.url}/api/chat`, { method: "POST", body: '{"content":"And I?"}' }),
    );
    expect([refused.status, await refused.json()]).toMatchObject([503, { code: "shutting_down" }]);
    goOn();
    expect(await readRest(reader)).toContain("The end.");
    await closed;
  });

  it("leaves a run that exceeds the grace period, and clients can resume it", async () => {
    const log = new MemoryLog();
    const model = new ScriptedModel([{ text: "Never.", until: new Promise(() => undefined) }]);
    const first = await start({ log, agents: { main: agent({ model }) } });
    const stream = await chat(first);
    const reader = stream.body?.getReader();
    const beginning = new TextDecoder().decode((await reader?.read())?.value);
    const cursor = /^id: (\S+)$/m.exec(beginning)?.[1] ?? "";
    await first.close({ graceMs: 0 });
    const rest = await readRest(reader);
    expect(rest).not.toContain("session_end");
    const second = await start({ log });
    await second.handler.ready;
    const resumed = await fetch(`${second.url}/v1/sessions/s1/events?dialect=engine`, {
      headers: { "last-event-id": cursor },
    });
    expect([resumed.status, resumed.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    await resumed.body?.cancel();
  });
});

function chat(server: LoomServer): Promise<Response> {
  const body = JSON.stringify({ session_id: "s1", content: "Hello?" });
  return fetch(`${server.url}/api/chat`, { method: "POST", headers: { "content-type": "application/json" }, body });
}

/** Reads until the stream ends or breaks. */
async function readRest(reader: ReadableStreamDefaultReader<Uint8Array> | undefined): Promise<string> {
  let rest = "";
  try {
    for (let read = await reader?.read(); read?.done === false; read = await reader?.read())
      rest += new TextDecoder().decode(read.value);
  } catch {
    rest += "(cut)";
  }
  return rest;
}
