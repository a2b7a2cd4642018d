import { afterEach, describe, expect, it, vi } from "vitest";
import { makeChunks, makeGraphRun, makeRun, overrideLog, writeRecords } from "../../../test/log-sessions.ts";
import { openSession } from "../../engine/index.ts";
import { type Log, MemoryLog } from "../../log/index.ts";
import { formatCursor } from "../../log/cursor.ts";
import { createEntry } from "../../log/entry.ts";
import { MetricsCollector } from "../../observe/index.ts";
import type { StampedRecord } from "../../protocol/index.ts";
import { SERVER_LIMITS, type StreamLimits } from "../guard/server-limits.ts";
import { createStreams } from "./create-streams.ts";
import type { FrameBatch } from "./frame-batch.ts";
import type { ReaderEnd, ReadRequest, Streams } from "./stream-reader.ts";

const opened: Streams[] = [];
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(opened.splice(0).map((streams) => streams.close()));
});

function create(log: Log, limits: Partial<StreamLimits> = {}) {
  const metrics = new MetricsCollector();
  const onError = vi.fn();
  const streams = createStreams({ log, limits: { ...SERVER_LIMITS, ...limits }, meter: metrics, onError });
  opened.push(streams);
  return { streams, onError, streamMetrics: () => metrics.summary().streams };
}

async function createLog(count = 4): Promise<Log> {
  const log = new MemoryLog();
  await writeRecords(log, count === 4 ? makeRun("run-1") : makeChunks(count));
  return log;
}

async function read(streams: Streams, request: Partial<ReadRequest> = {}, hasRoom: () => boolean = () => true) {
  const reader = await streams.open("s", { follow: true, transport: "http", ...request });
  if (reader === undefined) throw new Error("the request was aborted");
  const batches: FrameBatch[] = [];
  const ends: ReaderEnd[] = [];
  reader.start({
    write(batch) {
      expect(ends).toEqual([]);
      batches.push(batch);
      return hasRoom();
    },
    end: (end) => void ends.push(end),
  });
  const ids = (): number[] => batches.flatMap(({ frames }) => frames.map(({ cursor }) => Number(cursor.split(".")[2])));
  return { reader, batches, ends, ids };
}

/** Appends `count` events of about `bytes` bytes. */
async function appendEvents(log: Log, count: number, bytes = 10): Promise<void> {
  await using session = await openSession(log, "s");
  for (let n = 0; n < count; n++) await session.record({ type: "custom", value: "x".repeat(bytes) });
}

const until = (check: () => void): Promise<void> => vi.waitFor(check, { interval: 5 });

