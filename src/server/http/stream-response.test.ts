import { once } from "node:events";
import { createServer, type IncomingMessage, request as ask, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { afterEach, describe, expect, it, vi } from "vitest";
import { makeGraphRun, makeRun, writeRecords } from "../../../test/log-sessions.ts";
import { openSession } from "../../engine/index.ts";
import { createNdjsonDecoder, createSseDecoder } from "../../framing/index.ts";
import { type Log, MemoryLog } from "../../log/index.ts";
import { SERVER_LIMITS, type ServerLimits } from "../server-limits.ts";
import { createStreams } from "../streams/create-streams.ts";
import type { ReadRequest, Streams } from "../streams/reader.ts";
import { streamResponse, type StreamResponseOptions } from "./stream-response.ts";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

interface Door {
  readonly log: Log;
  readonly streams: Streams;
  readonly port: number;
  /** Which way each answer went. */
  readonly ways: string[];
}

async function openPublicServer(
  asked: Partial<ReadRequest> & Partial<StreamResponseOptions>,
  {
    limits = {},
    log = new MemoryLog(),
    patch = () => undefined,
  }: {
    readonly limits?: Partial<ServerLimits>;
    readonly log?: Log;
    readonly patch?: (outgoing: ServerResponse) => void;
  } = {},
): Promise<Door> {
  if ((await log.getSession("s")) === undefined) await writeRecords(log, makeRun("run-1"));
  const streams = createStreams({ log, limits: { ...SERVER_LIMITS, ...limits } });
  const ways: string[] = [];
  const { framing = "sse", heartbeatMs = 0, maxOutboundBytes, ...place } = asked;
  const listener = getRequestListener(
    async (request, env) => {
      const { incoming, outgoing } = env as { incoming: IncomingMessage; outgoing: ServerResponse };
      patch(outgoing);
      const given = { follow: false, transport: "http" as const, ...place, signal: request.signal };
      const reader = await streams.open("s", given);
      if (reader === undefined) return new Response(null, { status: 499 });
      const answer = streamResponse(reader, { framing, heartbeatMs, maxOutboundBytes, node: { incoming, outgoing } });
      ways.push(answer.headers.has("x-hono-already-sent") ? "socket" : "body");
      return answer;
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
  return { log, streams, port: (server.address() as AddressInfo).port, ways };
}

/** The body, and whether it came to its end. */
async function get(port: number) {
  const [response] = (await once(ask({ port, agent: false }).end(), "response")) as [IncomingMessage];
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
    leave: () => response.destroy(),
  };
}

describe("a stream over a server of Node", () => {
  it.each(["sse", "ndjson"] as const)("is written to the connection, in chunks: %s", async (framing) => {
    const { port, ways } = await openPublicServer({ framing });
    const answer = await get(port);
    const [text, isComplete] = await answer.whole();
    const decoder = framing === "sse" ? createSseDecoder() : createNdjsonDecoder();
    const outcomes = [...decoder.push(Buffer.from(text)), ...decoder.end()];
    expect(outcomes.map((outcome) => outcome.ok)).toEqual([true, true, true, true]);
    expect([isComplete, ways]).toEqual([true, ["socket"]]);
    expect(answer.headers).toMatchObject({
      "content-type": framing === "sse" ? "text/event-stream" : "application/x-ndjson",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
      "transfer-encoding": "chunked",
      "loom-cursor": expect.stringMatching(/\.0$/) as string,
    });
  });

  it("goes through whoever has put itself between, and to those who know no chunks", async () => {
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
    expect([text.match(/^data: /gm)?.length, isComplete, patched.ways]).toEqual([4, true, ["body"]]);
    expect(seen.reduce((sum, length) => sum + length, 0)).toBe(Buffer.byteLength(text));
    const { port, ways } = await openPublicServer({});
    const socket = connect(port, "127.0.0.1");
    socket.write("GET / HTTP/1.0\r\nhost: x\r\n\r\n");
    let old = "";
    for await (const piece of socket) old += String(piece);
    expect([old.match(/^data: /gm)?.length, /chunked/i.test(old), ways]).toEqual([4, false, ["body"]]);
  });

  it("serves one request after the other on one connection", async () => {
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

  it("gives a sign of life while it waits, and lets go when the reader is gone", async () => {
    const { port, streams } = await openPublicServer({ follow: true, after: "4", heartbeatMs: 20 });
    const answer = await get(port);
    await vi.waitFor(() => expect(answer.text()).toContain(": alive\n\n: alive\n\n"));
    expect(streams.size).toBe(1);
    answer.leave();
    await vi.waitFor(() => expect(streams.size).toBe(0));
  });

  it.each(["sse", "ndjson"] as const)("ends within a frame when the server stops: %s", async (framing) => {
    const { port, streams } = await openPublicServer({ follow: true, framing });
    const answer = await get(port);
    await vi.waitFor(() => expect(answer.text()).toContain("reply"));
    await streams.close();
    const [text, isComplete] = await answer.whole();
    expect(isComplete).toBe(true);
    const decoder = framing === "sse" ? createSseDecoder() : createNdjsonDecoder();
    expect(decoder.push(Buffer.from(text))).toHaveLength(4);
    expect(text.endsWith(framing === "sse" ? "\n\nretry: 1000\n\ndata: {" : "\n{")).toBe(true);
  });

  it("ends within a frame where the next is too long, and breaks where the session is gone", async () => {
    const log = new MemoryLog();
    await writeRecords(log, makeGraphRun("run-1", { steps: 4, padding: "x".repeat(400) }));
    const limits = { maxFrameBytes: 1100 };
    const long = await openPublicServer({ modes: ["values"] }, { log, limits });
    const [text, isComplete] = await (await get(long.port)).whole();
    expect([text.endsWith("\n\ndata: {"), isComplete]).toEqual([true, true]);
    const door = await openPublicServer({ follow: true });
    const answer = await get(door.port);
    await vi.waitFor(() => expect(answer.text()).toContain("reply"));
    await door.log.deleteSession("s");
    expect((await answer.whole())[1]).toBe(false);
  });

  it("waits for a reader that does not read, and breaks in the end", async () => {
    const log = new MemoryLog();
    await writeRecords(log, makeRun("run-1"));
    const limits = { maxLagBytes: 100_000 };
    const { port, streams } = await openPublicServer({ follow: true, after: "4", maxOutboundBytes: 100_000 }, { log, limits });
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
