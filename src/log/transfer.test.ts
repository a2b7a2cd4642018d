import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import {
  gather,
  type LogCase,
  makeChunks,
  makeRun,
  mixedSessionArbitrary,
  overrideLog,
  statefulSessionArbitrary,
  writeRecords,
} from "../../test/log-sessions.ts";
import { LONG, sampleCases } from "../../test/sampling.ts";
import { listVectorFiles, readVector } from "../../test/vectors.ts";
import type { AnyEvent, StampedRecord } from "../protocol/index.ts";
import { listCheckpoints } from "./checkpoints.ts";
import { createEntry } from "./entry.ts";
import type { Lease, Log } from "./log.ts";
import type { LogLimits } from "./log-limits.ts";
import { MemoryLog } from "./memory-log.ts";
import { openSqliteLog } from "./sqlite/sqlite-log.ts";
import { openStream } from "./stream.ts";
import { exportSession, importSession } from "./transfer.ts";

const SAMPLES = LONG ? { sessions: 2000, records: 200_000 } : { sessions: 25, records: 5000 };
/** Small batches and pages, so that few records are several of them. */
const LIMITS = { maxBatchRecords: 100, maxPageRecords: 100 };

const folder = mkdtempSync(join(tmpdir(), "loom-transfer-"));
const opened: Log[] = [];
/** In the long run each test has a new store; otherwise they share one. */
let store: Log | undefined;
let count = 0;
afterEach(async () => {
  vi.useRealTimers();
  for (const log of opened.splice(0)) await log.close();
});
afterAll(async () => {
  await store?.close();
  rmSync(folder, { recursive: true, force: true });
});

const openMemory = async (limits: Partial<LogLimits> = {}): Promise<Log> => {
  opened.push(new MemoryLog({ limits }));
  return opened.at(-1) as Log;
};

const openStore = async (): Promise<Log> => {
  store ??= await openSqliteLog(join(folder, `${++count}.db`), { limits: LIMITS });
  const log = store;
  if (LONG) {
    opened.push(log);
    store = undefined;
  } else for (const { sessionId } of await log.listSessions()) await log.deleteSession(sessionId);
  return log;
};

/** Opening a store takes a while, so only tests of leases run on both logs. */
const ALL_LOGS: readonly LogCase[] = [
  { name: "memory", open: () => openMemory(LIMITS) },
  { name: "sqlite", open: openStore },
];

/** Cases of a table. A store is slow and tests one of them. */
const casesOf = <T>(name: string, cases: readonly T[]): readonly T[] =>
  name === "memory" ? cases : sampleCases(cases);

const exportText = async (log: Log, sessionId: string) => (await gather(exportSession(log, sessionId))).join("");
const linesOf = (records: readonly StampedRecord[]) => records.map((record) => `${createEntry(record).text}\n`);
const textOf = (records: readonly StampedRecord[]) => linesOf(records).join("");

/** Yields the text in pieces of `size`, as strings or bytes. */
async function* cutUp(text: string, size = 1000, asBytes = false): AsyncGenerator<string | Uint8Array> {
  const whole = asBytes ? new TextEncoder().encode(text) : text;
  for (let at = 0; at < whole.length; at += size) yield whole.slice(at, at + size);
}

const untouched: AsyncIterable<string> = {
  [Symbol.asyncIterator]() {
    throw new Error("the source was read");
  },
};

const isContiguous = (records: readonly StampedRecord[]) =>
  records.every(({ envelope }, index) => envelope.event_id === (records[0]?.envelope.event_id ?? 0) + index);

const VECTORS = listVectorFiles("runs")
  .map(readVector)
  .map(({ name, records }) => [name, records.flat() as StampedRecord[]] as const)
  .filter(([, records]) => isContiguous(records));

