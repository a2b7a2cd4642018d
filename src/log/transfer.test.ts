import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  gather,
  LOGS,
  makeChunks,
  makeRun,
  mixedSessionArbitrary,
  overrideLog,
  writeRecords,
} from "../../test/log-sessions.ts";
import { listVectorFiles, readVector } from "../../test/vectors.ts";
import type { AnyEvent, StampedRecord } from "../protocol/index.ts";
import { createEntry } from "./entry.ts";
import type { Log } from "./log.ts";
import { exportSession, importSession } from "./transfer.ts";

const SAMPLES =
  process.env["LOOM_LONG"] === "1" ? { sessions: 2000, records: 200_000 } : { sessions: 60, records: 5000 };

const exportText = async (log: Log, sessionId: string, options?: { after?: number }) =>
  (await gather(exportSession(log, sessionId, options))).join("");
const linesOf = (records: readonly StampedRecord[]) => records.map((record) => `${createEntry(record).text}\n`);

/** The text in pieces, some of them bytes. */
async function* cutUp(text: string, size = 1000, asBytes = false): AsyncGenerator<string | Uint8Array> {
  const whole = asBytes ? new TextEncoder().encode(text) : text;
  for (let at = 0; at < whole.length; at += size) yield whole.slice(at, at + size);
}

const isContiguous = (records: readonly StampedRecord[]) =>
  records.every(({ envelope }, index) => envelope.event_id === (records[0]?.envelope.event_id ?? 0) + index);

const VECTORS = listVectorFiles("runs")
  .map(readVector)
  .map(({ name, records }) => [name, records.flat() as StampedRecord[]] as const)
  .filter(([, records]) => isContiguous(records));