describe("readers of one stream", () => {
  it("share the same encoded bytes", async () => {
    const log = await createLog();
    const { streams } = create(log);
    const readers = await Promise.all([read(streams), read(streams, { after: "4" }), read(streams, { after: "2" })]);
    await until(() => expect(readers.map(({ ids }) => ids().length)).toEqual([4, 0, 2]));
    await appendEvents(log, 1);
    await until(() => expect(readers.map(({ ids }) => ids().at(-1))).toEqual([5, 5, 5]));
    for (let n = 0; n < 10; n++) await new Promise((resolve) => setImmediate(resolve));
    await appendEvents(log, 2);
    await until(() => expect(readers.map(({ ids }) => ids().at(-1))).toEqual([7, 7, 7]));
    const [last, ...others] = readers.map(({ batches }) => batches.at(-1) as FrameBatch);
    for (const other of others) {
      expect(other).toBe(last);
      expect(other.bytes("sse-http")).toBe(last?.bytes("sse-http"));
    }
  });

  it("do not read from the store when they reconnect soon", async () => {
    let reads = 0;
    const count = <T>(value: T): T => {
      reads++;
      return value;
    };
    const log = overrideLog(await createLog(), (real) => ({
      read: (...given) => count(real.read(...given)),
      getSession: (id) => count(real.getSession(id)),
      findFoldStart: (...given) => count(real.findFoldStart(...given)),
    }));
    const { streams, streamMetrics } = create(log);
    const first = await read(streams);
    await until(() => expect(first.batches.length).toBeGreaterThan(0));
    await appendEvents(log, 5);
    await until(() => expect(first.ids().at(-1)).toBe(9));
    first.reader.close();
    const cursors = first.batches.flatMap(({ frames }) => frames.map(({ cursor }) => cursor));
    const [start, before] = [cursors.at(-6) as string, reads];
    const again = await read(streams, { after: start });
    const counted = await read(streams, { after: start, skip: 3 });
    const atEnd = await read(streams, { after: cursors.at(-1) });
    expect(again.batches.flatMap(({ frames }) => frames.map(({ cursor }) => cursor))).toEqual(cursors.slice(-5));
    expect(counted.batches.flatMap(({ frames }) => frames.map(({ cursor }) => cursor))).toEqual(cursors.slice(-2));
    expect([atEnd.batches, reads]).toEqual([[], before]);
    expect(streamMetrics()).toMatchObject({ opened: 4, resumed: 3 });
    await expect(read(streams, { after: start, skip: 9 })).rejects.toMatchObject({
      code: "cursor_ahead",
    });
  });

  it("with a lease for a recreated session receive nothing of the deleted one", async () => {
    const real = await createLog();
    let isRecreated = false;
    // Another process has recreated the session; the channel of this process does not know yet.
    const log = overrideLog(real, () => ({
      getSession: async (id) => {
        const info = await real.getSession(id);
        return info === undefined || !isRecreated ? info : { ...info, incarnation: "another" };
      },
    }));
    const { streams } = create(log);
    const first = await read(streams);
    await until(() => expect(first.batches.length).toBeGreaterThan(0));
    await appendEvents(log, 2);
    await until(() => expect(first.ids().at(-1)).toBe(6));
    const after = first.batches.at(-1)?.frames[0]?.cursor.replace(/\d+$/, "5");
    const lease = () => () => undefined;
    expect((await read(streams, { after, lease })).ids()).toEqual([6]);
    isRecreated = true;
    await expect(read(streams, { after, lease })).rejects.toMatchObject({ code: "cursor_stale" });
  });

  it("end with cursor_stale when the session is recreated, and new readers read the new session", async () => {
    const log = await createLog();
    const { streams, onError } = create(log);
    const old = await read(streams);
    await until(() => expect(old.ids()).toEqual([1, 2, 3, 4]));
    await log.deleteSession("s");
    await writeRecords(log, makeRun("run-2"));
    const fresh = await read(streams);
    await until(() => expect(fresh.ids()).toEqual([1, 2, 3, 4]));
    await until(() => expect(old.ends).toMatchObject([{ reason: "error", error: { code: "cursor_stale" } }]));
    await appendEvents(log, 1);
    await until(() => expect(fresh.ids()).toEqual([1, 2, 3, 4, 5]));
    expect(onError).toHaveBeenCalledOnce();
    await expect(read(streams, { after: old.ends[0]?.cursor ?? "" })).rejects.toMatchObject({ code: "cursor_stale" });
  });

  it("end together at a frame that is too long, after all frames before it", async () => {
    const log = new MemoryLog();
    const run = makeGraphRun("run-1", { steps: 4, padding: "x".repeat(400) });
    await writeRecords(log, run.slice(0, 8));
    const { streams } = create(log, { maxFrameBytes: 1100 });
    const readers = await Promise.all([1, 2].map(() => read(streams, { modes: ["values"] })));
    await until(() => expect(readers.every(({ ids }) => ids().length > 0)).toBe(true));
    await writeRecords(log, run.slice(8));
    await until(() => {
      for (const { ends } of readers) expect(ends).toMatchObject([{ error: { code: "frame_too_long" } }]);
    });
    const [one, two] = readers;
    expect(one?.ids()).toEqual(two?.ids());
    const cursor = one?.ends[0]?.cursor;
    await expect(read(streams, { modes: ["values"], after: cursor })).rejects.toMatchObject({ code: "frame_too_long" });
  });

  it("are refused above the limit and during shutdown", async () => {
    const { streams, streamMetrics } = create(await createLog(), { maxReaders: 2 });
    const readers = [await read(streams), await read(streams)];
    await expect(read(streams)).rejects.toMatchObject({ code: "too_many_open" });
    readers[0]?.reader.close();
    readers.push(await read(streams));
    expect(streams.size).toBe(2);
    await streams.close();
    expect(readers.map(({ ends }) => ends[0]?.reason)).toEqual(["left", "closing", "closing"]);
    await expect(read(streams)).rejects.toMatchObject({ code: "shutting_down" });
    expect([streamMetrics().open, streamMetrics().refused, streams.size]).toEqual([0, 2, 0]);
  });

  it("catch up a few at a time, and a stalled reader does not block the others", async () => {
    const log = await createLog(3000);
    const { streams } = create(log, { maxCatchUps: 1 });
    const stalled = await read(streams, {}, () => false);
    await until(() => expect(stalled.batches).toHaveLength(1));
    const others = await Promise.all([1, 2, 3].map(() => read(streams)));
    await until(() => expect(others.map(({ ids }) => ids().length)).toEqual([3000, 3000, 3000]));
    while (stalled.ids().length < 3000) {
      const had = stalled.ids().length;
      stalled.reader.resume();
      await until(() => expect(stalled.ids().length).toBeGreaterThan(had));
    }
    expect(stalled.ids()).toEqual(others[0]?.ids());
  });

  it("release all resources when they end", async () => {
    let watching = 0;
    const log = overrideLog(await createLog(), (real) => ({
      watch(...args) {
        watching++;
        const unwatch = real.watch(...args);
        return () => {
          watching--;
          unwatch();
        };
      },
    }));
    const { streams, streamMetrics } = create(log, { lingerMs: 20 });
    const gone = new AbortController();
    const readers = [await read(streams), await read(streams, { signal: gone.signal })];
    await until(() => expect(watching).toBe(1));
    readers[0]?.reader.close();
    gone.abort();
    expect(readers.map(({ ends }) => ends[0]?.reason)).toEqual(["left", "left"]);
    await until(() => expect(watching).toBe(0));
    expect(await streams.open("s", { follow: true, transport: "http", signal: gone.signal })).toBeUndefined();
    expect(streamMetrics()).toMatchObject({ opened: 2, open: 0, closed: { left: 2 } });
  });
});