describe("export and import on a memory log", () => {
  const open = openMemory;
  test.each(VECTORS)("%s: keeps the bytes of an exported and imported session", async (_name, records) => {
    const text = textOf(records);
    const sessionId = records[0]?.envelope.session_id ?? "";
    const log = await open();
    const info = await importSession(log, cutUp(text, 37));
    expect(info).toMatchObject({ sessionId, lastId: records.length, firstId: 1, holder: undefined });
    expect(await exportText(log, sessionId)).toBe(text);
  });

  test("uses enough vectors with whole sessions", () => {
    expect(VECTORS.length).toBeGreaterThan(15);
  });

  test("keeps the bytes, runs and landmarks of random sessions, in pieces of any size, text or bytes", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(mixedSessionArbitrary, statefulSessionArbitrary),
        fc.integer({ min: 1, max: 300 }),
        fc.boolean(),
        async (records, size, raw) => {
          const log = await open();
          await writeRecords(log, records, 17);
          const text = await exportText(log, "s");
          expect(text).toBe(textOf(records));
          const copy = await open();
          await importSession(copy, cutUp(text, size, raw));
          expect(await exportText(copy, "s")).toBe(text);
          expect(await copy.listRuns("s")).toEqual(await log.listRuns("s"));
          expect(await copy.listLandmarks("s", "todo_list")).toEqual(await log.listLandmarks("s", "todo_list"));
          expect(await listCheckpoints(copy, "s")).toEqual(await listCheckpoints(log, "s"));
          const whole = { dialect: "loom", modes: "all" } as const;
          const frames = async (from: Log) =>
            (await gather(openStream(from, "s", whole))).flat().map((frame) => frame.text);
          expect(await frames(copy)).toEqual(await frames(log));
        },
      ),
      { numRuns: SAMPLES.sessions },
    );
  });

  test("keeps unusual field orders", async () => {
    const log = await open();
    const odd = JSON.parse('{"type":"x_unknown","b":1,"2":"two","a":null,"__proto__":3}') as AnyEvent;
    const expand: AnyEvent = { type: "got_expand", edges_added: 1, nodes_added: 1, node_id: "n" };
    const records = [odd, expand].map((event, index): StampedRecord => ({
      envelope: { session_id: "s", run_id: "r", event_id: index + 1, ts: 1 },
      event,
    }));
    const text = textOf(records);
    await importSession(log, cutUp(text), { sessionId: "s" });
    expect(await exportText(log, "s")).toBe(text);
  });

  test("imports many records in batches within the limits", async () => {
    const log = await open({ maxBatchRecords: 100, maxBatchBytes: 4000, maxEventBytes: 1000, maxPageRecords: 77 });
    const sizes: number[] = [];
    const counted = overrideLog(log, (target) => ({
      append(batch) {
        sizes.push(batch.entries.length);
        return target.append(batch);
      },
    }));
    const text = textOf(makeChunks(SAMPLES.records));
    expect(await importSession(counted, cutUp(text, 5000))).toMatchObject({ lastId: SAMPLES.records });
    expect(sizes.length).toBeGreaterThan(SAMPLES.records / 100);
    expect(await exportText(log, "s")).toBe(text);
  });

  test("exports and imports a pruned session from its first stored record", async () => {
    const log = await open();
    await writeRecords(log, [...makeRun("run-1"), ...makeRun("run-2", { after: 4 })]);
    const { bytes } = (await log.getSession("s")) ?? { bytes: 0 };
    await log.prune({ maxSessionBytes: bytes - 1 });
    const text = await exportText(log, "s");
    expect(text).toBe(textOf(makeRun("run-2", { after: 4 })));
    const copy = await open();
    const info = await importSession(copy, cutUp(text), { title: "Rest" });
    expect(info).toMatchObject({ firstId: 5, lastId: 8, title: "Rest" });
    expect(await exportText(copy, "s")).toBe(text);
  });

  test("exports the records present when it started", async () => {
    const log = await open({ maxPageRecords: 2 });
    await writeRecords(log, makeChunks(5));
    const chunks = exportSession(log, "s");
    const first = (await chunks.next()).value ?? "";
    await writeRecords(log, makeChunks(5, { after: 5 }));
    expect(first + (await gather(chunks)).join("")).toBe(textOf(makeChunks(5)));
  });

  test("fails to export a session that is recreated meanwhile", async () => {
    const log = await open({ maxPageRecords: 2 });
    await writeRecords(log, makeChunks(5));
    const chunks = exportSession(log, "s");
    await chunks.next();
    await log.deleteSession("s");
    await writeRecords(log, makeChunks(5));
    await expect(gather(chunks)).rejects.toMatchObject({ code: "cursor_stale" });
    await expect(exportText(log, "t")).rejects.toMatchObject({ code: "unknown_session" });
  });

  test("under another ID only changes the ID in the envelope", async () => {
    const log = await open();
    const text = textOf(makeRun("run-1"));
    const info = await importSession(log, cutUp(text), { sessionId: 'an "other"' });
    expect(info.sessionId).toBe('an "other"');
    expect(await exportText(log, 'an "other"')).toBe(textOf(makeRun("run-1", { sessionId: 'an "other"' })));
    expect(await log.getSession("s")).toBeUndefined();
  });

  test("under another ID keeps numbers, escapes and spacing of lines that start with the ID", async () => {
    const log = await open();
    const rest =
      '"run_id":"r", "event_id":1,"ts":1.0,"type":"custom","value":[12345678901234567890,"\\u0041 {\\"session_id\\":\\"s\\","]}';
    await importSession(log, cutUp(`{"session_id":"s",${rest}\n`), { sessionId: "t" });
    expect(await exportText(log, "t")).toBe(`{"session_id":"t",${rest}\n`);
  });

  test("under another ID encodes lines again that start differently or have the ID twice", async () => {
    const log = await open();
    const late = '{"run_id":"r","session_id":"s","event_id":1,"ts":1,"type":"custom","value":1}';
    const twice = '{"session_id":"s","run_id":"r","session_id":"s","event_id":2,"ts":1,"type":"custom","value":1}';
    await importSession(log, cutUp(`${late}\n${twice}\n`), { sessionId: "t" });
    const [first, second] = (await log.read("t", { after: 0 })).texts;
    expect(first).toBe(late.replace('"s"', '"t"'));
    expect(second).toBe('{"session_id":"t","run_id":"r","event_id":2,"ts":1,"type":"custom","value":1}');
  });

  test("accepts a BOM, CRLF, blank lines, spaces around a line and a missing final line feed", async () => {
    const log = await open();
    const [first = "", second = ""] = linesOf(makeChunks(2));
    await importSession(log, cutUp(`\uFEFF\n  ${first.trimEnd()} \r\n\n${second.trimEnd()}`));
    expect(await exportText(log, "s")).toBe(first + second);
  });

  test("of concurrent imports of one session, at least one succeeds and none corrupts it", async () => {
    const log = await open();
    const text = textOf(makeChunks(50));
    const outcomes = await Promise.allSettled([1, 2, 3].map(async () => importSession(log, cutUp(text, 100))));
    expect(outcomes.map(({ status }) => status)).toContain("fulfilled");
    for (const outcome of outcomes)
      if (outcome.status === "rejected") expect(outcome.reason).toMatchObject({ code: "session_exists" });
    expect(await exportText(log, "s")).toBe(text);
  });

  test("imports an empty file as an empty session if an ID is given", async () => {
    const log = await open();
    expect(await importSession(log, cutUp(""), { sessionId: "empty" })).toMatchObject({ firstId: 1, lastId: 0 });
    await expect(importSession(log, cutUp("\n"))).rejects.toMatchObject({ code: "import_invalid" });
  });

  const good = linesOf(makeChunks(200));
  const frame = (fields: object) => JSON.stringify({ session_id: "s", run_id: "r", event_id: 151, ts: 1, ...fields });
  const chunk = { type: "message_chunk", content: "x", id: "n" };
  test.each([
    ["invalid JSON", "{", /JSON/],
    ["not an object", "[]", /object/i],
    ["another session", frame({ ...chunk, session_id: "t" }), /"t".*"s"/],
    ["a duplicate id", frame({ ...chunk, event_id: 150 }), /150.*151/],
    ["a missing id", frame({ ...chunk, event_id: 152 }), /152.*151/],
    ["a negative id", frame({ ...chunk, event_id: -1 }), /event_id/],
    ["a fractional id", frame({ ...chunk, event_id: 1.5 }), /event_id/],
    ["an invalid event", frame({ type: "message_chunk", content: 7, id: "n" }), /content/],
    ["no type", frame({}), /type/],
    ["no envelope", JSON.stringify(chunk), /session_id/],
    ["no session", JSON.stringify({ event_id: 151, ...chunk }), /session_id/],
    ["no id", JSON.stringify({ session_id: "s", ...chunk }), /event_id/],
    ["a line over the limit", frame({ ...chunk, content: "x".repeat(3000) }), /long|bytes/],
  ])("rejects %s with its line and leaves nothing", async (_what, line, reason) => {
    const log = await open({ ...LIMITS, maxEventBytes: 2000 });
    const text = [...good.slice(0, 150), `${line}\n`, ...good.slice(150)].join("");
    for (const sessionId of [undefined, "s", "renamed"]) {
      const importing = importSession(log, cutUp(text), sessionId === undefined ? {} : { sessionId });
      await expect(importing).rejects.toMatchObject({
        code: "import_invalid",
        details: { line: 151 },
        message: expect.stringMatching(reason) as unknown,
      });
      expect(await log.listSessions()).toEqual([]);
    }
    // The ID is free again.
    expect(await importSession(log, cutUp(good.join("")))).toMatchObject({ lastId: 200 });
  });

  test("rejects invalid UTF-8 and IDs that start at 0", async () => {
    const log = await open();
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Uint8Array.of(0x7b, 0xff, 0x7d, 0x0a);
    }
    await expect(importSession(log, broken())).rejects.toMatchObject({ code: "import_invalid", details: { line: 1 } });
    const fromZero = textOf(makeChunks(2, { after: -1 }));
    await expect(importSession(log, cutUp(fromZero))).rejects.toMatchObject({
      code: "import_invalid",
      details: { line: 1 },
    });
    expect(await log.listSessions()).toEqual([]);
  });

  const named = (fields: object) =>
    JSON.stringify({ session_id: "s", run_id: "r", event_id: 1, ts: 1, ...fields, ...chunk });
  test.each<[string, string, string, { sessionId?: string }]>([
    ["an empty session id", named({ session_id: "" }), "invalid_name", {}],
    ["a lone surrogate in the session id", named({ session_id: "\uD800" }), "invalid_name", {}],
    ["the session id ..", named({ session_id: ".." }), "invalid_name", {}],
    ["an empty run id", named({ run_id: "" }), "invalid_name", { sessionId: "t" }],
    ["a long run id", named({ run_id: "y".repeat(300) }), "invalid_name", {}],
    ["a line over the limit", named({ ts: 0.5, x: "x".repeat(2000) }), "event_too_large", {}],
    [
      "a line over the limit with its new id",
      named({ x: "x".repeat(900) }),
      "event_too_large",
      { sessionId: "t".repeat(200) },
    ],
  ])("rejects %s with its line and the original error code", async (_what, line, code, options) => {
    const log = await open({ maxEventBytes: 1050 });
    await expect(importSession(log, cutUp(`\n${line}\n`), options)).rejects.toMatchObject({
      code: "import_invalid",
      details: { line: 2, code },
    });
    expect(await log.listSessions()).toEqual([]);
  });

  test("rejects an invalid ID, owner or title option before reading the source", async () => {
    const log = await open();
    for (const options of [{ sessionId: "." }, { owner: "" }, { owner: "o".repeat(201) }, { title: "x".repeat(1001) }])
      await expect(importSession(log, untouched, options)).rejects.toMatchObject({ code: "invalid_name" });
  });

  test("leaves nothing if the source or the store fails midway", async () => {
    const log = await open(LIMITS);
    async function* failing(): AsyncGenerator<string> {
      yield good.slice(0, 150).join("");
      throw new Error("connection lost");
    }
    await expect(importSession(log, failing())).rejects.toThrow("connection lost");
    expect(await log.listSessions()).toEqual([]);
    let appends = 0;
    const full = overrideLog(log, (target) => ({
      async append(batch) {
        if (++appends > 1) throw Object.assign(new Error("disk full"), { code: "store_full" });
        return target.append(batch);
      },
    }));
    await expect(importSession(full, cutUp(good.join("")))).rejects.toMatchObject({ code: "store_full" });
    expect(await log.listSessions()).toEqual([]);
  });
});

