import { once } from "node:events";
import { createServer, type IncomingMessage, request as httpRequest, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { afterEach, describe, expect, it, vi } from "vitest";
import { makeGraphRun, makeRun, writeRecords } from "../../../test/log-sessions.ts";
import { openSession } from "../../engine/index.ts";
import { createNdjsonDecoder, createSseDecoder } from "../../framing/index.ts";
import { type Log, MemoryLog } from "../../log/index.ts";
import { SERVER_LIMITS, type ServerLimits } from "../guard/server-limits.ts";
import { createStreams } from "./create-streams.ts";
import type { ReadRequest, Streams } from "./stream-reader.ts";
import { streamResponse, type StreamResponseOptions } from "./stream-response.ts";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

interface TestServer {
  readonly log: Log;
  readonly streams: Streams;
  readonly port: number;
  /** How each response was sent: `socket` or `body`. */
  readonly sentAs: string[];
}

async function openPublicServer(
  options: Partial<ReadRequest> & Partial<StreamResponseOptions>,
  {
    limits = {},
    log = new MemoryLog(),
    patch = () => undefined,
  }: {
    readonly limits?: Partial<ServerLimits>;
    readonly log?: Log;
    readonly patch?: (outgoing: ServerResponse) => void;
  } = {},
): Promise<TestServer> {
  if ((await log.getSession("s")) === undefined) await writeRecords(log, makeRun("run-1"));
  const streams = createStreams({ log, limits: { ...SERVER_LIMITS, ...limits } });
  const sentAs: string[] = [];
  const { framing = "sse", heartbeatMs = 0, maxOutboundBytes = SERVER_LIMITS.maxOutboundBytes, ...position } = options;
  const listener = getRequestListener(
    async (request, env) => {
      const { outgoing } = env as { outgoing: ServerResponse };
      patch(outgoing);
      const given = { follow: false, transport: "http" as const, ...position, signal: request.signal };
      const reader = await streams.open("s", given);
      if (reader === undefined) return new Response(null, { status: 499 });
      const response = streamResponse(reader, { framing, heartbeatMs, maxOutboundBytes, outgoing });
      sentAs.push(response.headers.has("x-hono-already-sent") ? "socket" : "body");
      return response;
    },
    { overrideGlobalObjects: false },
  );
  const server = createServer((incoming, outgoing) => void listener(incoming, outgoing));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closers.push(async () => {
    await streams.close();
    server.closeAllConnections();
    server.close();
  });
  return { log, streams, port: (server.address() as AddressInfo).port, sentAs };
}

/** Reads the body and whether it is complete. */
async function get(port: number) {
  const [response] = (await once(httpRequest({ port, agent: false }).end(), "response")) as [IncomingMessage];
  const pieces: Buffer[] = [];
  response.on("data", (piece: Buffer) => pieces.push(piece));
  response.on("error", () => undefined);
  const closed = new Promise((resolve) => response.on("close", resolve));
  return {
    headers: response.headers,
    text: () => Buffer.concat(pieces).toString(),
    whole: async () => {
      await closed;
      return [Buffer.concat(pieces).toString(), response.complete] as const;
    },
    disconnect: () => response.destroy(),
  };
}

describe("a stream on a Node server", () => {
  it.each(["sse", "ndjson"] as const)("is written directly to the connection: %s", async (framing) => {
    const { port, sentAs } = await openPublicServer({ framing });
    const response = await get(port);
    const [text, isComplete] = await response.whole();
    const decoder = framing === "sse" ? createSseDecoder() : createNdjsonDecoder();
    const outcomes = [...decoder.push(Buffer.from(text)), ...decoder.end()];
    expect(outcomes.map((outcome) => outcome.ok)).toEqual([true, true, true, true]);
    expect([isComplete, sentAs]).toEqual([true, ["socket"]]);
    expect(response.headers).toMatchObject({
      "content-type": framing === "sse" ? "text/event-stream" : "application/x-ndjson",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
      "transfer-encoding": "chunked",
      "loom-cursor": expect.stringMatching(/\.0$/) as string,
    });
  });

  it("uses the body for patched responses and for HTTP/1.0", async () => {
    const seen: number[] = [];
    const patch = (outgoing: ServerResponse): void => {
      const write = outgoing.write.bind(outgoing);
      outgoing.write = ((piece: Uint8Array, ...rest: []) => {
        seen.push(piece.length);
        return write(piece, ...rest);
      }) as typeof outgoing.write;
    };
    const patched = await openPublicServer({}, { patch });
    const [text, isComplete] = await (await get(patched.port)).whole();
    expect([text.match(/^data: /gm)?.length, isComplete, patched.sentAs]).toEqual([4, true, ["body"]]);
    expect(seen.reduce((sum, length) => sum + length, 0)).toBe(Buffer.byteLength(text));
    const { port, sentAs } = await openPublicServer({});
    const socket = connect(port, "127.0.0.1");
    socket.write("GET / HTTP/1.0\r\nhost: x\r\n\r\n");
    let old = "";
    for await (const piece of socket) old += String(piece);
    expect([old.match(/^data: /gm)?.length, /chunked/i.test(old), sentAs]).toEqual([4, false, ["body"]]);
  });

  it("serves several requests on one connection", async () => {
    const { port } = await openPublicServer({});
    const socket = connect(port, "127.0.0.1");
    let text = "";
    socket.on("data", (piece) => (text += String(piece)));
    for (let n = 1; n <= 3; n++) {
      socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
      await vi.waitFor(() => expect(text.match(/\r\n0\r\n\r\n/g)).toHaveLength(n));
    }
    socket.destroy();
    expect(text.match(/data: /g)).toHaveLength(12);
  });

  it("sends heartbeats while idle and closes when the client disconnects", async () => {
    const { port, streams } = await openPublicServer({ follow: true, after: "4", heartbeatMs: 20 });
    const response = await get(port);
    await vi.waitFor(() => expect(response.text()).toContain(": alive\n\n: alive\n\n"));
    expect(streams.size).toBe(1);
    response.disconnect();
    await vi.waitFor(() => expect(streams.size).toBe(0));
  });

  it.each(["sse", "ndjson"] as const)("ends within a frame when the server stops: %s", async (framing) => {
    const { port, streams } = await openPublicServer({ follow: true, framing });
    const response = await get(port);
    await vi.waitFor(() => expect(response.text()).toContain("reply"));
    await streams.close();
    const [text, isComplete] = await response.whole();
    expect(isComplete).toBe(true);
    const decoder = framing === "sse" ? createSseDecoder() : createNdjsonDecoder();
    expect(decoder.push(Buffer.from(text))).toHaveLength(4);
    expect(text.endsWith(framing === "sse" ? "\n\nretry: 1000\n\ndata: {" : "\n{")).toBe(true);
  });

  it("ends within a frame before one that is too long and breaks when the session is deleted", async () => {
    const log = new MemoryLog();
    await writeRecords(log, makeGraphRun("run-1", { steps: 4, padding: "x".repeat(400) }));
    const limits = { maxFrameBytes: 1100 };
    const long = await openPublicServer({ modes: ["values"] }, { log, limits });
    const [text, isComplete] = await (await get(long.port)).whole();
    expect([text.endsWith("\n\ndata: {"), isComplete]).toEqual([true, true]);
    const server = await openPublicServer({ follow: true });
    const response = await get(server.port);
    await vi.waitFor(() => expect(response.text()).toContain("reply"));
    await server.log.deleteSession("s");
    expect((await response.whole())[1]).toBe(false);
  });

  it("pauses for a slow client and finally disconnects it", async () => {
    const log = new MemoryLog();
    await writeRecords(log, makeRun("run-1"));
    const limits = { maxLagBytes: 100_000 };
    const { port, streams } = await openPublicServer(
      { follow: true, after: "4", maxOutboundBytes: 100_000 },
      { log, limits },
    );
    const socket = connect(port, "127.0.0.1");
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    await vi.waitFor(() => expect(streams.size).toBe(1));
    socket.pause();
    await using session = await openSession(log, "s");
    const value = "x".repeat(200_000);
    for (let n = 0; n < 200 && streams.size > 0; n++) {
      await session.record({ type: "custom", value });
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    await vi.waitFor(() => expect(streams.size).toBe(0));
    socket.destroy();
  });
});
