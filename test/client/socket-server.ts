/**
 * A minimal WebSocket server to test the client against real sockets: single-frame text messages, no extensions. It
 * does not read the messages.
 */
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";

/** Serves one socket: `receive` gets its messages, `send` sends to it. */
export type ServeSocket = (send: (text: string) => void) => { receive(text: string): void; close(): void };

export interface SocketServer {
  readonly url: string;
  /** Whether sockets are accepted. */
  isReachable: boolean;
  /** Breaks every socket, as a network failure does. */
  cut(): void;
  close(): Promise<void>;
}

const TEXT = 1;
const CLOSE = 8;
const PING = 9;
const PONG = 10;

export async function startSocketServer(serve: ServeSocket): Promise<SocketServer> {
  const sockets = new Set<Duplex>();
  const http = createServer((_request, response) => response.writeHead(426).end());
  http.on("upgrade", (request, socket: Duplex) => {
    if (!server.isReachable) {
      socket.destroy();
      return;
    }
    sockets.add(socket);
    const key = `${request.headers["sec-websocket-key"] ?? ""}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    socket.write(
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
        `Sec-WebSocket-Accept: ${createHash("sha1").update(key).digest("base64")}\r\n\r\n`,
    );
    const peer = serve((text) => {
      if (!socket.destroyed) socket.write(encodeFrame(TEXT, Buffer.from(text)));
    });
    let rest: Buffer = Buffer.alloc(0);
    socket.on("data", (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk]);
      for (let frame = decodeFrame(rest); frame !== undefined; frame = decodeFrame(rest)) {
        rest = rest.subarray(frame.size);
        if (frame.kind === TEXT) peer.receive(frame.data.toString());
        else if (frame.kind === PING) socket.write(encodeFrame(PONG, frame.data));
        else if (frame.kind === CLOSE) socket.end(encodeFrame(CLOSE, frame.data));
      }
    });
    socket.on("error", () => undefined);
    socket.on("close", () => {
      sockets.delete(socket);
      peer.close();
    });
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const server: SocketServer = {
    url: `ws://127.0.0.1:${(http.address() as AddressInfo).port}/v1/ws`,
    isReachable: true,
    cut() {
      for (const socket of sockets) socket.destroy();
    },
    async close() {
      server.cut();
      await new Promise((resolve) => http.close(resolve));
    },
  };
  return server;
}

function encodeFrame(kind: number, data: Buffer): Buffer {
  const { length } = data;
  if (length < 126) return Buffer.concat([Buffer.of(0x80 | kind, length), data]);
  const head = Buffer.alloc(length < 65_536 ? 4 : 10);
  head[0] = 0x80 | kind;
  head[1] = length < 65_536 ? 126 : 127;
  if (length < 65_536) head.writeUInt16BE(length, 2);
  else head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, data]);
}

/** Reads the first whole frame of a client, which is masked; undefined if it is incomplete. */
function decodeFrame(bytes: Buffer): { kind: number; data: Buffer; size: number } | undefined {
  if (bytes.length < 6) return undefined;
  const short = (bytes[1] as number) & 0x7f;
  const at = short < 126 ? 2 : short === 126 ? 4 : 10;
  if (bytes.length < at + 4) return undefined;
  const length = short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  const size = at + 4 + length;
  if (bytes.length < size) return undefined;
  const data = Buffer.from(bytes.subarray(at + 4, size));
  for (let i = 0; i < data.length; i++) data[i] = (data[i] as number) ^ (bytes[at + (i % 4)] as number);
  return { kind: (bytes[0] as number) & 0x0f, data, size };
}