describe.each(ALL_LOGS)("an import into an existing session, on a $name log", ({ name, open }) => {
  const text = textOf(makeChunks(250));
  const other = textOf(makeChunks(1, { after: 149 })).replace("word", "sword");

  test.each(casesOf(name, [0, 1, 99, 100, 150, 249]))("continues after its first %i records", async (count) => {
    const log = await open();
    await log.createSession("s", { title: "Kept" });
    await writeRecords(log, makeChunks(count), LIMITS.maxBatchRecords);
    const before = await log.getSession("s");
    const info = await importSession(log, cutUp(text), { title: "Another" });
    expect(info).toMatchObject({ lastId: 250, holder: undefined, title: "Kept", incarnation: before?.incarnation });
    expect(await exportText(log, "s")).toBe(text);
  });

  test("of another owner is rejected without revealing its contents or writer", async () => {
    const log = await open();
    await log.createSession("s", { owner: "alice" });
    await writeRecords(log, makeChunks(3));
    const lease = await log.acquire("s", { holder: "h", ttlMs: 60_000 });
    const before = await log.getSession("s");
    const refusal = expect.objectContaining({ code: "session_exists", details: { session_id: "s" } }) as unknown;
    for (const lines of [untouched, cutUp(text), cutUp(other)])
      await expect(importSession(log, lines, { sessionId: "s", owner: "bob" })).rejects.toEqual(refusal);
    expect(await log.getSession("s")).toEqual(before);
    await log.release(lease);
    expect(await importSession(log, cutUp(text), { owner: "alice" })).toMatchObject({ lastId: 250, owner: "alice" });
  });

  test("sets the owner from the options, not from the file", async () => {
    const log = await open();
    expect(await importSession(log, cutUp(text), { owner: "alice" })).toMatchObject({ owner: "alice" });
    const exported = await exportText(log, "s");
    expect(exported).toBe(text);
    expect((await importSession(log, cutUp(exported), { sessionId: "t", owner: "bob" })).owner).toBe("bob");
    expect((await importSession(log, cutUp(exported), { sessionId: "u" })).owner).toBe("local");
  });

  test("of the same file writes nothing and does not acquire the session", async () => {
    const log = await open();
    const info = await importSession(log, cutUp(text), { sessionId: "t" });
    expect(await importSession(log, cutUp(text), { sessionId: "t" })).toEqual(info);
  });

  test.each([
    ["another record", makeChunks(150), [...linesOf(makeChunks(149)), other]],
    ["fewer records", makeChunks(150), linesOf(makeChunks(149))],
    ["no records", makeChunks(150), []],
    ["another start", makeChunks(150), linesOf(makeChunks(160, { after: 1 }))],
    ["another start than an empty session", [], linesOf(makeChunks(5, { after: 4 }))],
    ["an earlier start", makeChunks(5, { after: 5 }), linesOf(makeChunks(20))],
  ])("with %s is rejected without changes", async (_what, there, lines) => {
    const log = await open();
    const info = await writeRecords(log, there, LIMITS.maxBatchRecords);
    const options = { sessionId: "s" };
    await expect(importSession(log, cutUp(lines.join("")), options)).rejects.toMatchObject({ code: "session_exists" });
    expect(await log.getSession("s")).toEqual(info);
    expect(await exportText(log, "s")).toBe(textOf(there));
  });

  test("that has a writer is rejected, before reading if the ID is given", async () => {
    const log = await open();
    await writeRecords(log, makeChunks(2));
    const lease = await log.acquire("s", { holder: "another", ttlMs: 60_000 });
    await expect(importSession(log, untouched, { sessionId: "s" })).rejects.toMatchObject({ code: "session_exists" });
    await expect(importSession(log, cutUp(text))).rejects.toMatchObject({ code: "session_exists" });
    await log.renew(lease, 60_000);
    expect(await log.getSession("s")).toMatchObject({ lastId: 2, epoch: lease.epoch });
  });

  test("is rejected if another writer writes between the check and the first write", async () => {
    const log = await open();
    await writeRecords(log, makeChunks(2));
    async function* interrupted(): AsyncGenerator<string> {
      yield textOf(makeChunks(2));
      await writeRecords(log, [...makeChunks(3)].slice(2));
      yield textOf(makeChunks(5, { after: 2 }));
    }
    await expect(importSession(log, interrupted())).rejects.toMatchObject({ code: "session_exists" });
    expect(await log.getSession("s")).toMatchObject({ lastId: 3, holder: undefined });
  });

  test("that fails later keeps the session, and the next import continues it", async () => {
    const log = await open();
    await writeRecords(log, makeChunks(50));
    const broken = `${textOf(makeChunks(220))}{\n`;
    await expect(importSession(log, cutUp(broken))).rejects.toMatchObject({ details: { line: 221 } });
    const { lastId = 0, holder } = (await log.getSession("s")) ?? {};
    expect(lastId).toBeGreaterThanOrEqual(50);
    expect(holder).toBeUndefined();
    expect(await exportText(log, "s")).toBe(textOf(makeChunks(lastId)));
    await importSession(log, cutUp(text));
    expect(await exportText(log, "s")).toBe(text);
  });
});

