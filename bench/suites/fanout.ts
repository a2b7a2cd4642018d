/**
 * A server that sends the events of live sessions to their readers, over SSE and WebSocket. Ours does the whole work:
 * append, commit, read, encode, write. The peers store nothing and only write. The readers are raw connections of
 * another process, which count bytes.
 */
import { type ChildProcess, fork } from "node:child_process";
import diagnostics from "node:diagnostics_channel";
import { once } from "node:events";
import { join } from "node:path";
import type { Socket } from "node:net";
import type { Benchmark, Contestants, Prepare, Row } from "../benchmark.ts";
import { createUpgradeRequest } from "../child.ts";
import type { Readers } from "../fanout-clients.ts";
import {
  startBetterSse,
  startLoom,
  startRawSse,
  startRawWs,
  startResponses,
  type StartServer,
  startStreamSse,
  startWs,
} from "../fanout-servers.ts";
import { EVENT_BYTES } from "../stores.ts";

interface Load {
  readonly sessions: number;
  /** Of each session. */
  readonly readers: number;
  /** Of each session at each of its ticks. */
  readonly events: number;
}

/** Sessions that get events at the same time. With more of them, they take turns. */
const SESSIONS_PER_TICK = 100;
const MANY = 5000;
/** Turns of the event loop in which a server must have written the events of a tick. */
const MAX_TURNS = 100_000;

const createSse = (path: string, port: number): string =>
  `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\naccept: text/event-stream\r\n\r\n`;

/** Opens all readers, and returns their sockets in the server and their process. */
async function openReaders(
  isSocket: boolean,
  sessions: readonly string[],
  readers: number,
  { port, pathOf, first }: Awaited<ReturnType<StartServer>>,
): Promise<{ readonly sockets: readonly Socket[]; readonly clients: ChildProcess }> {
  const sockets: Socket[] = [];
  const onSocket = (message: unknown): void => void sockets.push((message as { readonly socket: Socket }).socket);
  diagnostics.subscribe("net.server.socket", onSocket);
  const clients = fork(join(import.meta.dirname, "..", "fanout-clients.ts"), { execArgv: [] });
  const all = sessions.flatMap((session) => Array.from({ length: readers }, () => session));
  const request = isSocket ? createUpgradeRequest : createSse;
  const requests = all.map((session) => request(pathOf(session), port));
  await ask(clients, { port, requests, first: all.map((session) => first?.(session) ?? "") });
  diagnostics.unsubscribe("net.server.socket", onSocket);
  if (sockets.length !== all.length) throw new Error(`${sockets.length} connections instead of ${all.length}`);
  return { sockets, clients };
}

async function ask(clients: ChildProcess, message: Readers | number): Promise<void> {
  clients.send(message);
  const [{ error }] = (await once(clients, "message")) as [{ readonly error?: string }];
  if (error !== undefined) throw new Error(error);
}

/** Waits for the bytes of a tick, so that nothing joins the events of two ticks. */
async function waitUntilWritten(socket: Socket | undefined, end: number): Promise<void> {
  for (let turn = 0; turn < MAX_TURNS; turn++) {
    if (socket === undefined || socket.bytesWritten >= end) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error("The events were not written.");
}

const send =
  (isSocket: boolean, { sessions: count, readers, events }: Load, start: StartServer): Prepare =>
  async (size) => {
    const sessions = Array.from({ length: count }, (_, index) => `s${index}`);
    const server = await start(sessions);
    const { sockets, clients } = await openReaders(isSocket, sessions, readers, server);
    const active = Math.min(count, SESSIONS_PER_TICK);
    const ticks = size / (active * readers * events);
    return async () => {
      for (let tick = 0; tick < ticks; tick++) {
        const from = (tick * active) % count;
        const last = sockets[(from + active) * readers - 1];
        const end = (last?.bytesWritten ?? 0) + events * EVENT_BYTES;
        await Promise.all(sessions.slice(from, from + active).map(async (session) => server.send(session, events)));
        await waitUntilWritten(last, end);
      }
      await ask(clients, (size / (count * readers)) * EVENT_BYTES);
    };
  };

const PEERS: { readonly [isSocket in "SSE" | "WebSocket"]: { readonly [name: string]: StartServer } } = {
  SSE: {
    "hono 4 writeSSE per event": startStreamSse(false),
    "hono 4 streamSSE, write per tick": startStreamSse(true),
    "better-sse 0.16, batches": startBetterSse,
    "res.write per event": startResponses(false),
    "res.write per tick": startResponses(true),
  },
  WebSocket: { "ws 8, send per event": startWs(false), "ws 8, send per tick": startWs(true) },
};
const LIMITS = { SSE: startRawSse, WebSocket: startRawWs };

function rowOf(transport: "SSE" | "WebSocket", isStored: boolean, load: Load): Row {
  const { sessions, readers, events } = load;
  const isSocket = transport === "WebSocket";
  const prepare = (start: StartServer): Prepare => send(isSocket, load, start);
  const peers: Contestants = Object.fromEntries(
    Object.entries(PEERS[transport])
      // One event has nothing to join. With many readers, peers that join nothing take seconds per round.
      .filter(([name]) => !name.endsWith("per event") || (events > 1 && readers < MANY))
      .map(([name, start]) => [name, prepare(start)]),
  );
  const many = (count: number, word: string): string =>
    `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
  const who =
    sessions === 1 ? many(readers, "reader") : `${many(sessions, "session")} with ${many(readers, "reader")} each`;
  const all = sessions * readers;
  const ticks = all === 1 ? 400 : sessions > 1 ? 20 : Math.max(2, 5000 / readers);
  return {
    what: `${transport}, ${who}, ${many(events, "event")} per tick, ${isStored ? "ours stored in SQLite first" : "ours in memory"}`,
    unit: "event to a reader",
    sizes: [ticks * Math.min(sessions, SESSIONS_PER_TICK) * readers * events],
    ours: prepare(startLoom(isSocket, isStored)),
    peers,
    limits: { "finished bytes to each socket": prepare(LIMITS[transport]) },
  };
}

const ROWS: readonly (Load & Pick<Row, "isSlow"> & { readonly isStored?: boolean })[] = [
  { sessions: 1, readers: 1, events: 1 },
  { sessions: 1, readers: 100, events: 8 },
  { sessions: 1, readers: 1000, events: 1 },
  { sessions: 1, readers: 1000, events: 8, isSlow: true },
  { sessions: 1, readers: MANY, events: 8, isSlow: true },
  { sessions: 1000, readers: 1, events: 1 },
  { sessions: 1000, readers: 1, events: 8, isSlow: true },
  { sessions: 1, readers: 1, events: 1, isStored: true, isSlow: true },
  { sessions: 1, readers: 100, events: 8, isStored: true, isSlow: true },
  { sessions: 1000, readers: 1, events: 1, isStored: true },
];

export const benchmark: Benchmark = {
  about: "CPU time of a server that sends events to readers: ours appends, reads and encodes, the peers only write",
  rows: (["SSE", "WebSocket"] as const).flatMap((transport) =>
    ROWS.map(({ isStored = false, isSlow = false, ...load }) => ({ ...rowOf(transport, isStored, load), isSlow })),
  ),
};
