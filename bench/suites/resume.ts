/**
 * Resuming a live run after a cursor: until the last record that is stored has been written as SSE bytes. The run has been
 * read before, so that snapshots of the encoder exist, as after a disconnect. The peer keeps the run in the memory of its
 * process and sends it through Redis, whose own time is not counted; it skips characters. The limit reads the rest of the
 * rows of ready frames from SQLite.
 */
import { spawn, spawnSync } from "node:child_process";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { DialectName } from "../../src/dialects/index.ts";
import { encodeSse } from "../../src/framing/index.ts";
import { type Log, MemoryLog, openSqliteLog, openStream, type StreamFrame } from "../../src/log/index.ts";
import type { StampedRecord } from "../../src/protocol/index.ts";
import type { Benchmark, Prepare, Row } from "../benchmark.ts";
import { createFolder } from "../create-folder.ts";
import { createRecords, START } from "../records.ts";
import { storeRecords } from "../realistic-records.ts";

const LONG = 30_000;
/** As many as an answer of 1,500 words has. */
const SHORT = 2000;
const utf8 = new TextEncoder();

interface Place {
  readonly place: string;
  /** Of the run. */
  readonly records: number;
  /** Records after the cursor. */
  readonly left: number;
  /** Resumes per round. */
  readonly times: number;
}

const NEAR_END: Place = { place: "3 records before the end", records: LONG, left: 3, times: 50 };
const PLACES: readonly Place[] = [
  NEAR_END,
  { place: "in the middle", records: LONG, left: LONG / 2, times: 3 },
  { place: "after 100 records", records: LONG, left: LONG - 100, times: 2 },
  { place: "in the middle", records: SHORT, left: SHORT / 2, times: 20 },
];

const createRun = (records: number): StampedRecord[] =>
  createRecords([
    ...START,
    ...Array.from(
      { length: records - START.length },
      (_, n) => ({ type: "message_chunk", content: `word${n % 1000} `, id: "think" }) as const,
    ),
  ]) as StampedRecord[];

const writeSse = (frames: readonly StreamFrame[]): string =>
  frames.map(({ text, cursor }) => encodeSse(cursor === "" ? { data: text } : { data: text, id: cursor })).join("");

async function readAll(log: Log, dialect: DialectName): Promise<StreamFrame[]> {
  const frames: StreamFrame[] = [];
  for await (const batch of openStream(log, "s", { dialect })) frames.push(...batch);
  return frames;
}

/** Frames of the whole run, and the number of the frame to resume after. */
async function createFrames(dialect: DialectName, { records, left }: Place): Promise<readonly [StreamFrame[], number]> {
  const log = new MemoryLog();
  await storeRecords(log, "s", createRun(records));
  const frames = await readAll(log, dialect);
  // Each of the last records has one frame.
  return [frames, frames.length - left];
}

function expectBytes(bytes: number, expected: number): void {
  if (bytes !== expected) throw new Error(`${bytes} bytes instead of ${expected}`);
}

async function repeat(times: number, resume: () => Promise<void> | void): Promise<void> {
  for (let n = 0; n < times; n++) await resume();
}

const fromStore =
  (dialect: DialectName, { records, left }: Place): Prepare =>
  async (times) => {
    const log = await openSqliteLog(join(createFolder(), "loom.db"));
    await storeRecords(log, "s", createRun(records));
    const frames = await readAll(log, dialect);
    const after = frames.length - left;
    const [cursor, last] = [frames[after - 1]?.cursor, frames.at(-1)?.cursor];
    const expected = Buffer.byteLength(writeSse(frames.slice(after)));
    const resume = async (): Promise<void> => {
      const stop = new AbortController();
      let bytes = 0;
      for await (const batch of openStream(log, "s", { dialect, cursor, follow: true, signal: stop.signal })) {
        bytes += utf8.encode(writeSse(batch)).length;
        if (batch.at(-1)?.cursor === last) stop.abort();
      }
      expectBytes(bytes, expected);
    };
    return () => repeat(times, resume);
  };

