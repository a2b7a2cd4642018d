/**
 * Sends the golden vectors to the ingest endpoint in every dialect. Valid runs become a session; invalid streams are
 * refused for the rule they break; truncated streams are stored as cut. The stored records must equal what the
 * dialect's decoder returns, except for IDs and times.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createStamper, createStreamCheck, DIALECTS, type DialectName } from "../../src/dialects/index.ts";
import { unmarkForeign } from "../../src/log/foreign-mark.ts";
import { type Log, MemoryLog } from "../../src/log/index.ts";
import type { EventRecord, LoomError } from "../../src/protocol/index.ts";
import { type IngestSummary, ingestStream } from "../../src/server/ingest/ingest-stream.ts";
import { INGEST_SAMPLES } from "../sampling.ts";
import { frameText, listVectorFiles, readVector, VECTORS } from "../vectors.ts";
import { isBeforeReply } from "../../src/protocol/record.ts";
import { hideContent } from "../../src/log/model-content.ts";

const NAMES = Object.keys(DIALECTS) as DialectName[];
const RUNS = listVectorFiles("runs").map((file) => readVector(file));

type Outcome = { readonly ok: IngestSummary } | { readonly refusal: LoomError };

async function ingest(log: Log, texts: readonly string[], dialect: DialectName, maxFrameBytes = 8 * 1024 * 1024) {
  return ingestBytes(log, Buffer.from(texts.map((text) => `${text}\n`).join("")), dialect, "ndjson", maxFrameBytes);
}

async function ingestBytes(
  log: Log,
  bytes: Uint8Array,
  dialect: DialectName,
  framing: "ndjson" | "sse",
  maxFrameBytes: number,
  isCut = false,
): Promise<Outcome> {
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (isCut) controller.error(new Error("connection closed"));
      else controller.close();
    },
    start(controller) {
      controller.enqueue(bytes);
    },
  });
  try {
    const options = { log, sessionId: "s", body, dialect: DIALECTS[dialect], framing, maxFrameBytes, idleMs: 0 };
    return { ok: await ingestStream({ ...options, maxBytes: 1e9, signal: new AbortController().signal }) };
  } catch (error) {
    return { refusal: error as LoomError };
  }
}

async function readAll(log: Log): Promise<readonly EventRecord[]> {
  return (await log.getSession("s")) === undefined ? [] : (await log.read("s", { after: 0, limit: 1000 })).records;
}

/** Frames of a run's vector in a dialect, without those that its own rules refuse. */
function encodeVector(records: readonly EventRecord[], dialect: DialectName): string[] {
  const encoder = DIALECTS[dialect].createEncoder();
  const stamp = createStamper();
  return records.flatMap((record) => encoder.encode(stamp(record)));
}

function decodeTexts(texts: readonly string[], dialect: DialectName): EventRecord[] {
  const decoder = DIALECTS[dialect].createDecoder();
  return texts.flatMap((text) => decoder.decode(text).records);
}

const NUMBERS: ReadonlySet<string> = new Set(["first_event_id", "last_event_id", "frame_count", "has_reply"]);

/** False for the reply of a run that did not complete, which is added if the sender sent none. */
function isSent({ event }: EventRecord, index: number, records: readonly EventRecord[]): boolean {
  const before = records[index - 1]?.event;
  return event.type !== "reply" || before === undefined || !isBeforeReply(before);
}

/** Removes IDs, times and the fields of `run_end` that depend on them. */
function strip({ envelope, event }: EventRecord): unknown {
  const { node_id, ext } = unmarkForeign(envelope);
  const isStart = event.type === "run_start";
  const fields = Object.entries(event).filter(([name]) => !NUMBERS.has(name) && !(isStart && name === "run_id"));
  return { node_id, ext, event: Object.fromEntries(fields) };
}

/** A stream from outside can allow no tool, and its references to records are not kept. */
function revoke({ envelope, event }: EventRecord): EventRecord {
  return { envelope, event: event.type === "tool_permission" ? { ...event, rule: "ask" } : hideContent(event) };
}

/** Numbers the runs of the records, independent of their IDs. */
function groupRuns(records: readonly EventRecord[]): (number | undefined)[] {
  const runs: (string | undefined)[] = [];
  return records.map(({ envelope: { run_id } }) => {
    if (run_id === undefined) return undefined;
    if (!runs.includes(run_id)) runs.push(run_id);
    return runs.indexOf(run_id);
  });
}

