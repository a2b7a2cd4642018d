/**
 * The WebSockets of a server: `/v1/ws` for the control protocol and `/agentOS/v1/ws_stream` for 004. It takes
 * connections over from an HTTP server, sees which of them still live, and ends them; what is said over them others know.
 *
 * Invariants:
 * - Nothing is compressed, so no message is longer than the bytes that came for it, and none is held back.
 * - One who does not read is not read from either: what waits for him is bounded.
 */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type ServerOptions, type WebSocket, WebSocketServer } from "ws";
import type { Asker } from "../guard/authorize.ts";
import type { ServerCore } from "../server-core.ts";
import { openControlPeer } from "./control-peer.ts";
import { openLuminePeer } from "./lumine-peer.ts";
import { SocketWriter } from "./socket-writer.ts";

export interface Sockets {
  /** False where the path is of none of its doors: the request is left as it is. Host and origin were looked at before. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, asker: Asker): boolean;
  /** Tells everybody to come back, and resolves when they are gone. */
  close(): Promise<void>;
  /** Sockets now. */
  readonly size: number;
}

/** What is at the other end of a socket, whatever it speaks. */
export interface Peer {
  receive(text: string): void;
  receiveBinary(): void;
  /** Where to go on, for the reason of a close: empty, or a blank and a word or two. */
  readonly place: string;
  /** The client is gone. */
  close(): void;
}

export type OpenPeer = (core: ServerCore, writer: SocketWriter, asker: Asker) => Peer | Promise<Peer>;

const DOORS: { readonly [path: string]: OpenPeer } = {
  "/v1/ws": openControlPeer,
  "/agentOS/v1/ws_stream": openLuminePeer,
};

export const SOCKET_PATHS: ReadonlySet<string> = new Set(Object.keys(DOORS));

/** What a frame may have at most is counted in characters; in UTF-8 they have no more than so many bytes each. */
const BYTES_PER_CHARACTER = 4;
/** How long a client may take to answer a close. */
const CLOSE_MS = 5000;
/** RFC 6455 and its registry: the service restarts; try again later; something went wrong here. */
const RESTART = 1012;
const WENT_WRONG = 1011;

interface Live {
  readonly ws: WebSocket;
  readonly writer: SocketWriter;
  peer: Peer | undefined;
  isAlive: boolean;
}

export function createSockets(core: ServerCore): Sockets {
  const { maxInboundLength, maxSockets, maxOutboundBytes, pingMs } = core.limits;
  const options: ServerOptions & { readonly closeTimeout: number } = {
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: maxInboundLength * BYTES_PER_CHARACTER,
    closeTimeout: CLOSE_MS,
  };
  const server = new WebSocketServer(options);
  const sockets = new Set<Live>();
  let isClosing = false;
  let whenEmpty: (() => void) | undefined;

  const pings = pingMs > 0 ? setInterval(ping, pingMs).unref() : undefined;

  /** One that has not answered the last one is half open: nobody is there, and nobody will say so. */
  function ping(): void {
    for (const live of sockets) {
      if (!live.isAlive) {
        live.ws.terminate();
        continue;
      }
      live.isAlive = false;
      live.ws.ping();
    }
  }

  function serve(ws: WebSocket, socket: Duplex, open: OpenPeer, asker: Asker): void {
    const writer = new SocketWriter(ws, socket, maxOutboundBytes);
    const live: Live = { ws, writer, peer: undefined, isAlive: true };
    sockets.add(live);
    // Whatever breaks a socket closes it; that is all there is to know.
    ws.on("error", ignore);
    ws.on("pong", () => (live.isAlive = true));
    ws.on("message", (data, isBinary) => take(live, data as Buffer, isBinary));
    ws.on("close", () => {
      sockets.delete(live);
      writer.release();
      live.peer?.close();
      live.peer = undefined;
      if (sockets.size === 0) whenEmpty?.();
    });
    const opened = open(core, writer, asker);
    if (!(opened instanceof Promise)) {
      live.peer = opened;
      return;
    }
    // Whoever speaks at once is heard when it is known to whom.
    ws.pause();
    opened.then(
      (peer) => {
        if (!sockets.has(live)) peer.close();
        else live.peer = peer;
        ws.resume();
      },
      (error: unknown) => {
        core.report(error);
        writer.close(WENT_WRONG, "internal_error");
        ws.resume();
      },
    );
  }

  function take(live: Live, data: Buffer, isBinary: boolean): void {
    live.isAlive = true;
    const { peer, writer, ws } = live;
    if (isBinary) peer?.receiveBinary();
    else peer?.receive(data.toString());
    if (writer.hasRoom || ws.isPaused) return;
    ws.pause();
    writer.whenRoom(() => ws.resume());
  }

  return {
    get size() {
      return sockets.size;
    },

    upgrade(request, socket, head, asker) {
      const open = findDoor(core.basePath, request.url ?? "");
      if (open === undefined) return false;
      if (isClosing || core.closing.aborted) refuse(socket, "shutting_down", "the server is about to stop");
      else if (sockets.size >= maxSockets) refuse(socket, "too_many_open", `${maxSockets} sockets are open already`);
      else server.handleUpgrade(request, socket, head, (ws) => serve(ws, socket, open, asker));
      return true;
    },

    async close() {
      isClosing = true;
      clearInterval(pings);
      if (sockets.size === 0) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      whenEmpty = resolve;
      for (const { writer, peer } of sockets) {
        writer.close(RESTART, `shutting_down${peer?.place ?? ""}`);
        // Nothing more is written, so nothing more is read for it.
        peer?.close();
      }
      // Those who do not answer are cut off by the time limit of their close.
      await promise;
    },
  };
}

function findDoor(basePath: string, url: string): OpenPeer | undefined {
  const [path = ""] = url.split("?", 1);
  if (!path.startsWith(basePath)) return undefined;
  const rest = path.slice(basePath.length);
  return Object.hasOwn(DOORS, rest) ? DOORS[rest] : undefined;
}

/** Said in HTTP: it is no WebSocket yet. */
function refuse(socket: Duplex, code: string, message: string): void {
  const body = JSON.stringify({ type: "refusal", code, message });
  socket.on("error", ignore);
  // One who stays has no socket to stay on.
  socket.once("finish", () => socket.destroy());
  socket.end(
    "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Type: application/json\r\n" +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

function ignore(): void {
  return undefined;
}