const fromRedis =
  (dialect: DialectName, place: Place): Prepare =>
  async (times) => {
    const { createResumableStreamContext } = await import("resumable-stream/redis");
    const { createClient } = await import("redis");
    const url = `redis://127.0.0.1:${await startRedis()}`;
    const clients = [createClient({ url }), createClient({ url })] as const;
    await Promise.all(clients.map((client) => client.connect()));
    const [subscriber, publisher] = clients;
    const context = createResumableStreamContext({ waitUntil: null, subscriber, publisher });
    const [frames, after] = await createFrames(dialect, place);
    const texts = frames.map((frame) => writeSse([frame]));
    const skipped = texts.slice(0, after).join("").length;
    const expected = Buffer.byteLength(texts.slice(after).join(""));
    const makeStream = (): ReadableStream<string> =>
      new ReadableStream({
        start(controller) {
          // The run is live: the stream stays open.
          for (const text of texts) controller.enqueue(text);
        },
      });
    const live = (await context.createNewResumableStream("s", makeStream))?.getReader();
    for (let n = 0; n < texts.length; n++) await live?.read();
    const resume = async (): Promise<void> => {
      const reader = (await context.resumeExistingStream("s", skipped))?.getReader();
      let bytes = 0;
      while (bytes < expected) {
        const { value, done } = (await reader?.read()) ?? { done: true };
        if (done) break;
        bytes += utf8.encode(value).length;
      }
      expectBytes(bytes, expected);
      await reader?.cancel();
    };
    return () => repeat(times, resume);
  };

/** Starts a server without a disk, which ends with this process. Returns its port. */
async function startRedis(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => probe.once("listening", resolve));
  const { port } = probe.address() as { readonly port: number };
  await new Promise((resolve) => probe.close(resolve));
  const flags = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", tmpdir()];
  const server = spawn("redis-server", flags, { stdio: ["ignore", "pipe", "inherit"] });
  process.on("exit", () => server.kill());
  let output = "";
  for await (const piece of server.stdout) {
    output += String(piece);
    if (output.includes("Ready to accept connections")) return port;
  }
  throw new Error(`redis-server did not start:\n${output}`);
}

const fromRows =
  (dialect: DialectName, place: Place): Prepare =>
  async (times) => {
    const db = new DatabaseSync(join(createFolder(), "rows.db"));
    db.exec("PRAGMA journal_mode = WAL; CREATE TABLE frames (id INTEGER PRIMARY KEY, cursor TEXT, text TEXT); BEGIN");
    const insert = db.prepare("INSERT INTO frames (cursor, text) VALUES (?, ?)");
    const [frames, after] = await createFrames(dialect, place);
    for (const { cursor, text } of frames) insert.run(cursor, text);
    db.exec("COMMIT");
    const select = db.prepare("SELECT cursor, text FROM frames WHERE id > ? ORDER BY id");
    const expected = Buffer.byteLength(writeSse(frames.slice(after)));
    const resume = (): void =>
      expectBytes(utf8.encode(writeSse(select.all(after) as unknown as StreamFrame[])).length, expected);
    return () => repeat(times, resume);
  };

const hasRedis = spawnSync("redis-server", ["--version"]).status === 0;
const RESUMABLE_STREAM = "resumable-stream 2.2, run in its memory, without the time of Redis";

const createRow = (dialect: DialectName, place: Place): Row => ({
  what: `${dialect}, a run of ${place.records.toLocaleString("en")} records, ${place.place}`,
  unit: "resume",
  sizes: [place.times],
  ours: fromStore(dialect, place),
  peers: hasRedis ? { [RESUMABLE_STREAM]: fromRedis(dialect, place) } : {},
  missing: hasRedis ? {} : { [RESUMABLE_STREAM]: "redis-server is not installed (Debian: redis-server)" },
  limits: { "SELECT + SSE": fromRows(dialect, place) },
});

export const benchmark: Benchmark = {
  about: "CPU time of resuming a live run from SQLite",
  rows: [
    ...PLACES.map((place) => createRow("loom", place)),
    ...PLACES.map((place) => createRow("ai-sdk", place)),
    ...(["lumine", "openai-responses"] as const).map((dialect) => ({ ...createRow(dialect, NEAR_END), isSlow: true })),
  ],
};