/** Returns the error-level rules that the frames break, without rules about the end of the stream. */
function findErrors(texts: readonly string[], dialect: DialectName): readonly string[] {
  const check = createStreamCheck(DIALECTS[dialect]);
  const issues = texts.flatMap((text) => check.check(text).issues);
  return issues.filter(({ level }) => level === "error").map(({ rule }) => rule);
}

describe.each(NAMES)("%s: a run that is ingested", (dialect) => {
  const runs = RUNS.filter(
    (vector, at) => vector.dialect === dialect || (at + NAMES.indexOf(dialect)) % INGEST_SAMPLES.runStep === 0,
  );
  test.each(runs.map((vector) => [vector.name, vector] as const))("%s", async (_name, { records, dialect: own }) => {
    const all = records.flat();
    const texts = encodeVector(all, dialect);
    const wanted = decodeTexts(texts, dialect).map(revoke);
    const errors = findErrors(texts, dialect);
    const log = new MemoryLog();
    const outcome = await ingest(log, texts, dialect);
    const stored = await readAll(log);
    if (errors.length > 0) {
      expect(outcome).toMatchObject({ refusal: { code: "ingest_invalid", details: { rule: errors[0] } } });
      expect(own === dialect && errors).not.toBe(true);
      return;
    }
    if (wanted.length === 0) {
      expect(outcome).toMatchObject({ refusal: { code: "ingest_invalid", details: { rule: "record-missing" } } });
      expect(await log.getSession("s")).toBeUndefined();
      return;
    }
    expect(outcome).toHaveProperty("ok");
    expect(stored.filter(isSent).map(strip)).toEqual(wanted.filter(isSent).map(strip));
    if (wanted.every(({ envelope }) => envelope.run_id !== undefined))
      expect(groupRuns(stored.filter(isSent))).toEqual(groupRuns(wanted.filter(isSent)));
    expect(findErrors(encodeVector(stored, "loom"), "loom")).toEqual([]);
    expect((await log.listRuns("s")).filter(({ status }) => status === "live")).toEqual([]);
  });
});

interface Reject {
  readonly name: string;
  readonly dialect: DialectName;
  readonly mode: "frame" | "stream";
  readonly frames?: readonly unknown[];
  readonly text?: string;
  readonly bytes_base64?: string;
  readonly framing?: "ndjson" | "sse";
  readonly maxLineBytes?: number;
  readonly fill?: { readonly [mark: string]: readonly [text: string, times: number] };
  readonly expect: readonly { readonly frame: number | "end"; readonly rule: string; readonly level: string }[];
}

const FOLDER = join(VECTORS, "rejects");
const REJECTS = readdirSync(FOLDER).flatMap(
  (file) => JSON.parse(readFileSync(join(FOLDER, file), "utf8")) as readonly Reject[],
);

describe("an invalid stream is refused for the rule it breaks", () => {
  const musts = REJECTS.filter(({ expect: issues }) => issues.some(isMust));
  const inFrames = musts.filter(({ mode, frames }) => mode === "frame" && frames !== undefined);

  test.each(inFrames.map((reject) => [reject.name, reject] as const))("%s, frame by frame", async (_name, reject) => {
    for (const { frame, rule } of reject.expect.filter(isMust)) {
      const text = (textsOf(reject) ?? [])[frame as number] ?? "";
      // A blank line is not a frame.
      if (text === "") continue;
      const log = new MemoryLog();
      const outcome = await ingest(log, [text], reject.dialect);
      // A frame may break several rules, and another one because it is the first.
      const rules = findErrors([text], reject.dialect);
      expect(rules).toContain(rule);
      const details = { rule: rules[0], line: 1, accepted: 0 };
      expect(outcome).toMatchObject({ refusal: { code: "ingest_invalid", details } });
      expect(await log.getSession("s")).toBeUndefined();
    }
  });

  // The log does not accept answers of this size, so this rule cannot be reached.
  const isReachable = ({ name }: Reject) => !name.endsWith("-answer-past-limit");
  const streams = musts.filter((reject) => !inFrames.includes(reject) && isReachable(reject));

  test.each(streams.map((reject) => [reject.name, reject] as const))("%s", async (_name, reject) => {
    const { dialect, text = "", bytes_base64, framing = "ndjson", maxLineBytes } = reject;
    const first = reject.expect.find(isMust);
    const texts = textsOf(reject);
    const bytes =
      texts === undefined
        ? Buffer.from(bytes_base64 ?? text, bytes_base64 === undefined ? "utf8" : "base64")
        : Buffer.from(texts.map((each) => `${each}\n`).join(""));
    const log = new MemoryLog();
    const outcome = await ingestBytes(log, bytes, dialect, framing, maxLineBytes ?? 8 * 1024 * 1024);
    if (first?.frame === "end" || reject.name.includes("cut-")) {
      // The stream is only incomplete.
      const rules = "ok" in outcome ? outcome.ok.warnings.map(({ rule }) => rule) : [];
      for (const { frame, rule } of reject.expect.filter(isMust))
        expect(rules).toContain(frame === "end" ? rule : "frame-unfinished");
      const cut = (await log.listRuns("s")).filter(({ status }) => status !== "completed");
      expect(cut).toEqual(
        rules.some(isUnended) ? [expect.objectContaining({ status: "error", code: "stream_cut" })] : [],
      );
      return;
    }
    expect(outcome).toMatchObject({ refusal: { code: "ingest_invalid", details: { rule: first?.rule } } });
    const details = "refusal" in outcome ? outcome.refusal.details : {};
    if (typeof first?.frame === "number" && texts !== undefined) expect(details["accepted"]).toBe(first.frame);
    const runs = (await log.getSession("s")) === undefined ? [] : await log.listRuns("s");
    expect(runs.filter(({ status }) => status === "live")).toEqual([]);
    expect(findErrors(encodeVector(await readAll(log), "loom"), "loom")).toEqual([]);
  });
});

