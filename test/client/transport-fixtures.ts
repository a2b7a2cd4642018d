/**
 * A fixture per transport: a log, the server's handlers, and a network that a test can cut, in process and over real
 * local sockets.
 */
import { createFetchTransport } from "../../src/client/transport/fetch-transport.ts";
import { createPairTransport } from "../../src/client/transport/pair-transport.ts";
import type { TransportFixture, TransportTraits } from "../contracts/transport.ts";
import { createWebSocketTransport } from "../../src/client/transport/web-socket-transport.ts";
import type { Transport } from "../../src/client/transport.ts";
import type { Framing } from "../../src/framing/detect-framing.ts";
import { openSession } from "../../src/engine/index.ts";
import { MemoryLog, openStream } from "../../src/log/index.ts";
import { ControlConnection, createEventsHandler } from "../../src/server/index.ts";
import { gather } from "../log-sessions.ts";
import { startHttpServer } from "./http-server.ts";
import { startSocketServer } from "./socket-server.ts";

export interface LogFixture extends TransportFixture {
  readonly log: MemoryLog;
}

export interface FixtureCase {
  readonly name: string;
  readonly traits: TransportTraits;
  createFixture(): Promise<LogFixture>;
}

interface Network {
  isReachable: boolean;
  cut(): void;
  close(): Promise<void>;
}

const overHttp = (framing: Framing): TransportTraits => ({
  cursors: framing === "sse" ? "each" : "none",
  // Names a URL path cannot contain.
  unsupportedNames: ["", ".", "..", "\ud800"],
});
const overControl: TransportTraits = { cursors: "some", unsupportedNames: [] };

export const TRANSPORT_FIXTURES: readonly FixtureCase[] = [
  ...(["sse", "ndjson"] as const).flatMap((framing): FixtureCase[] => [
    {
      name: `fetch ${framing}, in process`,
      traits: overHttp(framing),
      createFixture: () => createHandlerFixture(framing),
    },
    { name: `fetch ${framing}, over HTTP`, traits: overHttp(framing), createFixture: () => createHttpFixture(framing) },
  ]),
  { name: "WebSocket", traits: overControl, createFixture: createSocketFixture },
  { name: "pair", traits: overControl, createFixture: createPairFixture },
];

async function createHandlerFixture(framing: Framing): Promise<LogFixture> {
  const log = new MemoryLog();
  const handle = createEventsHandler({ log, allowPublic: true });
  const bodies = new Set<TransformStreamDefaultController<Uint8Array>>();
  const network = {
    isReachable: true,
    cut() {
      for (const body of bodies) body.error(new TypeError("network error"));
      bodies.clear();
    },
    close: async () => undefined,
  };
  const fetch = async (request: Request): Promise<Response> => {
    if (!network.isReachable) throw new TypeError("fetch failed");
    const response = await handle(request);
    if (response.body === null) return response;
    const wire = new TransformStream<Uint8Array, Uint8Array>({ start: (controller) => void bodies.add(controller) });
    return new Response(response.body.pipeThrough(wire), response);
  };
  return wrapFixture(log, createFetchTransport({ url: "http://host", framing, fetch }), network);
}

async function createHttpFixture(framing: Framing): Promise<LogFixture> {
  const log = new MemoryLog();
  const server = await startHttpServer(createEventsHandler({ log, allowPublic: true }));
  return wrapFixture(log, createFetchTransport({ url: server.url, framing }), server);
}

async function createSocketFixture(): Promise<LogFixture> {
  const log = new MemoryLog();
  const server = await startSocketServer((send) => new ControlConnection({ log, send }));
  return wrapFixture(log, createWebSocketTransport({ url: server.url }), server);
}

async function createPairFixture(): Promise<LogFixture> {
  const log = new MemoryLog();
  const ends = new Set<(message: string) => void>();
  const network = {
    isReachable: true,
    cut() {
      for (const lose of ends) lose("cut");
      ends.clear();
    },
    close: async () => undefined,
  };
  const transport = createPairTransport((receive, lost) => {
    if (!network.isReachable) throw new Error("unreachable");
    const connection = new ControlConnection({ log, send: receive });
    ends.add(lost);
    return {
      send: (text) => connection.receive(text),
      close: () => {
        ends.delete(lost);
        connection.close();
      },
    };
  });
  return wrapFixture(log, transport, network);
}

function wrapFixture(log: MemoryLog, transport: Transport, network: Network): LogFixture {
  return {
    log,
    transport,
    write: (sessionId) => writeTurn(log, sessionId),
    listFrames: async (session, dialect) => (await gather(openStream(log, session, { dialect }))).flat(),
    cut: () => network.cut(),
    get isReachable() {
      return network.isReachable;
    },
    set isReachable(is) {
      network.isReachable = is;
    },
    async close() {
      await network.close();
      await log.close();
    },
  };
}

async function writeTurn(log: MemoryLog, sessionId: string): Promise<void> {
  await using session = await openSession(log, sessionId);
  const run = await session.startRun();
  const isFirst = (await log.listRuns(sessionId)).length <= 1;
  await run.span("think", async (node) => {
    if (isFirst)
      await node.emit({ type: "todo_list", list_id: "list", items: [{ id: "i0", text: "try", completed: false }] });
    for (const word of ["It ", "is ", "42 — ", "第一"]) await node.write(word);
  });
  await run.finish({ reply: "It is 42 — 第一" });
}
