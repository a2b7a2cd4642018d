/**
 * Compares the memory that feeds and streams count with the growth of the heap. Runs with `--expose-gc` and prints one
 * line of JSON per case.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { DialectName } from "../src/dialects/index.ts";
import { createEntry } from "../src/log/entry.ts";
import { Feed } from "../src/log/feed.ts";
import { openSqliteLog } from "../src/log/index.ts";
import { Page } from "../src/log/page.ts";
import { readLimits } from "../src/server/guard/server-limits.ts";
import type { BatchForm } from "../src/server/streams/frame-batch.ts";
import { createStreams } from "../src/server/streams/create-streams.ts";

const MAX_SESSION_BYTES = 256 * 1024;

async function measureHeap(): Promise<number> {
  for (let i = 0; i < 4; i++) {
    await pause(5);
    globalThis.gc?.();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function report(name: string, sessions: number, counted: number, real: number): void {
  process.stdout.write(`${JSON.stringify({ name, sessions, counted, real })}\n`);
}

const TEXTS = { short: "word ", long: "word ".repeat(400), chinese: "流式事件".repeat(100) } as const;
type TextKind = keyof typeof TEXTS;

const entryOf = (session: string, id: number, kind: TextKind) =>
  createEntry({
    envelope: { session_id: session, run_id: "r", event_id: id },
    event: { type: "message_chunk", id: "think", content: `${id} ${TEXTS[kind]}` },
  });

/** Pages that readers have parsed and split. */
async function measureFeed(kind: TextKind, sessions: number): Promise<void> {
  const before = await measureHeap();
  const feed = new Feed({ maxFeedBytes: MAX_SESSION_BYTES });
  for (let n = 0; n < sessions; n++) {
    const session = `session-${n}`;
    feed.watch(session, () => undefined);
    for (let id = 0, written = 0; written < 2 * MAX_SESSION_BYTES; id += 4) {
      const texts = [1, 2, 3, 4].map((add) => entryOf(session, id + add, kind).text);
      const page = new Page(session, id, id + 4, texts.join("\n"), "i");
      feed.publish(page);
      written += page.heldBytes;
      if (page.records.length !== page.texts.length) throw new Error("A record is missing");
    }
  }
  report(`feed, ${kind}`, sessions, feed.bytes, (await measureHeap()) - before);
  if (feed.size !== sessions) throw new Error("A session is missing");
}

/** Streams whose readers use several encodings. */
async function measureStreams(
  dialect: DialectName,
  kind: TextKind,
  forms: readonly BatchForm[],
  sessions: number,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "loom-held-"));
  const log = await openSqliteLog(join(folder, "store.db"), { limits: { maxFeedBytes: 1, maxTotalFeedBytes: 1 } });
  const streams = createStreams({ log, limits: readLimits({ maxSharedBytes: MAX_SESSION_BYTES }) });
  const names = Array.from({ length: sessions }, (_, n) => `session-${n}`);
  let received = 0;
  const hasReceived = (before: number): boolean => received > before;
  const leases = [];
  for (const session of names) {
    leases.push(await log.acquire(session, { holder: "h", ttlMs: 600_000 }));
    for (const form of forms) {
      const reader = await streams.open(session, { follow: true, dialect, transport: "http" });
      reader?.start({
        write(chunk) {
          received += chunk.bytes(form).length;
          return true;
        },
        end: () => undefined,
      });
    }
  }
  await pause(50);
  const before = await measureHeap();
  const size = entryOf("session-0", 1, kind).text.length;
  // An append becomes one part of a stream; a few parts should fit.
  const batch = kind === "long" ? 4 : 32;
  const rounds = Math.ceil((1.5 * MAX_SESSION_BYTES) / (size * batch));
  for (let round = 0; round < rounds; round++) {
    const seen = received;
    await Promise.all(
      leases.map(({ sessionId, epoch }) => {
        const entries = Array.from({ length: batch }, (_, index) =>
          entryOf(sessionId, round * batch + index + 1, kind),
        );
        return log.append({ sessionId, epoch, expectedLastId: round * batch, entries });
      }),
    );
    while (!hasReceived(seen)) await pause(1);
  }
  await pause(100);
  const counted = streams.heldBytes;
  report(`${dialect} as ${forms.join(", ")}, ${kind}`, sessions, counted, (await measureHeap()) - before);
  await streams.close();
  await log.close();
  rmSync(folder, { recursive: true, force: true });
}

const sessions = Number(process.argv[2]);
const CASES: readonly ((sessions: number) => Promise<void>)[] = [
  (count) => measureFeed("short", count),
  (count) => measureFeed("chinese", count),
  (count) => measureStreams("loom", "short", ["sse-http"], count),
  (count) => measureStreams("loom", "chinese", ["sse-http", "ndjson-http", "control", "messages"], count),
  (count) => measureStreams("engine", "long", ["sse", "ndjson", "messages"], count),
];
const own = CASES[Number(process.argv[3])];
if (own === undefined) throw new Error(`There are ${CASES.length} cases`);
await own(sessions);