describe.each(ALL_LOGS)("an import that loses its session, on a $name log", ({ open }) => {
  const lines = linesOf(makeChunks(300));

  test.each([
    ["continues", lines.slice(200).join(""), "fenced"],
    ["finds an invalid line", "{\n", "import_invalid"],
  ])("and %s leaves it to the new holder", async (_what, rest, code) => {
    const log = await open();
    let theirs: Lease | undefined;
    async function* overtaken(): AsyncGenerator<string> {
      yield lines.slice(0, 200).join("");
      theirs = await log.acquire("s", { holder: "another", ttlMs: 60_000, takeover: true });
      const { epoch, lastId } = theirs;
      const entries = makeChunks(1, { after: lastId }).map(createEntry);
      await log.append({ sessionId: "s", epoch, expectedLastId: lastId, entries });
      yield rest;
    }
    await expect(importSession(log, overtaken())).rejects.toMatchObject({ code });
    const { epoch, lastId = 0 } = theirs ?? {};
    expect(lastId).toBeGreaterThanOrEqual(100);
    expect(await log.getSession("s")).toMatchObject({ epoch, lastId: lastId + 1, holder: "another" });
  });

  test("because it was recreated leaves the new one", async () => {
    const log = await open();
    async function* overtaken(): AsyncGenerator<string> {
      yield lines.slice(0, 200).join("");
      await log.deleteSession("s");
      await writeRecords(log, makeChunks(1));
      yield lines.slice(200).join("");
    }
    await expect(importSession(log, overtaken())).rejects.toMatchObject({ code: "fenced" });
    expect(await log.getSession("s")).toMatchObject({ lastId: 1 });
  });
});

test("an import that cannot delete its session releases it", async () => {
  const log = new MemoryLog();
  const stuck = overrideLog(log, () => ({ deleteSession: () => Promise.reject(new Error("disk")) }));
  await expect(importSession(stuck, cutUp(`${textOf(makeChunks(1500))}{\n`))).rejects.toThrow("Line 1501");
  expect((await log.getSession("s"))?.holder).toBeUndefined();
});

test("an import renews its lease while the source is slow", async () => {
  vi.useFakeTimers();
  const log = new MemoryLog();
  const text = textOf(makeChunks(1500));
  async function* slow(): AsyncGenerator<string> {
    yield textOf(makeChunks(1200));
    await vi.advanceTimersByTimeAsync(10 * 60_000);
    const taking = log.acquire("s", { holder: "another", ttlMs: 1000 });
    await expect(taking).rejects.toMatchObject({ code: "lease_held" });
    yield textOf(makeChunks(300, { after: 1200 }));
  }
  expect(await importSession(log, slow())).toMatchObject({ lastId: 1500, holder: undefined });
  expect(vi.getTimerCount()).toBe(0);
  expect(await exportText(log, "s")).toBe(text);
});