describe("a reader served from memory", () => {
  it("continues from the log at its current position, not at its start", async () => {
    const log = new MemoryLog();
    await log.createSession("s");
    const { streams } = create(log, { maxSharedBytes: 3000 });
    const caughtUp = await read(streams);
    await appendEvents(log, 2);
    await until(() => expect(caughtUp.ids()).toEqual([1, 2]));
    const other = await read(streams, { after: "0" }, () => false);
    await until(() => expect(other.ids().length).toBeGreaterThan(0));
    await appendEvents(log, 30, 300);
    await until(() => expect(caughtUp.ids()).toHaveLength(32));
    while (other.ids().length < 32) {
      const had = other.ids().length;
      other.reader.resume();
      await until(() => expect(other.ids().length).toBeGreaterThan(had));
    }
    expect(other.ids()).toEqual(caughtUp.ids());
  });
});

describe("a sink", () => {
  it("may call resume before write reports that it is full", async () => {
    const log = await createLog();
    const { streams } = create(log);
    const reader = await streams.open("s", { follow: true, transport: "http" });
    let frames = 0;
    reader?.start({
      write(batch) {
        frames += batch.frames.length;
        reader.resume();
        return false;
      },
      end: () => undefined,
    });
    await until(() => expect(frames).toBe(4));
    await appendEvents(log, 2);
    await until(() => expect(frames).toBe(6));
  });

  it("receives nothing while mayWrite returns false, and loses nothing", async () => {
    const log = await createLog();
    const { streams } = create(log);
    const reader = await streams.open("s", { follow: true, transport: "http" });
    let room = 0;
    const ids: string[] = [];
    reader?.start({
      mayWrite: () => room > 0,
      write({ frames }) {
        room--;
        ids.push(...frames.map(({ cursor }) => cursor.split(".")[2] as string));
        return room > 0;
      },
      end: () => undefined,
    });
    const give = async (count: number, upTo: number): Promise<void> => {
      room = count;
      reader?.resume();
      await until(() => expect(ids.at(-1)).toBe(String(upTo)));
    };
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(ids).toEqual([]);
    await give(1, 4);
    await appendEvents(log, 2);
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(ids).toHaveLength(4);
    await give(5, 6);
    room = 0;
    await appendEvents(log, 1);
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(ids).toHaveLength(6);
    await give(1, 7);
    expect(ids).toEqual(["1", "2", "3", "4", "5", "6", "7"]);
  });

  it("that throws ends only its own reader", async () => {
    const log = await createLog();
    const { streams, onError } = create(log);
    const good = await read(streams, { after: "4" });
    const bad = await streams.open("s", { after: "4", follow: true, transport: "http" });
    const ends: ReaderEnd[] = [];
    bad?.start({
      write: () => {
        throw new Error("broken");
      },
      end: (end) => void ends.push(end),
    });
    await appendEvents(log, 1);
    await appendEvents(log, 1);
    await until(() => expect(good.ids()).toEqual([5, 6]));
    expect(ends).toMatchObject([{ reason: "error", error: { message: "broken" } }]);
    expect(good.ends).toEqual([]);
    expect(onError).toHaveBeenCalledOnce();
  });

  it("may resume another reader during a write", async () => {
    const log = await createLog();
    const { streams } = create(log);
    const others: { resume(): void }[] = [];
    const makeRoom = (): boolean => {
      for (const other of others) other.resume();
      return true;
    };
    const first = await read(streams, { after: "4" }, makeRoom);
    const other = await read(streams, { after: "4" }, () => false);
    others.push(other.reader);
    const last = await read(streams, { after: "4" }, makeRoom);
    for (let n = 1; n <= 5; n++) {
      await appendEvents(log, 1);
      await until(() => expect([first, last].map(({ ids }) => ids().length)).toEqual([n, n]));
    }
    await until(() => expect(other.ids()).toEqual(first.ids()));
  });
});