function textsOf({ frames, fill = {} }: Reject): string[] | undefined {
  const marks = Object.entries(fill);
  return frames?.map((frame) =>
    marks.reduce((whole, [mark, [part, times]]) => whole.replaceAll(mark, part.repeat(times)), frameText(frame)),
  );
}

function isUnended(rule: string): boolean {
  return Object.values(DIALECTS).some(({ unendedRule: unended }) => unended.name === rule);
}

function isMust({ level }: { readonly level: string }): boolean {
  return level === "error";
}

describe.each(NAMES)("%s: an incomplete body is stored as cut", (dialect) => {
  test("after a frame, and inside a frame", async () => {
    const vector = RUNS.find(({ name }) => name === "react-tools");
    const texts = encodeVector(vector?.records.flat() ?? [], dialect);
    for (let count = 1; count < texts.length; count += INGEST_SAMPLES.cutStep)
      for (const part of ["", texts[count]?.slice(0, 7) ?? ""]) {
        const log = new MemoryLog();
        const kept = texts.slice(0, count);
        const wanted = decodeTexts(kept, dialect);
        const bytes = Buffer.from(`${kept.join("\n")}\n${part}`);
        const outcome = await ingestBytes(log, bytes, dialect, "ndjson", 1e6);
        if (wanted.length === 0) {
          const details = { rule: "record-missing" };
          expect(outcome).toMatchObject({ refusal: { code: "ingest_invalid", details } });
          expect(await log.getSession("s")).toBeUndefined();
          continue;
        }
        expect(outcome).toMatchObject({ ok: { frames: count } });
        const rules = "ok" in outcome ? outcome.ok.warnings.map(({ rule }) => rule) : [];
        expect(rules.includes("frame-unfinished")).toBe(part !== "");
        if (wanted.some(({ event }) => event.type === "reply")) continue;
        expect(rules).toContain(DIALECTS[dialect].unendedRule.name);
        expect(await log.listRuns("s")).toMatchObject([{ status: "error", code: "stream_cut" }]);
      }
  });
});

describe.each(NAMES)("%s: a broken connection keeps the frames before it", (dialect) => {
  test("at any frame", async () => {
    const vector = RUNS.find(({ name }) => name === "react-tools");
    const texts = encodeVector(vector?.records.flat() ?? [], dialect);
    expect(texts.length).toBeGreaterThan(3);
    for (let count = 1; count < texts.length; count += INGEST_SAMPLES.cutStep) {
      const log = new MemoryLog();
      const kept = texts.slice(0, count);
      // Part of the next frame.
      const bytes = Buffer.from(`${kept.join("\n")}\n${texts[count]?.slice(0, 7)}`);
      const outcome = await ingestBytes(log, bytes, dialect, "ndjson", 1e6, true);
      expect(outcome).toMatchObject({ refusal: { code: "stream_cut" } });
      const wanted = decodeTexts(kept, dialect).filter(({ event }) => event.type !== "run_end");
      const stored = await readAll(log);
      expect(stored.slice(0, wanted.length).map(strip)).toEqual(wanted.map(strip));
      // Some frames decode to no record, and nothing is cut after the reply.
      if (wanted.length === 0 || wanted.some(({ event }) => event.type === "reply")) continue;
      expect(await log.listRuns("s")).toMatchObject([{ status: "error", code: "stream_cut" }]);
      expect(findErrors(encodeVector(stored, "loom"), "loom")).toEqual([]);
    }
  });
});
