/**
 * The server under measurement, in a separate process: one of several implementations that send the events of one live
 * session to all its readers. The message `{implementation}` starts it and returns its port. The message `{ticks,
 * events, pauseMs}` emits `events` events at each of `ticks` ticks and returns the processor time until all of them are
 * sent.
 *
 * Ours does all the work: append to the log, commit, read, encode, write; the log is in memory or, for `-stored`, on
 * disk. The others receive finished texts and only write them.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { type SSEStreamingApi, streamSSE } from "hono/streaming";
import { type WebSocket, WebSocketServer } from "ws";
import { MemoryLog } from "../src/log/index.ts";
import { createEntry } from "../src/log/entry.ts";
import { describeHolder } from "../src/log/holder.ts";
import { openSqliteLog } from "../src/log/sqlite/sqlite-log.ts";
import { encodeControl } from "../src/protocol/control/index.ts";
import { LOCAL } from "../src/server/auth/principal.ts";
import { streamResponse } from "../src/server/streams/stream-response.ts";
import type { ServerCore } from "../src/server/api/server-core.ts";
import { SERVER_LIMITS } from "../src/server/guard/server-limits.ts";
import { createSockets } from "../src/server/sockets/create-sockets.ts";
import { createStreams } from "../src/server/streams/create-streams.ts";

export type Implementation =
  | "ours-sse"
  | "ours-sse-stored"
  | "streamSSE"
  | "res.write"
  | "ours-ws"
  | "ours-ws-stored"
  | "ws.send";

interface Contestant {
  readonly server: Server;
  /** Emits this many events at once. */
  tick(count: number): Promise<void> | void;
  close(): Promise<void> | void;
}

let padding: string | undefined;

/** About as long as a token event of an agent. */
function entryAt(id: number) {
  const envelope = { session_id: "s", run_id: "run-0001", node_id: "run-think-1", event_id: id, ts: 1.7e12 };
  const make = (content: string) => createEntry({ envelope, event: { type: "message_chunk", content, id: "think" } });
  padding ??= "x".repeat(200 - make("").text.length);
  return make(padding);
}

let nextId = 1;
const takeTexts = (count: number): { readonly id: string; readonly text: string }[] =>
  Array.from({ length: count }, () => ({ id: `2.AAAAAAAA.${nextId}`, text: entryAt(nextId++).text }));

async function createLoom(isSocket: boolean, isStored: boolean): Promise<Contestant> {
  const folder = mkdtempSync(join(tmpdir(), "loom-bench-"));
  const log = isStored ? await openSqliteLog(join(folder, "loom.db")) : new MemoryLog();
  await log.createSession("s");
  const lease = await log.acquire("s", { holder: describeHolder(), ttlMs: 3_600_000 });
  let last = lease.lastId;
  const limits = { ...SERVER_LIMITS, pingMs: 0, heartbeatMs: 0 };
  const streams = createStreams({ log, limits });
  const listener = getRequestListener(
    async (request, env) => {
      const reader = await streams.open("s", { follow: true, transport: "http", signal: request.signal });
      if (reader === undefined) return new Response(null, { status: 499 });
      const { outgoing } = env as { readonly outgoing: ServerResponse };
      const { maxOutboundBytes } = limits;
      return streamResponse(reader, { framing: "sse", heartbeatMs: 15_000, maxOutboundBytes, outgoing });
    },
    { overrideGlobalObjects: false },
  );
  const server = createServer((incoming, outgoing) => void listener(incoming, outgoing));
  const core = {
    log,
    limits,
    streams,
    authorize: () => undefined,
    meter: undefined,
    basePath: "",
    closing: new AbortController().signal,
    report: () => "",
    commands: { log },
    runs: {},
  } as unknown as ServerCore;
  const sockets = createSockets(core, async () => undefined);
  if (isSocket)
    server.on("upgrade", (request, socket, head) => {
      const url = new URL("http://x/v1/ws");
      const who = { principal: LOCAL, shares: [] };
      const caller = { method: "UPGRADE", headers: new Headers(), url, address: undefined, origin: url.origin, ...who };
      sockets.upgrade(request, socket, head, caller);
    });
  return {
    server,
    async tick(count) {
      const entries = Array.from({ length: count }, (_, index) => entryAt(last + 1 + index));
      ({ lastId: last } = await log.append({ sessionId: "s", epoch: lease.epoch, expectedLastId: last, entries }));
    },
    async close() {
      await streams.close();
      await log.close();
      rmSync(folder, { recursive: true });
    },
  };
}