describe.each(LOGS)("a session as a file, on a $name log", ({ open }) => {
  test.each(VECTORS)("%s: exported, imported, exported: the same bytes", async (_name, records) => {
    const text = linesOf(records).join("");
    const sessionId = records[0]?.envelope.session_id ?? "";
    const log = await open();
    const info = await importSession(log, cutUp(text, 37));
    expect(info).toMatchObject({ sessionId, lastId: records.length, firstId: 1, holder: undefined });
    expect(await exportText(log, sessionId)).toBe(text);
    await log.close();
  });

  test("some of the vectors are whole sessions", () => {
    expect(VECTORS.length).toBeGreaterThan(15);
  });

  test("random sessions, in pieces of any size, text or bytes: the same bytes, runs and landmarks", async () => {
    await fc.assert(
      fc.asyncProperty(
        mixedSessionArbitrary,
        fc.integer({ min: 1, max: 300 }),
        fc.boolean(),
        async (records, size, raw) => {
          const log = await open();
          await writeRecords(log, records, 17);
          const text = await exportText(log, "s");
          expect(text).toBe(linesOf(records).join(""));
          const copy = await open();
          await importSession(copy, cutUp(text, size, raw));
          expect(await exportText(copy, "s")).toBe(text);
          expect(await copy.listRuns("s")).toEqual(await log.listRuns("s"));
          expect(await copy.listLandmarks("s", "todo_list")).toEqual(await log.listLandmarks("s", "todo_list"));
          await log.close();
          await copy.close();
        },
      ),
      { numRuns: SAMPLES.sessions },
    );
  });

  test("fields in an order nobody else would write come back in that order", async () => {
    const log = await open();
    const odd = JSON.parse('{"type":"x_unknown","b":1,"2":"two","a":null,"__proto__":3}') as AnyEvent;
    const expand: AnyEvent = { type: "got_expand", edges_added: 1, nodes_added: 1, node_id: "n" };
    const records = [odd, expand].map((event, index): StampedRecord => ({
      envelope: { session_id: "s", run_id: "r", event_id: index + 1, ts: 1 },
      event,
    }));
    const text = linesOf(records).join("");
    await importSession(log, cutUp(text), { sessionId: "s" });
    expect(await exportText(log, "s")).toBe(text);
    await log.close();
  });

  test("many records go through in batches the log accepts", async () => {
    const log = await open({ maxBatchRecords: 100, maxBatchBytes: 4000, maxEventBytes: 1000, maxPageRecords: 77 });
    const sizes: number[] = [];
    const counted = overrideLog(log, (target) => ({
      append(batch) {
        sizes.push(batch.entries.length);
        return target.append(batch);
      },
    }));
    const text = linesOf(makeChunks(SAMPLES.records)).join("");
    expect(await importSession(counted, cutUp(text, 5000))).toMatchObject({ lastId: SAMPLES.records });
    expect(sizes.length).toBeGreaterThan(SAMPLES.records / 100);
    expect(await exportText(log, "s")).toBe(text);
    await log.close();
  });

  test("a session that was pruned begins later, in its export and its import", async () => {
    const log = await open();
    await writeRecords(log, [...makeRun("run-1"), ...makeRun("run-2", { after: 4 })]);
    const { bytes } = (await log.getSession("s")) ?? { bytes: 0 };
    await log.prune({ maxSessionBytes: bytes - 1 });
    const text = await exportText(log, "s");
    expect(text).toBe(linesOf(makeRun("run-2", { after: 4 })).join(""));
    const copy = await open();
    expect(await importSession(copy, cutUp(text), { title: "Rest" })).toMatchObject({
      firstId: 5,
      lastId: 8,
      title: "Rest",
    });
    expect(await exportText(copy, "s")).toBe(text);
    await expect(exportText(copy, "s", { after: 0 })).rejects.toMatchObject({ code: "evicted" });
    expect(await exportText(copy, "s", { after: 6 })).toBe(
      linesOf(makeRun("run-2", { after: 4 }))
        .slice(2)
        .join(""),
    );
    await log.close();
    await copy.close();
  });

  test("an export holds what was there when it began", async () => {
    const log = await open({ maxPageRecords: 2 });
    await writeRecords(log, makeChunks(5));
    const chunks = exportSession(log, "s");
    const first = (await chunks.next()).value ?? "";
    await writeRecords(log, makeChunks(5, { after: 5 }));
    expect(first + (await gather(chunks)).join("")).toBe(linesOf(makeChunks(5)).join(""));
    await log.close();
  });

  test("an export of a session that is made anew meanwhile is refused, not mixed", async () => {
    const log = await open({ maxPageRecords: 2 });
    await writeRecords(log, makeChunks(5));
    const chunks = exportSession(log, "s");
    await chunks.next();
    await log.deleteSession("s");
    await writeRecords(log, makeChunks(5));
    await expect(gather(chunks)).rejects.toMatchObject({ code: "cursor_stale" });
    await expect(exportText(log, "t")).rejects.toMatchObject({ code: "unknown_session" });
    await log.close();
  });

  test("under another name only the name in the envelope changes", async () => {
    const log = await open();
    const text = linesOf(makeRun("run-1")).join("");
    const info = await importSession(log, cutUp(text), { sessionId: 'an "other"' });
    expect(info.sessionId).toBe('an "other"');
    expect(await exportText(log, 'an "other"')).toBe(linesOf(makeRun("run-1", { sessionId: 'an "other"' })).join(""));
    expect(await log.getSession("s")).toBeUndefined();
    await log.close();
  });

  test("blank lines, a missing last line feed and layout are no matter", async () => {
    const log = await open();
    const [first = "", second = ""] = linesOf(makeChunks(2));
    await importSession(log, cutUp(`\n  ${first}\r\n\n${second.trimEnd()}`));
    expect(await exportText(log, "s")).toBe(first + second);
    await log.close();
  });

  test("a session that exists is refused before anything is read, and stays as it was", async () => {
    const log = await open();
    await writeRecords(log, makeChunks(2));
    const text = linesOf(makeChunks(5)).join("");
    await expect(importSession(log, cutUp(text))).rejects.toMatchObject({ code: "session_exists" });
    const untouched: AsyncIterable<string> = {
      [Symbol.asyncIterator]() {
        throw new Error("was read");
      },
    };
    await expect(importSession(log, untouched, { sessionId: "s" })).rejects.toMatchObject({ code: "session_exists" });
    expect(await log.getSession("s")).toMatchObject({ lastId: 2 });
    await log.close();
  });

  test("of two imports of the same session at once, one gets through whole", async () => {
    const log = await open();
    const text = linesOf(makeChunks(50)).join("");
    const outcomes = await Promise.allSettled([1, 2, 3].map(async () => importSession(log, cutUp(text, 100))));
    expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected", "rejected"]);
    for (const outcome of outcomes)
      if (outcome.status === "rejected") expect(outcome.reason).toMatchObject({ code: "session_exists" });
    expect(await exportText(log, "s")).toBe(text);
    await log.close();
  });

  test("nothing at all makes an empty session, if it has a name", async () => {
    const log = await open();
    expect(await importSession(log, cutUp(""), { sessionId: "empty" })).toMatchObject({ firstId: 1, lastId: 0 });
    await expect(importSession(log, cutUp("\n"))).rejects.toMatchObject({ code: "import_invalid" });
    await log.close();
  });

  const good = linesOf(makeChunks(2000));
  const frame = (fields: object) => JSON.stringify({ session_id: "s", run_id: "r", event_id: 1501, ts: 1, ...fields });
  const chunk = { type: "message_chunk", content: "x", id: "n" };
  test.each([
    ["no JSON", "{", /JSON/],
    ["no object", "[]", /object/i],
    ["another session", frame({ ...chunk, session_id: "t" }), /"t".*"s"/],
    ["an id twice", frame({ ...chunk, event_id: 1500 }), /1500.*1501/],
    ["an id left out", frame({ ...chunk, event_id: 1502 }), /1502.*1501/],
    ["a negative id", frame({ ...chunk, event_id: -1 }), /event_id/],
    ["a fractional id", frame({ ...chunk, event_id: 1.5 }), /event_id/],
    ["an invalid event", frame({ type: "message_chunk", content: 7, id: "n" }), /content/],
    ["no type", frame({}), /type/],
    ["no envelope", JSON.stringify(chunk), /session_id/],
    ["no session", JSON.stringify({ event_id: 1501, ...chunk }), /session_id/],
    ["no id", JSON.stringify({ session_id: "s", ...chunk }), /event_id/],
    ["a line beyond the limit", frame({ ...chunk, content: "x".repeat(3000) }), /long|bytes/],
  ])("%s: refused with its line, and nothing is left", async (_what, line, reason) => {
    const log = await open({ maxEventBytes: 2000 });
    const text = [...good.slice(0, 1500), `${line}\n`, ...good.slice(1500)].join("");
    for (const sessionId of [undefined, "s", "renamed"]) {
      const importing = importSession(log, cutUp(text), sessionId === undefined ? {} : { sessionId });
      await expect(importing).rejects.toMatchObject({
        code: "import_invalid",
        details: { line: 1501 },
        message: expect.stringMatching(reason) as unknown,
      });
      expect(await log.listSessions()).toEqual([]);
    }
    // The name is free again.
    expect(await importSession(log, cutUp(good.join("")))).toMatchObject({ lastId: 2000 });
    await log.close();
  });

  test("bytes that are not UTF-8, and ids from 0 on, are refused too", async () => {
    const log = await open();
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Uint8Array.of(0x7b, 0xff, 0x7d, 0x0a);
    }
    await expect(importSession(log, broken())).rejects.toMatchObject({ code: "import_invalid", details: { line: 1 } });
    const fromZero = linesOf(makeChunks(2, { after: -1 })).join("");
    await expect(importSession(log, cutUp(fromZero))).rejects.toMatchObject({
      code: "import_invalid",
      details: { line: 1 },
    });
    expect(await log.listSessions()).toEqual([]);
    await log.close();
  });

  test("a source or a store that fails midway leaves nothing", async () => {
    const log = await open();
    async function* failing(): AsyncGenerator<string> {
      yield good.slice(0, 1500).join("");
      throw new Error("connection lost");
    }
    await expect(importSession(log, failing())).rejects.toThrow("connection lost");
    expect(await log.listSessions()).toEqual([]);
    let appends = 0;
    const full = overrideLog(log, (target) => ({
      async append(batch) {
        if (++appends > 1) throw Object.assign(new Error("no room"), { code: "store_full" });
        return target.append(batch);
      },
    }));
    await expect(importSession(full, cutUp(good.join("")))).rejects.toMatchObject({ code: "store_full" });
    expect(await log.listSessions()).toEqual([]);
    await log.close();
  });
});
