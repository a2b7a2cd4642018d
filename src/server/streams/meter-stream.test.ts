import { afterEach, describe, expect, it, vi } from "vitest";
import { makeGraphRun, makeRun, overrideLog, writeRecords } from "../../../test/log-sessions.ts";
import { openSession } from "../../engine/index.ts";
import { type Log, MemoryLog, type SessionInfo } from "../../log/index.ts";
import { createCursorFormat, ENCODER_VERSION, formatCursor } from "../../log/cursor.ts";
import { joinStreamMeters, MetricsCollector, type StreamMeter } from "../../observe/index.ts";
import { LoomError } from "../../protocol/index.ts";
import { ControlConnection, type ControlConnectionOptions } from "../sockets/control-connection.ts";
import { createEventsHandler, type EventsHandlerOptions } from "../events-handler.ts";
import { meterStream } from "./meter-stream.ts";

const open: ControlConnection[] = [];
afterEach(() => {
  for (const connection of open.splice(0)) connection.close();
});

async function createLog(): Promise<Log> {
  const log = new MemoryLog();
  await writeRecords(log, [...makeRun("run-1"), ...makeRun("run-2", { after: 4 })]);
  return log;
}

const streams = (metrics: MetricsCollector) => metrics.summary().streams;

async function createEndpoint(options: Partial<EventsHandlerOptions> = {}) {
  const metrics = new MetricsCollector();
  const log = await createLog();
  const handler = createEventsHandler({ log, heartbeatMs: 0, allowPublic: true, meter: metrics, ...options });
  const request = (query: string, init?: RequestInit): Promise<Response> =>
    handler(new Request(`http://loom.test/v1/sessions/s/events${query}`, init));
  return { request, metrics, log };
}

async function connectTo(options: Partial<ControlConnectionOptions> = {}) {
  const metrics = new MetricsCollector();
  const { log = await createLog() } = options;
  const sent: { readonly type: string; readonly frames?: readonly string[] }[] = [];
  const connection = new ControlConnection({
    meter: metrics,
    heartbeatMs: 0,
    send: (text) => void sent.push(JSON.parse(text) as { type: string }),
    ...options,
    log,
  });
  open.push(connection);
  const request = (frame: object): void =>
    connection.receive(JSON.stringify({ type: "subscribe", id: "1", session: "s", ...frame }));
  const until = (type: string) => vi.waitFor(() => expect(sent.map((frame) => frame.type)).toContain(type));
  return { request, until, sent, metrics, log, connection };
}

/** Bytes of the texts of all frames in an SSE body. */
function countData(text: string): number {
  return [...text.matchAll(/^data: (.*)$/gm)].reduce((sum, [, data = ""]) => sum + Buffer.byteLength(data), 0);
}

