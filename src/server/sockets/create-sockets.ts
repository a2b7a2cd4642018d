/**
 * The WebSocket endpoints of a server: `/v1/ws` for the control protocol, `/agentOS/v1/ws_stream` for the Lumine protocol
 * (004), and `/openai/v1/responses` for the Responses API. Accepts upgrades, checks that connections are alive, and closes
 * them. Messages are handled by peers.
 *
 * Invariants:
 * - Messages are not compressed, so a message is never larger than the bytes received for it.
 * - The server stops reading from a client that does not read, so its buffers are bounded.
 * - A client that sends many messages at once does not delay other clients for long.
 * - When access is revoked, the socket is closed with the reason; nothing more is sent or executed for it.
 */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type ServerOptions, type WebSocket, WebSocketServer } from "ws";
import { LoomError } from "../../protocol/index.ts";
import type { Caller } from "../auth/authorize.ts";
import { refuseUpgrade } from "../http/refuse-upgrade.ts";
import type { ServerCore } from "../api/server-core.ts";
import {
  createOpenaiPeerOpener,
  openControlPeer,
  openLuminePeer,
  type OpenPeer,
  type OpenResponse,
} from "./open-peers.ts";
import type { Peer } from "./peer.ts";
import { type CloseReason, describeClose, FAILED, POLICY_VIOLATION, SocketWriter } from "./socket-writer.ts";

export interface Sockets {
  /** Returns false when the path is not a WebSocket endpoint. Host and origin must be checked before. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, caller: Caller): boolean;
  /** Closes every socket with code 1012 (service restart) and resolves when all are closed. */
  close(): Promise<void>;
  /** The number of open sockets. */
  readonly size: number;
  /** Bytes that wait to be sent on all sockets. */
  readonly pendingBytes: number;
}

const PEER_OPENERS: { readonly [path: string]: OpenPeer } = {
  "/v1/ws": openControlPeer,
  "/agentOS/v1/ws_stream": openLuminePeer,
};
const RESPONSES_PATH = "/openai/v1/responses";

export const SOCKET_PATHS: ReadonlySet<string> = new Set([...Object.keys(PEER_OPENERS), RESPONSES_PATH]);

/** Frame limits are counted in characters; a character has at most this many bytes in UTF-8. */
const BYTES_PER_CHARACTER = 4;
/** Maximum messages read from one socket per event loop tick, approximately. */
const MAX_MESSAGES_PER_TICK = 64;
/** How long a client may take to answer a close frame, in milliseconds. */
const CLOSE_MS = 5000;
/** First byte of a WebSocket pong frame. */
const PONG = 0x8a;

interface LiveSocket {
  readonly ws: WebSocket;
  readonly writer: SocketWriter;
  peer: Peer | undefined;
  isAlive: boolean;
  /** The payload of the latest ping that has not been answered. */
  pendingPing: Buffer | undefined;
  /** Messages received in this event loop tick. */
  messagesThisTick: number;
  /** Access was revoked or the socket was closed for a violation. */
  isEnded: boolean;
}

/** What to do when access ends. The action changes once the connection is a WebSocket. */
interface AccessLease {
  onEnd: (why: LoomError) => void;
}

