/**
 * Servers that send events of live sessions to their readers; see `suites/fanout.ts`. Ours appends each event to its
 * log and sends what it reads back. The others send events that exist only in memory.
 */
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { join } from "node:path";
import type { WebSocket } from "ws";
import { encodeTextFrame } from "./child.ts";
import { createFolder } from "./create-folder.ts";
import { createFrame, openWriter } from "./stores.ts";

export interface FanoutServer {
  readonly port: number;
  /** Path of the readers of a session. */
  readonly pathOf: (session: string) => string;
  /** First message of a reader over WebSocket. */
  readonly first?: (session: string) => string;
  /** Sends new events of one session to its readers. */
  send(session: string, events: number): Promise<unknown> | void;
}

export type StartServer = (sessions: readonly string[]) => Promise<FanoutServer>;

const SSE_HEADERS = { "content-type": "text/event-stream", "cache-control": "no-store" };

export const startLoom =
  (isSocket: boolean, isStored: boolean): StartServer =>
  async (sessions) => {
    const { agent } = await import("../src/agents/index.ts");
    const { MemoryLog, openSqliteLog } = await import("../src/log/index.ts");
    const { startLoomServer } = await import("../src/server/index.ts");
    const log = isStored ? await openSqliteLog(join(createFolder(), "loom.db")) : new MemoryLog();
    const writers = new Map(await Promise.all(sessions.map(async (id) => [id, await openWriter(log, id)] as const)));
    const { port } = await startLoomServer({ log, agents: { main: agent({ provider: "offline" }) }, port: 0 });
    return {
      port,
      pathOf: (session) => (isSocket ? "/v1/ws" : `/v1/sessions/${session}/events?follow=true`),
      ...(isSocket && {
        first: (session) => encodeTextFrame(JSON.stringify({ type: "subscribe", id: "1", session })),
      }),
      send: (session, events) => writers.get(session)?.(events),
    };
  };

/** Readers by their path. */
class Rooms<T> {
  readonly #rooms = new Map<string, Set<T>>();

  add(path: string | undefined, reader: T): () => void {
    const room = this.#rooms.get(path ?? "") ?? new Set();
    this.#rooms.set(path ?? "", room.add(reader));
    return () => room.delete(reader);
  }

  of(session: string): Iterable<T> {
    return this.#rooms.get(`/${session}`) ?? [];
  }
}

let lastId = 0;
const takeFrames = (session: string, events: number) =>
  Array.from({ length: events }, () => ({ id: String(++lastId), frame: createFrame(session, lastId) }));
const takeSse = (session: string, events: number): string[] =>
  takeFrames(session, events).map(({ id, frame }) => `id: ${id}\ndata: ${JSON.stringify(frame)}\n\n`);

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

async function serve(
  listener: RequestListener,
  send: FanoutServer["send"],
  server = createServer({ noDelay: true }, listener),
): Promise<FanoutServer> {
  return { port: await listen(server), pathOf: (session) => `/${session}`, send };
}

/** Without `joins`, with the method for one event. */
export const startStreamSse =
  (joins: boolean): StartServer =>
  async () => {
    const { Hono } = await import("hono");
    const { streamSSE } = await import("hono/streaming");
    const { getRequestListener } = await import("@hono/node-server");
    type Reader = Parameters<Parameters<typeof streamSSE>[1]>[0];
    const readers = new Rooms<Reader>();
    const app = new Hono();
    app.get("*", (c) =>
      streamSSE(c, async (stream) => {
        const remove = readers.add(c.req.path, stream);
        await stream.writeSSE({ data: "hello" });
        await new Promise<void>((resolve) => stream.onAbort(resolve));
        remove();
      }),
    );
    const listener = getRequestListener(app.fetch);
    return serve(
      (request, response) => void listener(request, response),
      (session, events) => {
        if (joins) {
          const bytes = Buffer.from(takeSse(session, events).join(""));
          return Promise.all([...readers.of(session)].map((reader) => reader.write(bytes)));
        }
        const texts = takeFrames(session, events).map(({ id, frame }) => ({ id, data: JSON.stringify(frame) }));
        return Promise.all([...readers.of(session)].flatMap((reader) => texts.map((text) => reader.writeSSE(text))));
      },
    );
  };