describe("over HTTP", () => {
  it.each([
    ["", { opened: 1, resumed: 0, gaps: 0 }],
    ["?after=0", { opened: 1, resumed: 0, gaps: 0 }],
    ["?limit=3", { opened: 1, resumed: 0, gaps: 0 }],
    ["?after=6", { opened: 1, resumed: 1, gaps: 0 }],
    ["?skip=2", { opened: 1, resumed: 1, gaps: 0 }],
    ["?after=2&limit=3", { opened: 1, resumed: 0, gaps: 1 }],
    ["?after=2&limit=3&follow=1", { opened: 1, resumed: 1, gaps: 0 }],
  ])("classifies the request %j", async (query, kinds) => {
    const { request, metrics } = await createEndpoint();
    const text = await (await request(query)).text();
    const frames = text.match(/^data: /gm)?.length;
    const bytes = countData(text);
    const closed = { end: 1, left: 0, slow: 0, error: 0 };
    expect(streams(metrics)).toMatchObject({ ...kinds, open: 0, closed, frames, bytes, replayedBytes: bytes });
  });

  it("counts a Last-Event-ID header as a resume", async () => {
    const { request, metrics, log } = await createEndpoint();
    const info = await log.getSession("s");
    const cursor = formatCursor(info?.incarnation ?? "", 5);
    await (await request("?after=1", { headers: { "last-event-id": cursor } })).text();
    expect(streams(metrics)).toMatchObject({ resumed: 1, frames: 3 });
  });

  it("separates replayed bytes from live ones", async () => {
    const { request, metrics, log } = await createEndpoint();
    const response = await request("?after=6&follow=1");
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const old = countData(new TextDecoder().decode((await reader.read()).value));
    expect(streams(metrics)).toMatchObject({ open: 1, frames: 2, bytes: old, replayedBytes: old });
    await using session = await openSession(log, "s");
    await session.record({ type: "custom", value: "新" });
    const fresh = countData(new TextDecoder().decode((await reader.read()).value));
    expect(streams(metrics)).toMatchObject({ frames: 3, bytes: old + fresh, replayedBytes: old });
    await reader.cancel();
    expect(streams(metrics)).toMatchObject({ open: 0, closed: { left: 1, end: 0 } });
  });

  it("counts no replayed bytes for a stream that starts at the end of the log", async () => {
    const { request, metrics, log } = await createEndpoint();
    const response = await request("?after=8&follow=1&limit=1");
    await using session = await openSession(log, "s");
    await session.record({ type: "custom", value: 1 });
    await response.text();
    expect(streams(metrics)).toMatchObject({ frames: 1, replayedBytes: 0, closed: { end: 1 } });
  });

  it("closes each stream once", async () => {
    const { request, metrics } = await createEndpoint();
    const gone = new AbortController();
    await request("?follow=1", { signal: gone.signal });
    gone.abort();
    await vi.waitFor(() => expect(streams(metrics)).toMatchObject({ open: 0, closed: { left: 1 } }));
    const early = new AbortController();
    const pending = request("?follow=1", { signal: early.signal });
    early.abort();
    await pending;
    await vi.waitFor(() => expect(streams(metrics).open).toBe(0));
    const { end, slow, error } = streams(metrics).closed;
    expect([end, slow, error]).toEqual([0, 0, 0]);
  });

  it("counts refused and failed streams", async () => {
    const { request, metrics } = await createEndpoint();
    await request("?after=99");
    await request("?dialect=klingon");
    await request("?after=x");
    expect(streams(metrics)).toMatchObject({ opened: 0, refused: 3 });
    const log = new MemoryLog();
    await writeRecords(log, makeGraphRun("run-1", { steps: 4, padding: "x".repeat(400) }));
    const long = await createEndpoint({ log, maxFrameBytes: 1100 });
    await (await long.request("?modes=values")).text();
    expect(streams(long.metrics)).toMatchObject({ opened: 1, open: 0, closed: { error: 1, end: 0 } });
    let reads = 0;
    const broken = overrideLog(await createLog(), (inner) => ({
      limits: { ...inner.limits, maxPageRecords: 2 },
      read: async (sessionId, options) => {
        if (++reads > 1) throw new LoomError("store_failed", "gone");
        return inner.read(sessionId, { ...options, limit: 2 });
      },
      peek: () => undefined,
    }));
    const endpoint = await createEndpoint({ log: broken });
    await expect((await endpoint.request("")).text()).rejects.toThrow("gone");
    expect(streams(endpoint.metrics)).toMatchObject({ opened: 1, open: 0, closed: { error: 1 } });
  });
});

describe("over control connections", () => {
  it("counts frames and bytes, and the reason for the end", async () => {
    const { request, until, sent, metrics } = await connectTo();
    request({ after: "6", follow: false });
    await until("end");
    const texts = sent.flatMap(({ frames = [] }) => frames);
    const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    const expected = { opened: 1, resumed: 1, open: 0, frames: 2, bytes, replayedBytes: bytes };
    expect(streams(metrics)).toMatchObject({ ...expected, closed: { end: 1 } });
    request({ after: "2", limit: 2, follow: false });
    await vi.waitFor(() => expect(streams(metrics)).toMatchObject({ gaps: 1, closed: { end: 2 } }));
    request({ after: "99" });
    await until("refusal");
    expect(streams(metrics)).toMatchObject({ opened: 2, refused: 1 });
  });

  it("distinguishes readers that leave from slow ones", async () => {
    const { request, until, metrics, connection } = await connectTo();
    request({});
    await until("frames");
    request({});
    expect(streams(metrics).refused).toBe(1);
    connection.receive(JSON.stringify({ type: "unsubscribe", id: "2", session: "s" }));
    await vi.waitFor(() => expect(streams(metrics)).toMatchObject({ open: 0, closed: { left: 1 } }));
    request({});
    await vi.waitFor(() => expect(streams(metrics).open).toBe(1));
    connection.close();
    await vi.waitFor(() => expect(streams(metrics)).toMatchObject({ closed: { left: 2 }, slowReadersClosed: 0 }));
  });

  it("counts a slow reader that is closed after too many replies", async () => {
    const room = { hasRoom: () => false, whenRoom: () => undefined };
    const { request, until, metrics, connection } = await connectTo(room);
    request({});
    await until("subscribed");
    for (let n = 0; n < 1001; n++) connection.receive("{}");
    await vi.waitFor(() => expect(streams(metrics)).toMatchObject({ open: 0, closed: { slow: 1, left: 0 } }));
    expect(streams(metrics)).toMatchObject({ slowReadersClosed: 1, frames: 0 });
  });

  it("counts a broken socket as a reader that left", async () => {
    const onClose = vi.fn();
    // Breaks once the stream is open.
    const send = (text: string): void => {
      if (text.includes('"subscribed"')) throw new Error("socket closed");
    };
    const { request, metrics } = await connectTo({ send, onClose });
    request({});
    await vi.waitFor(() => expect(onClose).toHaveBeenCalledOnce());
    await vi.waitFor(() =>
      expect(streams(metrics)).toMatchObject({ opened: 1, open: 0, closed: { left: 1, slow: 0 } }),
    );
    expect(streams(metrics).slowReadersClosed).toBe(0);
  });
});

