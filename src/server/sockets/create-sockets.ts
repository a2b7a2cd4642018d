/**
 * The WebSockets of a server: `/v1/ws` for the control protocol and `/agentOS/v1/ws_stream` for 004. It takes
 * connections over from an HTTP server, sees which of them still live, and ends them; what is said over them others know.
 *
 * Invariants:
 * - Nothing is compressed, so no message is longer than the bytes that came for it, and none is held back.
 * - One who does not read is not read from either: what waits for him is bounded.
 * - One who says much at once keeps nobody else waiting for long.
 * - One whose leave ends is told so and cut off; nothing more is sent, and nothing more is done for him.
 */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type ServerOptions, type WebSocket, WebSocketServer } from "ws";
import { LoomError } from "../../protocol/index.ts";
import type { Caller } from "../guard/authorize.ts";
import { refuseUpgrade } from "../http/refuse-upgrade.ts";
import type { ServerCore } from "../server-core.ts";
import { openControlPeer } from "./control-peer.ts";
import { describeClose } from "./describe-close.ts";
import { encodePong } from "./encode-pong.ts";
import { openLuminePeer } from "./lumine-peer.ts";
import { SocketWriter } from "./socket-writer.ts";

export interface Sockets {
  /** False where the path is of none of its doors: the request is left as it is. Host and origin were looked at before. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, caller: Caller): boolean;
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

export type OpenPeer = (core: ServerCore, writer: SocketWriter, caller: Caller) => Peer | Promise<Peer>;

const DOORS: { readonly [path: string]: OpenPeer } = {
  "/v1/ws": openControlPeer,
  "/agentOS/v1/ws_stream": openLuminePeer,
};

export const SOCKET_PATHS: ReadonlySet<string> = new Set(Object.keys(DOORS));

/** What a frame may have at most is counted in characters; in UTF-8 they have no more than so many bytes each. */
const BYTES_PER_CHARACTER = 4;
/** Messages of one socket in one turn of the event loop, about: then it is the turn of others. */
const MAX_PER_TURN = 64;
/** How long a client may take to answer a close. */
const CLOSE_MS = 5000;
/** RFC 6455 and its registry: the service restarts; try again later; something went wrong here. */
const RESTART = 1012;
const WENT_WRONG = 1011;
/** More at once than is taken. */
const AGAINST_RULES = 1008;

interface Live {
  readonly ws: WebSocket;
  readonly writer: SocketWriter;
  peer: Peer | undefined;
  isAlive: boolean;
  /** What the last ping brought that is not answered yet. */
  ping: Buffer | undefined;
  /** Messages in this turn of the event loop. */
  taken: number;
  /** Whoever is at the other end may no longer be here. */
  isEnded: boolean;
}

/** What becomes of a connection when leave to be here ends: before it is a socket, and then. */
interface Leave {
  onEnd: (why: LoomError) => void;
}

export function createSockets(core: ServerCore): Sockets {
  const { maxInboundLength, maxInboundPieces, maxSockets, maxOutboundBytes, pingMs } = core.limits;
  const options: ServerOptions & { readonly closeTimeout: number } = {
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: maxInboundLength * BYTES_PER_CHARACTER,
    maxFragments: maxInboundPieces,
    maxBufferedChunks: maxInboundPieces,
    // The sender of `ws` answers every ping, also those of one who does not read the answers.
    autoPong: false,
    closeTimeout: CLOSE_MS,
  };
  const server = new WebSocketServer(options);
  server.on("wsClientError", (_error, socket) => {
    const error = new LoomError("invalid_request", "this is no WebSocket as RFC 6455 has it");
    refuseUpgrade(core, socket, error, { headers: { "sec-websocket-version": "13" } });
  });
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

  function serve(ws: WebSocket, socket: Duplex, open: OpenPeer, caller: Caller, leave: Leave): void {
    const writer = new SocketWriter(ws, socket, maxOutboundBytes);
    const live: Live = { ws, writer, peer: undefined, isAlive: true, ping: undefined, taken: 0, isEnded: false };
    sockets.add(live);
    leave.onEnd = (why) => {
      const { code, reason } = describeClose(why);
      endSocket(live, code, reason);
    };
    // Whatever breaks a socket closes it; that is all there is to know.
    ws.on("error", ignore);
    ws.on("pong", () => (live.isAlive = true));
    ws.on("ping", (data) => answerPing(live, data));
    ws.on("message", (data, isBinary) => take(live, data as Buffer, isBinary));
    ws.on("close", () => {
      sockets.delete(live);
      writer.release();
      live.peer?.close();
      live.peer = undefined;
      if (sockets.size === 0) whenEmpty?.();
    });
    const opened = open(core, writer, caller);
    if (!(opened instanceof Promise)) {
      live.peer = opened;
      return;
    }
    // Whoever speaks at once is heard when it is known to whom.
    ws.pause();
    opened.then(
      (peer) => {
        if (!sockets.has(live) || live.isEnded) peer.close();
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

  /** Nothing more is heard, nor said. */
  function endSocket(live: Live, code: number, reason: string): void {
    live.isEnded = true;
    live.writer.close(code, reason);
    live.peer?.close();
    live.peer = undefined;
  }

  /** Of pings that come faster than they can be answered the last one is, as RFC 6455 §5.5.3 has it. */
  function answerPing(live: Live, data: Buffer): void {
    const isAnswering = live.ping !== undefined;
    live.isAlive = true;
    live.ping = Buffer.from(data);
    if (isAnswering) return;
    setImmediate(() => {
      live.writer.whenRoom(() => {
        if (live.ping !== undefined) live.writer.write(encodePong(live.ping));
        live.ping = undefined;
      });
    });
  }

  function take(live: Live, data: Buffer, isBinary: boolean): void {
    live.isAlive = true;
    const { peer, writer, ws } = live;
    if (isBinary) peer?.receiveBinary();
    else peer?.receive(data.toString());
    if (live.taken++ === 0) setImmediate(() => (live.taken = 0));
    if (live.taken > maxInboundPieces) {
      endSocket(live, AGAINST_RULES, "too many messages at once");
      return;
    }
    if (ws.isPaused || (writer.hasRoom && live.taken < MAX_PER_TURN)) return;
    ws.pause();
    setImmediate(() => writer.whenRoom(() => ws.resume()));
  }

  return {
    get size() {
      return sockets.size;
    },

    upgrade(request, socket, head, caller) {
      const open = findEndpoint(core.basePath, request.url ?? "");
      if (open === undefined) return false;
      // Gone while it was found out who it is: nothing would say so again.
      if (socket.destroyed) return true;
      const leave: Leave = { onEnd: () => socket.destroy() };
      try {
        if (isClosing || core.closing.aborted) throw new LoomError("shutting_down", "the server is about to stop");
        if (sockets.size >= maxSockets) throw new LoomError("too_many_open", `${maxSockets} sockets are open already`);
        // Whatever becomes of it, be it a socket or not, it is over when it is closed.
        socket.once(
          "close",
          core.access.watch(caller, undefined, (why) => leave.onEnd(why)),
        );
      } catch (error) {
        // Said in HTTP: it is no WebSocket yet.
        refuseUpgrade(core, socket, error, { isSecure: caller.origin.startsWith("https:") });
        return true;
      }
      server.handleUpgrade(request, socket, head, (ws) => serve(ws, socket, open, caller, leave));
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

function findEndpoint(basePath: string, url: string): OpenPeer | undefined {
  const [path = ""] = url.split("?", 1);
  if (!path.startsWith(basePath)) return undefined;
  const rest = path.slice(basePath.length);
  return Object.hasOwn(DOORS, rest) ? DOORS[rest] : undefined;
}

function ignore(): void {
  return undefined;
}
