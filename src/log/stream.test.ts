import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import {
  gather,
  interleavedSessionArbitrary,
  LOGS,
  makeChunks,
  makeRun,
  mixedSessionArbitrary,
  namelessSessionArbitrary,
  statefulSessionArbitrary,
  writeRecords,
} from "../../test/log-sessions.ts";
import { FORMS } from "../../test/vectors.ts";
import { DIALECTS } from "../dialects/index.ts";
import { createRecordReader } from "../dialects/loom/decode.ts";
import { type AnyEvent, type StampedRecord, StateFold } from "../protocol/index.ts";
import { isStateEvent } from "../protocol/state-fold.ts";
import { findStreamMode, type StreamModes } from "../protocol/stream-modes.ts";
import { createCursorFormat, ENCODER_VERSION, encoderVersionOf, formatCursor } from "./cursor.ts";
import { createEntry } from "./entry.ts";
import { describeHolder } from "./holder.ts";
import type { Log } from "./log.ts";
import { openStream, type StreamFrame, type StreamOptions, type StreamStartInfo } from "./stream.ts";
import { LONG } from "../../test/sampling.ts";

const SAMPLES = LONG ? { sessions: 150, cuts: 100, records: 1_000_000 } : { sessions: 2, cuts: 5, records: 10_000 };

type Form = Pick<StreamOptions, "dialect" | "encoderOptions" | "modes">;

const STREAMS: readonly (readonly [string, Form])[] = [
  ...Object.entries(FORMS).map(([name, { dialect, options }]): [string, Form] => [
    name,
    { dialect, encoderOptions: options },
  ]),
  ["lumine-follow", { dialect: "lumine", encoderOptions: { follow: true } }],
  ["engine-debug", { dialect: "engine", encoderOptions: { debug: true } }],
];

const read = async (log: Log, options: StreamOptions): Promise<StreamFrame[]> =>
  (await gather(openStream(log, "s", options))).flat();

/** At most `most` positions, spread evenly. */
function spread(count: number, most: number): number[] {
  const step = Math.max(1, Math.ceil(count / most));
  return Array.from({ length: Math.ceil(count / step) }, (_, index) => index * step);
}