describe("the memory of all streams", () => {
  it("is limited: idle streams drop their frames, and readers that lag read the log", async () => {
    const log = new MemoryLog();
    const names = ["a", "b", "c", "d", "e", "f"];
    for (const name of names) await log.createSession(name);
    const maxTotalSharedBytes = 40_000;
    const { streams } = create(log, { maxTotalSharedBytes });
    const readers = names.map((name) => ({ name, batches: [] as FrameBatch[], slow: [] as FrameBatch[] }));
    const resumes: (() => void)[] = [];
    for (const { name, batches, slow } of readers) {
      const reader = await streams.open(name, { follow: true, dialect: "loom", transport: "http" });
      const take = (batch: FrameBatch): boolean => {
        batch.bytes("sse-http");
        batches.push(batch);
        return true;
      };
      reader?.start({ write: take, end: () => undefined });
      const lagging = await streams.open(name, { follow: true, dialect: "loom", transport: "http" });
      lagging?.start({ write: (batch) => slow.push(batch) < 0, end: () => undefined });
      resumes.push(() => lagging?.resume());
    }
    let most = 0;
    for (const { name, batches } of readers) {
      const { epoch } = await log.acquire(name, { holder: "h", ttlMs: 60_000 });
      for (let id = 1; id <= 20; id++) {
        const envelope = { session_id: name, event_id: id };
        const entries = [createEntry({ envelope, event: { type: "custom", value: "x".repeat(500) } })];
        await log.append({ sessionId: name, epoch, expectedLastId: id - 1, entries });
        await until(() => expect(countFrames(batches)).toBe(id));
        most = Math.max(most, streams.heldBytes);
      }
    }
    expect(most).toBeGreaterThan(maxTotalSharedBytes / 2);
    expect(most).toBeLessThanOrEqual(maxTotalSharedBytes);
    await until(() => {
      for (const resume of resumes) resume();
      expect(readers.map(({ slow }) => countFrames(slow))).toEqual(names.map(() => 20));
    });
    await streams.close();
    expect(streams.heldBytes).toBe(0);
  });
});

function countFrames(batches: readonly FrameBatch[]): number {
  return batches.reduce((sum, { frames }) => sum + frames.length, 0);
}

describe("a reader that does not read", () => {
  it("is closed with its cursor when it lags too far, without affecting others", async () => {
    const log = await createLog();
    const { streams, streamMetrics } = create(log, { maxLagBytes: 5000, maxSharedBytes: 2000 });
    const slow = await read(streams, { after: "4" }, () => false);
    const other = await read(streams, { after: "4" });
    await appendEvents(log, 1);
    await until(() => expect(slow.ids()).toEqual([5]));
    await appendEvents(log, 30, 300);
    await until(() => expect(slow.ends).toHaveLength(1));
    await until(() => expect(other.ids()).toHaveLength(31));
    expect(slow.ends[0]).toEqual({ reason: "slow", cursor: slow.batches.at(-1)?.cursor });
    expect(slow.ids()).toEqual([5]);
    expect(streamMetrics()).toMatchObject({ slowReadersClosed: 1, open: 1, closed: { slow: 1 } });
    const again = await read(streams, { after: slow.ends[0]?.cursor });
    await until(() => expect(again.ids()).toEqual(other.ids().slice(1)));
  });

  it("is closed after the stall timeout, but not while it has nothing to read", async () => {
    const log = await createLog(3000);
    const { streams } = create(log, { maxStallMs: 60 });
    const far = await read(streams, {}, () => false);
    const idle = await read(streams, { after: "2999" }, () => false);
    await until(() => expect(far.ends).toMatchObject([{ reason: "slow" }]));
    expect(idle.ends).toEqual([]);
    expect(idle.ids()).toEqual([3000]);
    await appendEvents(log, 1);
    await until(() => expect(idle.ends).toMatchObject([{ reason: "slow" }]));
  });
});