function createStreamSse(): Contestant {
  const readers = new Set<SSEStreamingApi>();
  const app = new Hono();
  app.get("*", (c) =>
    streamSSE(c, async (stream) => {
      readers.add(stream);
      await stream.writeSSE({ data: "hello" });
      await new Promise<void>((resolve) => stream.onAbort(resolve));
      readers.delete(stream);
    }),
  );
  const listener = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  return {
    server: createServer((incoming, outgoing) => void listener(incoming, outgoing)),
    async tick(count) {
      const texts = takeTexts(count);
      const writes: Promise<void>[] = [];
      for (const reader of readers) for (const { id, text } of texts) writes.push(reader.writeSSE({ id, data: text }));
      await Promise.all(writes);
    },
    close: () => undefined,
  };
}

function createResWrite(): Contestant {
  const readers = new Set<ServerResponse>();
  return {
    server: createServer((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
      response.write("data: hello\n\n");
      readers.add(response);
      response.on("close", () => readers.delete(response));
    }),
    tick(count) {
      const texts = takeTexts(count).map(({ id, text }) => `id: ${id}\ndata: ${text}\n\n`);
      for (const reader of readers) for (const text of texts) reader.write(text);
    },
    close: () => undefined,
  };
}

function createWsSend(): Contestant {
  const readers = new Set<WebSocket>();
  const server = createServer();
  const sockets = new WebSocketServer({ server, perMessageDeflate: false, clientTracking: false });
  sockets.on("connection", (socket) => {
    readers.add(socket);
    socket.on("close", () => readers.delete(socket));
    socket.on("message", () => socket.send('{"type":"subscribed"}'));
  });
  return {
    server,
    tick(count) {
      const texts = takeTexts(count).map(({ id, text }) =>
        encodeControl({ type: "frames", session: "s", dialect: "loom", frames: [text], cursor: id }),
      );
      for (const reader of readers) for (const text of texts) reader.send(text);
    },
    close: () => undefined,
  };
}

const IMPLEMENTATIONS: { readonly [I in Implementation]: () => Promise<Contestant> | Contestant } = {
  "ours-sse": () => createLoom(false, false),
  "ours-sse-stored": () => createLoom(false, true),
  streamSSE: createStreamSse,
  "res.write": createResWrite,
  "ours-ws": () => createLoom(true, false),
  "ours-ws-stored": () => createLoom(true, true),
  "ws.send": createWsSend,
};

const connections = new Set<Socket>();
let contestant: Contestant | undefined;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits until the events of this tick are sent, so that no implementation can merge the writes of two ticks. */
async function waitUntilSent(): Promise<void> {
  for (let turns = 0; turns < 3; turns++) await new Promise((resolve) => setImmediate(resolve));
  while ([...connections].some(({ writableLength }) => writableLength > 0)) await pause(1);
}

type ServerMessage =
  | { readonly implementation: Implementation }
  | { readonly ticks: number; readonly events: number; readonly pauseMs: number }
  | "close";

async function handleMessage(message: ServerMessage): Promise<void> {
  if (message === "close") {
    for (const socket of connections) socket.destroy();
    await contestant?.close();
    contestant?.server.close();
    process.send?.("closed");
  } else if ("implementation" in message) {
    contestant = await IMPLEMENTATIONS[message.implementation]();
    const { server } = contestant;
    server.on("connection", (socket) => {
      connections.add(socket);
      socket.on("close", () => connections.delete(socket));
      socket.on("error", () => undefined);
    });
    server.listen(0, "127.0.0.1", 2000, () => process.send?.({ port: (server.address() as AddressInfo).port }));
  } else {
    const before = process.cpuUsage();
    for (let n = 0; n < message.ticks; n++) {
      await contestant?.tick(message.events);
      await pause(message.pauseMs);
      await waitUntilSent();
    }
    const { user, system } = process.cpuUsage(before);
    process.send?.({ user, system });
  }
}

process.on("message", (message: ServerMessage) => void handleMessage(message));
// Exit when the parent process ends without sending `close`.
process.on("disconnect", () => process.exit());
