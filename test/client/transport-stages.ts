/**
 * Every transport on a stage of its own: a log, the server's pieces before it, and a network between that a test can
 * cut, in this process and over real sockets of this machine.
 */
import { createFetchTransport } from "../../src/client/transport/fetch-transport.ts";
import { createPairTransport } from "../../src/client/transport/pair-transport.ts";
import type { TransportStage, TransportTraits } from "../../src/client/transport/transport.contract.ts";
import { createWebSocketTransport } from "../../src/client/transport/web-socket-transport.ts";
import type { Transport } from "../../src/client/transport.ts";
import type { Framing } from "../../src/framing/index.ts";
import { openSession } from "../../src/engine/index.ts";
import { MemoryLog, openStream } from "../../src/log/index.ts";
import { ControlConnection, createEventsHandler } from "../../src/server/index.ts";
import { gather } from "../log-sessions.ts";
import { startHttpServer } from "./http-server.ts";
import { startSocketServer } from "./socket-server.ts";

export interface LogStage extends TransportStage {
  readonly log: MemoryLog;
}

export interface StageCase {
  readonly name: string;
  readonly traits: TransportTraits;
  setStage(): Promise<LogStage>;
}

interface Network {
  isReachable: boolean;
  cut(): void;
  close(): Promise<void>;
}

const overHttp = (framing: Framing): TransportTraits => ({
  cursors: framing === "sse" ? "each" : "none",
  // What no path of an address can hold.
  unsayable: ["", ".", "..", "\ud800"],
});
const overControl: TransportTraits = { cursors: "some", unsayable: [] };

export const STAGES: readonly StageCase[] = [
  ...(["sse", "ndjson"] as const).flatMap((framing): StageCase[] => [
    { name: `fetch ${framing}, in process`, traits: overHttp(framing), setStage: () => setHandlerStage(framing) },
    { name: `fetch ${framing}, over HTTP`, traits: overHttp(framing), setStage: () => setHttpStage(framing) },
  ]),
  { name: "WebSocket", traits: overControl, setStage: setSocketStage },
  { name: "pair", traits: overControl, setStage: setPairStage },
];

async function setHandlerStage(framing: Framing): Promise<LogStage> {
  const log = new MemoryLog();
  const handle = createEventsHandler({ log });
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
  return createStage(log, createFetchTransport({ url: "http://host", framing, fetch }), network);
}

async function setHttpStage(framing: Framing): Promise<LogStage> {
  const log = new MemoryLog();
  const server = await startHttpServer(createEventsHandler({ log }));
  return createStage(log, createFetchTransport({ url: server.url, framing }), server);
}

async function setSocketStage(): Promise<LogStage> {
  const log = new MemoryLog();
  const server = await startSocketServer((send) => new ControlConnection({ log, send }));
  return createStage(log, createWebSocketTransport({ url: server.url }), server);
}

async function setPairStage(): Promise<LogStage> {
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
    if (!network.isReachable) throw new Error("nobody there");
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
  return createStage(log, transport, network);
}

function createStage(log: MemoryLog, transport: Transport, network: Network): LogStage {
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