describe("a meter", () => {
  it("splits replayed from live bytes within a batch", async () => {
    const log = await createLog();
    const session = (await log.getSession("s")) as SessionInfo;
    const metrics = new MetricsCollector();
    const metered = meterStream(
      { meter: metrics },
      { session },
      {
        transport: "http",
        dialect: "engine",
        follow: true,
        limit: Number.POSITIVE_INFINITY,
      },
    );
    const frame = (text: string, eventId: number, index?: number) => ({
      text,
      cursor: createCursorFormat(session.incarnation, ENCODER_VERSION)(eventId, index),
    });
    metered?.send([frame("a", 7), frame("é", 8, 0)]);
    metered?.send([frame("bb", 8, 1), frame("ccc", 8), frame("dddd", 9)]);
    metered?.send([frame("eeeee", 10)]);
    expect(streams(metrics)).toMatchObject({ frames: 6, bytes: 1 + 2 + 2 + 3 + 4 + 5, replayedBytes: 1 + 2 + 2 + 3 });
    metered?.close("end");
    metered?.close("left");
    expect(streams(metrics)).toMatchObject({ open: 0, closed: { end: 1, left: 0 } });
  });

  it("that throws is reported and does not affect the stream", async () => {
    const fail = (): never => {
      throw new Error("meter");
    };
    const onError = vi.fn();
    const meters: StreamMeter[] = [
      { openStream: fail, refuseStream: fail, closeSlowReader: fail },
      { openStream: () => ({ send: fail, close: fail }), refuseStream: fail, closeSlowReader: fail },
    ];
    for (const meter of meters) {
      const { request } = await createEndpoint({ meter, onError });
      expect((await (await request("")).text()).match(/^data: /gm)).toHaveLength(8);
      expect((await request("?after=99")).status).toBe(416);
    }
    expect(onError.mock.calls.every(([error]) => (error as Error).message === "meter")).toBe(true);
    expect(onError).toHaveBeenCalledTimes(2 + 3);
  });

  it("that rejects does not affect the stream, even when onError throws", async () => {
    const reject = (() => Promise.reject(new Error("meter"))) as () => never;
    const late = { send: reject, close: reject };
    const meters: StreamMeter[] = [
      { openStream: () => late, refuseStream: reject, closeSlowReader: reject },
      { openStream: reject, refuseStream: reject, closeSlowReader: reject },
    ];
    for (const meter of [...meters, joinStreamMeters(...meters)]) {
      const onError = vi.fn(() => {
        throw new Error("onError");
      });
      const { request } = await createEndpoint({ meter, onError });
      expect((await (await request("")).text()).match(/^data: /gm)).toHaveLength(8);
      expect((await request("?after=99")).status).toBe(416);
      await vi.waitFor(() => expect(onError.mock.calls.length).toBeGreaterThanOrEqual(3));
    }
  });

  it("that throws does not affect the meters it is joined with", async () => {
    const fail = (): never => {
      throw new Error("meter");
    };
    const [before, after] = [new MetricsCollector(), new MetricsCollector()];
    const worst = { openStream: fail, refuseStream: fail, closeSlowReader: fail };
    const bad = { ...worst, openStream: () => ({ send: fail, close: fail }) };
    const meter = joinStreamMeters(before, worst, bad, after);
    const onError = vi.fn();
    const { request } = await createEndpoint({ meter, onError });
    await (await request("?after=6")).text();
    await request("?after=99");
    expect(() => meter.closeSlowReader()).toThrow("meter");
    const expected = { opened: 1, open: 0, frames: 2, refused: 1, slowReadersClosed: 1, closed: { end: 1 } };
    expect(streams(before)).toMatchObject(expected);
    expect(streams(after)).toEqual(streams(before));
    expect(onError).toHaveBeenCalledTimes(3);
  });

  it("can be joined from several meters", async () => {
    const [one, two] = [new MetricsCollector(), new MetricsCollector()];
    const { request } = await createEndpoint({ meter: joinStreamMeters(one, two) });
    await (await request("?after=6")).text();
    await request("?after=99");
    joinStreamMeters(one, two).closeSlowReader();
    expect(streams(one)).toMatchObject({ resumed: 1, refused: 1, slowReadersClosed: 1, frames: 2 });
    expect(streams(two)).toEqual(streams(one));
  });
});
