import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { Duplex } from "node:stream";
import fc from "fast-check";
import { expect, it, onTestFinished, vi } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { encodeTextMessage } from "../streams/frame-batch.ts";
import { SocketWriter } from "./socket-writer.ts";

/** Connects both ends of one socket. */
async function connect(maxBytes = 1024 * 1024) {
  const http = createServer();
  const wss = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  const served = Promise.withResolvers<{ ws: WebSocket; socket: Socket; writer: SocketWriter }>();
  http.on("upgrade", (request, socket: Socket, head) =>
    wss.handleUpgrade(request, socket, head, (ws) =>
      served.resolve({ ws, socket, writer: new SocketWriter(ws, socket, maxBytes) }),
    ),
  );
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const client = new WebSocket(`ws://127.0.0.1:${(http.address() as AddressInfo).port}`);
  const texts: string[] = [];
  const pings: string[] = [];
  client.on("message", (data: Buffer) => texts.push(data.toString()));
  client.on("ping", (data: Buffer) => pings.push(data.toString()));
  client.on("error", () => undefined);
  onTestFinished(async () => {
    client.terminate();
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });
  // A socket cannot be paused before it is open.
  await new Promise((resolve) => client.once("open", resolve));
  return { ...(await served.promise), client, texts, pings };
}

it("keeps messages whole and in order, mixed with pings of `ws`", async () => {
  const { ws, writer, texts, pings } = await connect();
  const step = fc.oneof(
    fc.record({ by: fc.constant("bytes"), size: fc.constantFrom(0, 1, 125, 126, 4000, 65_535, 65_536) }),
    fc.record({ by: fc.constantFrom("ping", "turn"), size: fc.constant(0) }),
  );
  let count = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const said: string[] = [];
      const pinged: string[] = [];
      texts.length = pings.length = 0;
      for (const { by, size } of steps) {
        const text = `${count++} ${"é".repeat(size / 2)}`;
        if (by === "turn") await new Promise((resolve) => setImmediate(resolve));
        else if (by === "ping") {
          pinged.push(text);
          ws.ping(text);
        } else {
          said.push(text);
          writer.write(encodeTextMessage(text));
        }
      }
      // After the messages held until the end of the tick.
      await new Promise((resolve) => setImmediate(resolve));
      ws.ping("end");
      await vi.waitFor(() => expect(pings.at(-1)).toBe("end"), { interval: 1 });
      expect(texts).toEqual(said);
      expect(pings).toEqual([...pinged, "end"]);
    }),
    { numRuns: 40 },
  );
});

it("sends everything written in one tick with one write", async () => {
  const { socket, writer, texts } = await connect();
  const below = socket as unknown as { _write(...given: unknown[]): void; _writev(...given: unknown[]): void };
  const [one, many] = [vi.spyOn(below, "_write"), vi.spyOn(below, "_writev")];
  for (let n = 0; n < 10; n++) writer.writeText(`${n}`);
  expect(many).not.toHaveBeenCalled();
  await vi.waitFor(() => expect(texts).toHaveLength(10));
  expect(many).toHaveBeenCalledOnce();
  expect(one).not.toHaveBeenCalled();
  writer.writeText("alone");
  await vi.waitFor(() => expect(texts).toHaveLength(11));
  expect(one).toHaveBeenCalledOnce();
});

it("writes nothing after `ws` was closed, not even held messages", async () => {
  const { ws, socket, client, writer, texts } = await connect();
  const closed = new Promise((resolve) => client.once("close", resolve));
  const written = vi.spyOn(socket, "write");
  writer.writeText("held");
  ws.close(1000);
  writer.writeText("late");
  const before = written.mock.calls.length;
  await closed;
  expect(written.mock.calls.length).toBe(before);
  expect(texts).toEqual([]);
});

it("is full above the limit until all bytes are sent", async () => {
  const limit = 200_000;
  const { client, socket, writer, texts } = await connect(limit);
  client.pause();
  const message = encodeTextMessage("x".repeat(50_000));
  let written = 0;
  for (; written < 1000 && writer.write(message); written++)
    if (written % 4 === 3) await new Promise((resolve) => setImmediate(resolve));
  expect(writer.hasRoom).toBe(false);
  expect(socket.writableLength).toBeLessThanOrEqual(limit + message.length);
  const hasRoom = vi.fn();
  writer.whenRoom(hasRoom);
  expect(hasRoom).not.toHaveBeenCalled();
  client.resume();
  await vi.waitFor(() => expect(hasRoom).toHaveBeenCalledOnce());
  expect(writer.hasRoom).toBe(true);
  await vi.waitFor(() => expect(texts).toHaveLength(written + 1));
});

it("releases waiting callers and drops writes when the socket is closed", async () => {
  const { ws, client, writer, texts } = await connect(1000);
  client.pause();
  while (writer.write(encodeTextMessage("x".repeat(500_000))));
  const hasRoom = vi.fn();
  writer.whenRoom(hasRoom);
  ws.terminate();
  writer.release();
  expect(hasRoom).toHaveBeenCalledOnce();
  expect(writer.writeText("more")).toBe(true);
  client.resume();
  await vi.waitFor(() => expect(client.readyState).toBe(client.CLOSED));
  expect(texts).not.toContain("more");
});

it("drops writes after a close, and cuts a long reason to its first word", async () => {
  const { client, writer, texts } = await connect();
  const closed = new Promise((resolve) => client.once("close", (code, reason) => resolve([code, reason.toString()])));
  writer.writeText("before");
  writer.close({ code: 1013, reason: `backlog_full after=${"x".repeat(200)}` });
  writer.writeText("after");
  expect(await closed).toEqual([1013, "backlog_full"]);
  expect(texts).toEqual(["before"]);
});

it("has room again even if the socket was never full", async () => {
  const highWaterMark = 64 * 1024;
  const taken: (() => void)[] = [];
  const socket = new Duplex({
    writableHighWaterMark: highWaterMark,
    read: () => undefined,
    write: (_bytes, _encoding, callback) => void taken.push(callback),
  });
  const ws = { readyState: WebSocket.OPEN, OPEN: WebSocket.OPEN } as WebSocket;
  const writer = new SocketWriter(ws, socket, highWaterMark);
  const endTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  writer.write(Buffer.alloc(40_000));
  await endTurn();
  // Together with the pending bytes this is above the limit, but it enters the socket only after they are sent.
  writer.write(Buffer.alloc(30_000));
  taken.shift()?.();
  await endTurn();
  taken.shift()?.();
  await endTurn();
  const hasRoom = vi.fn();
  writer.whenRoom(hasRoom);
  expect(hasRoom).toHaveBeenCalledOnce();
});