/** Some frames, such as `[DONE]`, are not JSON. */
function parseFrame(text: string): unknown {
  return /^[{"]/.test(text) ? JSON.parse(text) : text;
}

/** Checks that resuming by cursor and by count continues the original stream at every position. */
async function expectResumable(log: Log, form: Form, texts: readonly string[] | undefined): Promise<void> {
  // One record per page, so that there can be a snapshot after each.
  const uncut = await read(log, { ...form, limit: 1 });
  expect(await read(log, form)).toEqual(uncut);
  // The order of fields is that of the stored texts.
  if (texts !== undefined) expect(uncut.map(({ text }) => parseFrame(text))).toEqual(texts.map(parseFrame));
  expect(new Set(uncut.map(({ cursor }) => cursor)).size).toBe(uncut.length);
  for (const at of spread(uncut.length, SAMPLES.cuts)) {
    const { cursor } = uncut[at] as StreamFrame;
    const rest = uncut.slice(at + 1);
    expect(await read(log, { ...form, cursor, limit: 1 + (at % 9) })).toEqual(rest);
    expect(await read(log, { ...form, skip: at + 1, limit: 1 + (at % 5) })).toEqual(rest);
    const skip = Math.min(rest.length, 1 + (at % 7));
    expect(await read(log, { ...form, cursor, skip })).toEqual(rest.slice(skip));
    await expect(read(log, { ...form, cursor, skip: rest.length + 1 })).rejects.toMatchObject({ code: "cursor_ahead" });
  }
}

/** A simple reference implementation of the selection: parses all records, and tracks the previous one sent. */
function showRecords(records: readonly StampedRecord[], { dialect, encoderOptions, ...form }: Form): StampedRecord[] {
  const asked = form.modes ?? (encoderOptions?.strict === true ? "all" : undefined);
  // An encoder that writes changes of the state itself receives all events that change it.
  const writesChanges = DIALECTS[dialect].isStateful && DIALECTS[dialect].carriesDeltas;
  const hasValues = typeof asked === "object" && asked.includes("values");
  const modes = writesChanges && hasValues ? [...asked, "updates" as const, "checkpoints" as const] : asked;
  const folds = new Map<string | undefined, StateFold>();
  const leftOut = new Map<string | undefined, number>();
  const isCounted = dialect === "export" || encoderOptions?.envelope === false || encoderOptions?.strict === true;
  const shown: StampedRecord[] = [];
  for (const { envelope, event } of records) {
    const { run_id } = envelope;
    if (event.type === "run_start") leftOut.delete(run_id);
    let fold = folds.get(run_id);
    if (fold === undefined) folds.set(run_id, (fold = new StateFold()));
    fold.add(event);
    const mode = findStreamMode(event.type);
    const isSelected =
      modes === undefined
        ? !isStateEvent(event)
        : modes === "all" || mode === "always" || modes.includes(mode as never);
    const isWanted = mode !== "never" && isSelected;
    let given = modes === undefined || writesChanges ? event : fold.withFullState(event);
    if (!isWanted || given === undefined) {
      leftOut.set(run_id, (leftOut.get(run_id) ?? 0) + 1);
      continue;
    }
    const { frame_count } = given as { readonly frame_count?: number };
    if (isCounted && event.type === "run_end" && frame_count !== undefined)
      given = { ...given, frame_count: Math.max(0, frame_count - (leftOut.get(run_id) ?? 0)) };
    const before = shown.at(-1)?.envelope.event_id ?? 0;
    const isJump = dialect === "loom" && before !== envelope.event_id - 1;
    shown.push({ envelope: isJump ? { ...envelope, prev_event_id: before } : envelope, event: given });
  }
  return shown;
}

const MODES: readonly (StreamModes | undefined)[] = [
  undefined,
  "all",
  [],
  ["messages"],
  ["values"],
  ["updates", "nodes"],
  ["tools", "custom", "checkpoints"],
];

/** Records between snapshots: after every record, after some, or none. */
const snapshotArbitrary = fc.constantFrom(1, 1, 5, Number.POSITIVE_INFINITY);

/** The stored texts, or the frames one encoder creates from all records. */
function encode(records: readonly StampedRecord[], { dialect, encoderOptions }: Form): string[] {
  const texts = records.map((record) => createEntry(record).text);
  if (dialect === "loom" && encoderOptions === undefined) return texts;
  const encoder = DIALECTS[dialect].createEncoder(encoderOptions);
  const readRecord = createRecordReader();
  return texts.flatMap((text) => encoder.encode(readRecord(text) as StampedRecord));
}

function sequenceOf(text: string): number {
  return (JSON.parse(text) as { readonly metadata: { readonly sequence: number } }).metadata.sequence;
}

describe.each(LOGS)("openStream on a $name log", ({ open }) => {
  const kinds = [
    ["consecutive runs", mixedSessionArbitrary, STREAMS],
    ["overlapping runs", interleavedSessionArbitrary, STREAMS],
    ["runs without an id", namelessSessionArbitrary, STREAMS],
  ] as const;
  describe.each(kinds)("%s", (_kind, arbitrary, streams) => {
    test.each(streams)("%s: a resumed stream continues the original at every position", async (_name, form) => {
      await fc.assert(
        fc.asyncProperty(arbitrary, snapshotArbitrary, async (records, snapshotRecords) => {
          const log = await open({ snapshotRecords });
          await writeRecords(log, records, 13);
          await expectResumable(log, { ...form, modes: "all" }, encode(records, form));
          await log.close();
        }),
        { numRuns: SAMPLES.sessions },
      );
    });
  });

  test.each(STREAMS)("%s: continues in the middle of thoughts that wait for each other", async (_name, form) => {
    const nodes = ["a-1", "a-2", "b-3"];
    const put = (event: AnyEvent, node_id?: string) => ({ event, node_id });
    const piece = (n: number) => ({ type: "message_chunk", content: `${n}`, id: "a", channel: "thought" });
    const ended = { type: "node_exit", id: "a", result: "Ok" } as const;
    const events = [
      put({ type: "run_start", run_id: "r", contiguous: true }),
      ...nodes.map((node) => put({ type: "node_enter", id: node.slice(0, 1) }, node)),
      ...Array.from({ length: 9 }, (_, n) => put(piece(n), nodes[n % 3])),
      ...nodes.toReversed().map((node) => put({ ...ended, id: node.slice(0, 1) }, node)),
      put({ type: "run_end", status: "cancelled" }),
    ];
    const records = events.map(({ event, node_id }, index): StampedRecord => ({
      envelope: { session_id: "s", run_id: "r", event_id: index + 1, ts: index, ...(node_id && { node_id }) },
      event,
    }));
    for (const snapshotRecords of [1, 5, Number.POSITIVE_INFINITY]) {
      const log = await open({ snapshotRecords });
      await writeRecords(log, records, 4);
      await expectResumable(log, form, undefined);
      await log.close();
    }
  });

  test.each(STREAMS)("%s: sends the selected events with full states, from every position", async (_name, form) => {
    await fc.assert(
      fc.asyncProperty(
        statefulSessionArbitrary,
        fc.constantFrom(...MODES),
        snapshotArbitrary,
        async (records, modes, snapshotRecords) => {
          const log = await open({ maxPageRecords: 7, snapshotRecords });
          await writeRecords(log, records, 13);
          const asked = { ...form, modes };
          const isStored = form.dialect === "loom" && form.encoderOptions === undefined;
          const readRecord = createRecordReader();
          const stored = records.map((record) => readRecord(createEntry(record).text) as StampedRecord);
          const texts = encode(showRecords(stored, asked), form);
          // Stored texts keep the order of their fields.
          const parse = (frames: readonly string[]) => frames.map((text) => JSON.parse(text) as { event_id?: number });
          const uncut = (await read(log, asked)).map(({ text }) => text);
          if (isStored) expect(parse(uncut)).toEqual(parse(texts));
          await expectResumable(log, asked, isStored ? undefined : texts);
          // From any record on, regardless of the omitted records before it.
          const ids = parse(uncut).map(({ event_id = 0 }) => event_id);
          if (isStored)
            for (const at of spread(records.length, SAMPLES.cuts)) {
              const rest = uncut.filter((_, index) => (ids[index] as number) > at);
              expect((await read(log, { ...asked, after: at })).map(({ text }) => text)).toEqual(rest);
            }
          await log.close();
        },
      ),
      { numRuns: SAMPLES.sessions * (form.dialect === "loom" ? 3 : 1) },
    );
  });

  test.each(STREAMS)("%s: sends the same after the oldest runs are pruned", async (_name, form) => {
    await fc.assert(
      fc.asyncProperty(
        statefulSessionArbitrary,
        fc.constantFrom(...MODES),
        snapshotArbitrary,
        async (records, modes, snapshotRecords) => {
          const log = await open({ snapshotRecords });
          const info = await writeRecords(log, records, 13);
          const asked = { ...form, modes };
          const before = await read(log, { ...asked, limit: 1 });
          await log.prune({ maxSessionBytes: Math.floor(info.bytes / 2) });
          const firstId = (await log.getSession("s"))?.firstId ?? 0;
          const held = await read(log, asked);
          expect(before.slice(before.length - held.length)).toEqual(held);
          for (const at of spread(before.length, SAMPLES.cuts)) {
            const { cursor } = before[at] as StreamFrame;
            const [, , id, frame] = cursor.split(".");
            const needed = Number(id) + (frame === undefined ? 1 : 0);
            if (needed < firstId)
              await expect(read(log, { ...asked, cursor })).rejects.toMatchObject({
                code: "evicted",
                details: { first_event_id: firstId },
              });
            else expect(await read(log, { ...asked, cursor })).toEqual(before.slice(at + 1));
          }
          await log.close();
        },
      ),
      { numRuns: SAMPLES.sessions },
    );
  });

  test.each(STREAMS)("%s: sends the same live, with interruptions, as replayed", async (_name, form) => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(mixedSessionArbitrary, statefulSessionArbitrary),
        fc.array(fc.nat({ max: 4 }), { minLength: 4 }),
        fc.constantFrom(...MODES),
        snapshotArbitrary,
        async (records, sizes, modes, snapshotRecords) => {
          const log = await open({ snapshotRecords });
          const asked = { ...form, modes };
          await log.createSession("s");
          const lease = await log.acquire("s", { holder: describeHolder(), ttlMs: 60_000 });
          const total = encode(showRecords(records, asked), form).length;
          const got: StreamFrame[] = [];
          const reading = (async () => {
            for (let turn = 0; got.length < total; turn++) {
              let left = 1 + (sizes[turn % sizes.length] ?? 0);
              const cursor = got.at(-1)?.cursor;
              const last = { ...asked, follow: true, ...(cursor === undefined ? { after: 0 } : { cursor }) };
              for await (const batch of openStream(log, "s", last)) {
                // A client may be interrupted anywhere, also within a batch.
                const taken = batch.slice(0, left);
                got.push(...taken);
                left -= taken.length;
                if (left === 0 || got.length === total) break;
              }
            }
          })();
          let lastId = 0;
          for (let at = 0, turn = 0; at < records.length; turn++) {
            const size = 1 + (sizes[turn % sizes.length] ?? 0);
            const entries = records.slice(at, at + size).map(createEntry);
            ({ lastId } = await log.append({ sessionId: "s", epoch: lease.epoch, expectedLastId: lastId, entries }));
            at += size;
          }
          await reading;
          expect(got).toEqual(await read(log, asked));
          await log.close();
        },
      ),
      { numRuns: SAMPLES.sessions },
    );
  });

  test("starts at the first stored record by default, and rejects record 0 of a session that starts later", async () => {
    const log = await open();
    await writeRecords(log, makeRun("run-1", { after: 10 }));
    const frames = await read(log, { dialect: "loom" });
    expect(frames.map(({ text }) => (JSON.parse(text) as { event_id: number }).event_id)).toEqual([11, 12, 13, 14]);
    await expect(read(log, { dialect: "loom", after: 0 })).rejects.toMatchObject({ code: "evicted" });
    expect(await read(log, { dialect: "loom", after: 12 })).toEqual(frames.slice(2));
    await log.close();
  });

  test.each(STREAMS)("%s: accepts or refuses cursors of another encoder version", async (_, form) => {
    const log = await open({ snapshotRecords: 1 });
    await writeRecords(log, [...makeRun("run-1"), ...makeRun("run-2", { after: 4 })]);
    const old = await read(log, { ...form, limit: 1 });
    // As if the frames of this dialect had changed. Snapshots of the other version are not read.
    const changed = { ...form, encoderVersion: ENCODER_VERSION + 1, limit: 1 };
    const uncut = await read(log, changed);
    expect(uncut.map(({ text }) => text)).toEqual(old.map(({ text }) => text));
    const { strict = false, envelope = true } = form.encoderOptions ?? {};
    const isIndependent = form.dialect === "loom" && !strict && envelope;
    for (const [from, to] of [
      [old, { options: changed, frames: uncut }],
      [uncut, { options: form, frames: old }],
    ] as const) {
      const [at, sessionCursor] = [Math.floor(from.length / 2), from[0]?.cursor];
      const resumed = read(log, { ...to.options, cursor: from[at]?.cursor });
      if (isIndependent) expect(await resumed).toEqual(to.frames.slice(at + 1));
      else await expect(resumed).rejects.toMatchObject({ code: "cursor_stale" });
      // The number of frames may have changed as well.
      const counted = read(log, { ...to.options, sessionCursor, skip: 2 });
      await expect(counted).rejects.toMatchObject({ code: "cursor_stale" });
      expect(await read(log, { ...to.options, sessionCursor })).toEqual(to.frames);
      expect(await read(log, { ...to.options, cursor: to.frames[at]?.cursor })).toEqual(to.frames.slice(at + 1));
    }
  });

  test("rejects invalid positions with their error code", async () => {
    const log = await open();
    const { incarnation } = await writeRecords(log, makeRun("run-1"));
    const at = (eventId: number, frame?: number) => ({
      cursor: createCursorFormat(incarnation, ENCODER_VERSION)(eventId, frame),
    });
    const refusals: readonly (readonly [string, Omit<StreamOptions, "dialect">])[] = [
      ["cursor_ahead", at(5)],
      ["cursor_ahead", { after: 5 }],
      ["cursor_ahead", { after: 4, skip: 1 }],
      ["cursor_ahead", { after: 4, skip: 1, follow: true }],
      ["cursor_ahead", { skip: 1000, follow: true }],
      ["cursor_stale", at(2, 7)],
      ["cursor_stale", { cursor: formatCursor("another", 2) }],
      ["cursor_stale", { cursor: `9${formatCursor(incarnation, 2)}.0` }],
      ["cursor_invalid", { cursor: "2" }],
      ["cursor_invalid", { after: -1 }],
      ["cursor_invalid", { after: 1.5 }],
      ["cursor_invalid", { after: 2 ** 53 }],
      ["cursor_invalid", { skip: -1 }],
      ["cursor_invalid", { skip: 0.5 }],
      ["cursor_invalid", { ...at(2), after: 2 }],
    ];
    for (const [, form] of STREAMS)
      for (const [code, options] of refusals)
        await expect(read(log, { ...form, ...options }), JSON.stringify(options)).rejects.toMatchObject({ code });
    await expect(gather(openStream(log, "t", { dialect: "loom" }))).rejects.toMatchObject({ code: "unknown_session" });
    await log.close();
  });

  test("rejects a cursor of a deleted session with the same ID", async () => {
    const log = await open();
    await writeRecords(log, makeRun("run-1"));
    const [frame] = await read(log, { dialect: "engine" });
    await log.deleteSession("s");
    await writeRecords(log, makeRun("run-1"));
    await expect(read(log, { dialect: "engine", cursor: frame?.cursor })).rejects.toMatchObject({
      code: "cursor_stale",
    });
    await log.close();
  });

  test.each(STREAMS)("%s: reports its start once, and frames counted from there are the same", async (_name, form) => {
    const log = await open({ maxPageRecords: 3 });
    const { incarnation } = await writeRecords(log, [...makeRun("run-1"), ...makeRun("run-2", { after: 4 })]);
    const all = await read(log, form);
    for (let skip = 0; skip <= all.length; skip++) {
      const starts: StreamStartInfo[] = [];
      const stop = new AbortController();
      const stream = openStream(log, "s", {
        ...form,
        skip,
        follow: true,
        signal: stop.signal,
        onStart: (start) => void starts.push(start),
      });
      const first = stream.next();
      // Also if everything is skipped and no frame follows.
      await vi.waitFor(() => expect(starts).toHaveLength(1), { interval: 1 });
      stop.abort();
      await first;
      await stream.return();
      const [{ cursor }] = starts as [StreamStartInfo];
      expect([starts.length, cursor]).toEqual([1, createCursorFormat(incarnation, encoderVersionOf(form))(0)]);
      expect(await read(log, { ...form, cursor, skip })).toEqual(all.slice(skip));
    }
    await log.close();
  });

  test("rejects a position if the session is not the one of `sessionCursor`", async () => {
    const log = await open();
    const old = await writeRecords(log, makeRun("run-1"));
    const sessionCursor = formatCursor(old.incarnation, 2);
    expect(await read(log, { dialect: "engine", after: 1, sessionCursor })).toEqual(
      await read(log, { dialect: "engine", after: 1 }),
    );
    await log.deleteSession("s");
    await writeRecords(log, makeRun("run-1"));
    for (const place of [{ after: 1 }, { skip: 1 }, {}])
      await expect(read(log, { dialect: "engine", ...place, sessionCursor })).rejects.toMatchObject({
        code: "cursor_stale",
      });
    await log.close();
  });

  test("reads a long run page by page, and resumes near its end", async () => {
    const log = await open({ maxPageRecords: 100 });
    const [start, , ...end] = makeRun("run-1");
    const count = SAMPLES.records;
    const records = [start, ...makeChunks(count, { after: 1 }), ...end].map((record, index): StampedRecord => {
      const { envelope, event } = record as StampedRecord;
      return { envelope: { ...envelope, event_id: index + 1 }, event };
    });
    const { incarnation } = await writeRecords(log, records);
    let largest = 0;
    let frames = 0;
    for await (const batch of openStream(log, "s", { dialect: "engine" })) {
      largest = Math.max(largest, batch.length);
      frames += batch.length;
    }
    expect(frames).toBe(count + 2);
    expect(largest).toBeLessThanOrEqual(101);
    const rest = await read(log, { dialect: "engine", cursor: formatCursor(incarnation, count) });
    expect(rest.map(({ text }) => sequenceOf(text))).toEqual([count, count + 1]);
    await log.close();
  });

  test("sends stored texts unchanged as loom frames", async () => {
    const log = await open();
    const records = makeRun("run-1");
    await writeRecords(log, records);
    expect((await read(log, { dialect: "loom" })).map(({ text }) => text)).toEqual(
      records.map((record) => createEntry(record).text),
    );
    await log.close();
  });
});