describe("the stream of one run", () => {
  it("waits for the run, starts with it and ends with it", async () => {
    const log = await createLog();
    const { streams } = create(log);
    const waiting = await read(streams, { run: "run-2" });
    const engine = await read(streams, { run: "run-2", dialect: "engine" });
    await writeRecords(log, makeRun("other", { after: 4 }).slice(0, 2));
    const rest = [...makeRun("run-2", { after: 6 }), ...makeRun("run-3", { after: 10 })];
    await writeRecords(log, rest.slice(0, 3), 1);
    await until(() => expect(waiting.ids()).toEqual([7, 8, 9]));
    expect(waiting.ends).toEqual([]);
    await writeRecords(log, rest.slice(3));
    await until(() => expect(waiting.ends).toMatchObject([{ reason: "end" }]));
    await until(() => expect(engine.ends).toMatchObject([{ reason: "end" }]));
    expect(waiting.ids()).toEqual([7, 8, 9, 10]);
    const late = await read(streams, { run: "run-2", dialect: "engine" });
    await until(() => expect(late.ends).toMatchObject([{ reason: "end" }]));
    const texts = ({ batches }: typeof late) => batches.flatMap(({ frames }) => frames);
    expect(texts(late)).toEqual(texts(engine));
    expect(engine.ids().every((id) => id > 6 && id <= 10)).toBe(true);
  });

  it("can be resumed, and starts with the run when the cursor is before it", async () => {
    const log = await createLog();
    const info = await writeRecords(log, [...makeRun("run-2", { after: 4 }), ...makeRun("run-3", { after: 8 })]);
    const { streams } = create(log);
    const ask = async (request: Partial<ReadRequest>) => {
      const reader = await read(streams, { run: "run-2", ...request });
      await until(() => expect(reader.ends).toMatchObject([{ reason: "end" }]));
      return reader.ids();
    };
    expect(await ask({ after: formatCursor(info.incarnation, 6) })).toEqual([7, 8]);
    expect(await ask({ after: "1" })).toEqual([5, 6, 7, 8]);
    expect(await ask({ after: "8" })).toEqual([]);
    expect(await ask({ limit: 2 })).toEqual([5, 6]);
    expect(await ask({ follow: false })).toEqual([5, 6, 7, 8]);
  });

  it("that ends while an older part is being read is read to its end", async () => {
    const log = await createLog();
    const [start, ...rest] = makeRun("run-2", { after: 4 }).map(({ envelope, event }, n) =>
      n === 0 ? { envelope, event } : { envelope: { ...envelope, event_id: envelope.event_id + 1 }, event },
    ) as [StampedRecord, ...StampedRecord[]];
    // A custom event that looks as if it could end a run.
    const custom = { ...start, envelope: { ...start.envelope, event_id: 6 } };
    await writeRecords(log, [start, { ...custom, event: { type: "custom", value: { reply: true } } }]);
    const { streams } = create(log);
    const reader = await streams.open("s", { run: "run-2", follow: true, transport: "http" });
    await writeRecords(log, rest);
    const ids: string[] = [];
    const end = await new Promise<ReaderEnd>((resolve) =>
      reader?.start({
        write: ({ frames }) => {
          ids.push(...frames.map(({ cursor }) => cursor.split(".")[2] as string));
          setImmediate(() => reader.resume());
          return false;
        },
        end: resolve,
      }),
    );
    expect(end.reason).toBe("end");
    expect(ids).toEqual(["5", "6", "7", "8", "9"]);
  });

  it("ends with the reason when the run will never start", async () => {
    const log = await createLog();
    await log.submit({ commandId: "c", sessionId: "s", kind: "enqueue", body: {} });
    const { streams } = create(log);
    const waiting = await read(streams, { run: "run-9", command: "c" });
    const lease = await log.acquire("s", { holder: "h", ttlMs: 60_000 });
    await log.append({
      sessionId: "s",
      epoch: lease.epoch,
      expectedLastId: 4,
      entries: [],
      settle: [{ commandId: "c", outcome: { code: "queue_full", message: "no" } }],
    });
    await until(() => expect(waiting.ends).toMatchObject([{ reason: "error", error: { code: "queue_full" } }]));
    expect(waiting.ids()).toEqual([]);
  });
});