/** One buffer with the events of a tick for all readers. */
export const startBetterSse: StartServer = async () => {
  const { createEventBuffer, createSession } = await import("better-sse");
  const readers = new Rooms<Awaited<ReturnType<typeof createSession>>>();
  return serve(
    (request, response) =>
      void createSession(request, response).then((reader) => {
        reader.on("disconnected", readers.add(request.url, reader));
        reader.push("hello");
      }),
    async (session, events) => {
      const buffer = createEventBuffer();
      for (const { id, frame } of takeFrames(session, events)) buffer.push(frame, "message", id);
      for (const reader of readers.of(session)) await reader.batch(buffer);
    },
  );
};

export const startResponses =
  (joins: boolean): StartServer =>
  async () => {
    const readers = new Rooms<{ write(bytes: Buffer): unknown }>();
    return serve(
      (request, response) => {
        response.writeHead(200, SSE_HEADERS).write("data: hello\n\n");
        response.on("close", readers.add(request.url, response));
      },
      (session, events) => {
        const texts = takeSse(session, events);
        // Encoded once for all readers.
        const parts = (joins ? [texts.join("")] : texts).map((text) => Buffer.from(text));
        for (const reader of readers.of(session)) for (const part of parts) reader.write(part);
      },
    );
  };

/** Writes finished bytes to the sockets of all readers: nothing but the system calls remains. */
export const startRawSse: StartServer = async () => {
  const readers = new Rooms<Socket>();
  return serve(
    (request, response) => {
      response.writeHead(200, SSE_HEADERS).write("data: hello\n\n");
      if (response.socket !== null) response.on("close", readers.add(request.url, response.socket));
    },
    (session, events) => {
      const text = takeSse(session, events).join("");
      const chunk = Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
      for (const reader of readers.of(session)) reader.write(chunk);
    },
  );
};

/** The documented way to broadcast: each message is encoded once, and compression is off. */
export const startWs =
  (joins: boolean): StartServer =>
  async () => {
    const { WebSocketServer } = await import("ws");
    const readers = new Rooms<WebSocket>();
    const server = createServer({ noDelay: true });
    const sockets = new WebSocketServer({ server, perMessageDeflate: false, clientTracking: false });
    sockets.on("connection", (socket, request) => {
      socket.on("close", readers.add(request.url, socket));
      socket.send('"hello"');
    });
    const send: FanoutServer["send"] = (session, events) => {
      const frames = takeFrames(session, events).map(({ frame }) => frame);
      const messages = (joins ? [frames] : frames).map((message) => Buffer.from(JSON.stringify(message)));
      for (const reader of readers.of(session)) for (const message of messages) reader.send(message, { binary: false });
    };
    return serve(() => undefined, send, server);
  };

/** Writes one finished WebSocket message to the sockets of all readers. */
export const startRawWs: StartServer = async () => {
  const { WebSocketServer } = await import("ws");
  const readers = new Rooms<Socket>();
  const server = createServer({ noDelay: true });
  const sockets = new WebSocketServer({ server, perMessageDeflate: false, clientTracking: false });
  sockets.on("connection", (socket, request) => {
    socket.on("close", readers.add(request.url, request.socket));
    socket.send('"hello"');
  });
  const send: FanoutServer["send"] = (session, events) => {
    const text = Buffer.from(JSON.stringify(takeFrames(session, events).map(({ frame }) => frame)));
    const head = Buffer.from([0x81, 126, text.length >> 8, text.length & 0xff]);
    const message = Buffer.concat([head, text]);
    for (const reader of readers.of(session)) reader.write(message);
  };
  return serve(() => undefined, send, server);
};