/** `openResponse` starts the responses of the Responses API. */
export function createSockets(core: ServerCore, openResponse: OpenResponse): Sockets {
  const openers = { ...PEER_OPENERS, [RESPONSES_PATH]: createOpenaiPeerOpener(openResponse) };
  const { maxInboundLength, maxInboundPieces, maxSockets, maxOutboundBytes, pingMs } = core.limits;
  const options: ServerOptions & { readonly closeTimeout: number } = {
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: maxInboundLength * BYTES_PER_CHARACTER,
    maxFragments: maxInboundPieces,
    maxBufferedChunks: maxInboundPieces,
    // `ws` would answer every ping, even for a client that does not read the answers.
    autoPong: false,
    closeTimeout: CLOSE_MS,
  };
  const server = new WebSocketServer(options);
  server.on("wsClientError", (_error, socket) => {
    const error = new LoomError("invalid_request", "Invalid WebSocket handshake; see RFC 6455");
    refuseUpgrade(core, socket, error, { headers: { "sec-websocket-version": "13" } });
  });
  const sockets = new Set<LiveSocket>();
  let isClosing = false;
  let whenEmpty: (() => void) | undefined;

  const pings = pingMs > 0 ? setInterval(ping, pingMs).unref() : undefined;

  /** Terminates sockets that did not answer the last ping, and pings the others. */
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

  function serve(ws: WebSocket, socket: Duplex, open: OpenPeer, caller: Caller, lease: AccessLease): void {
    const writer = new SocketWriter(ws, socket, maxOutboundBytes);
    const live: LiveSocket = {
      ws,
      writer,
      peer: undefined,
      isAlive: true,
      pendingPing: undefined,
      messagesThisTick: 0,
      isEnded: false,
    };
    sockets.add(live);
    lease.onEnd = (why) => endSocket(live, describeClose(why));
    // Every socket error is followed by `close`.
    ws.on("error", ignore);
    ws.on("pong", () => (live.isAlive = true));
    ws.on("ping", (data) => answerPing(live, data));
    ws.on("message", (data, isBinary) => receiveMessage(live, data as Buffer, isBinary));
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
    // Messages wait until the peer is open.
    ws.pause();
    opened.then(
      (peer) => {
        if (!sockets.has(live) || live.isEnded) peer.close();
        else live.peer = peer;
        ws.resume();
      },
      (error: unknown) => {
        core.report(error);
        writer.close(FAILED);
        ws.resume();
      },
    );
  }

  /** Closes the socket. Nothing more is received or sent. */
  function endSocket(live: LiveSocket, why: CloseReason): void {
    live.isEnded = true;
    live.writer.close(why);
    live.peer?.close();
    live.peer = undefined;
  }

  /** Answers only the latest ping when pings arrive faster than they can be answered, as RFC 6455 §5.5.3 allows. */
  function answerPing(live: LiveSocket, data: Buffer): void {
    const isAnswering = live.pendingPing !== undefined;
    live.isAlive = true;
    live.pendingPing = Buffer.from(data);
    if (isAnswering) return;
    setImmediate(() => {
      live.writer.whenRoom(() => {
        if (live.pendingPing !== undefined) live.writer.write(encodePong(live.pendingPing));
        live.pendingPing = undefined;
      });
    });
  }

  function receiveMessage(live: LiveSocket, data: Buffer, isBinary: boolean): void {
    live.isAlive = true;
    const { peer, writer, ws } = live;
    if (isBinary) peer?.receiveBinary();
    else peer?.receive(data.toString());
    if (live.messagesThisTick++ === 0) setImmediate(() => (live.messagesThisTick = 0));
    if (live.messagesThisTick > maxInboundPieces) {
      endSocket(live, { code: POLICY_VIOLATION, reason: "too many messages at once" });
      return;
    }
    if (ws.isPaused || (writer.hasRoom && live.messagesThisTick < MAX_MESSAGES_PER_TICK)) return;
    ws.pause();
    setImmediate(() => writer.whenRoom(() => ws.resume()));
  }

  return {
    get size() {
      return sockets.size;
    },

    get pendingBytes() {
      let bytes = 0;
      for (const { writer } of sockets) bytes += writer.pendingBytes;
      return bytes;
    },

    upgrade(request, socket, head, caller) {
      const open = findEndpoint(openers, core.basePath, request.url ?? "");
      if (open === undefined) return false;
      // The client disconnected during authentication, so no `close` event will follow.
      if (socket.destroyed) return true;
      const lease: AccessLease = { onEnd: () => socket.destroy() };
      try {
        if (isClosing || core.closing.aborted) throw new LoomError("shutting_down", "The server is shutting down");
        if (sockets.size >= maxSockets)
          throw new LoomError("too_many_open", `Too many open sockets (limit ${maxSockets}); try again later`);
        // The lease ends with the connection, whether or not it becomes a WebSocket.
        socket.once(
          "close",
          core.access.watch(caller, undefined, (why) => lease.onEnd(why)),
        );
      } catch (error) {
        // The connection is still HTTP, so the refusal is an HTTP response.
        refuseUpgrade(core, socket, error, { isSecure: caller.origin.startsWith("https:") });
        return true;
      }
      server.handleUpgrade(request, socket, head, (ws) => serve(ws, socket, open, caller, lease));
      return true;
    },

    async close() {
      isClosing = true;
      clearInterval(pings);
      if (sockets.size === 0) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      whenEmpty = resolve;
      for (const { writer, peer } of sockets) {
        const { cursor = "" } = peer ?? {};
        writer.close(describeClose(new LoomError("shutting_down", "The server is shutting down", { cursor })));
        // Nothing more is written, so stop reading for it.
        peer?.close();
      }
      // Sockets that do not answer are terminated after `CLOSE_MS`.
      await promise;
    },
  };
}

function findEndpoint(openers: typeof PEER_OPENERS, basePath: string, url: string): OpenPeer | undefined {
  const [path = ""] = url.split("?", 1);
  if (!path.startsWith(basePath)) return undefined;
  const rest = path.slice(basePath.length);
  return Object.hasOwn(openers, rest) ? openers[rest] : undefined;
}

function ignore(): void {
  return undefined;
}

/** Encodes an unmasked pong frame. The payload has at most 125 bytes (RFC 6455 §5.5), so its length fits into one byte. */
function encodePong(payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from([PONG, payload.length]), payload]);
}
