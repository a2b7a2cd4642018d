import { describe, expect, test, vi } from "vitest";
import { gather, LOGS, makeGraphRun, writeRecords } from "../../test/log-sessions.ts";
import { createRecordReader } from "../dialects/loom/decode.ts";
import type { StampedRecord } from "../protocol/index.ts";
import type { Log } from "./log.ts";
import { openStream, type StreamFrame, type StreamOptions } from "./stream.ts";

const read = async (log: Log, options: StreamOptions): Promise<StreamFrame[]> =>
  (await gather(openStream(log, "s", options))).flat();

describe.each(LOGS)("frames of a $name log", ({ open }) => {
  test("omits graph states however they are formatted, and nothing that only looks like one", async () => {
    const log = await open();
    const texts = [
      '"type":"run_start","run_id":"r","contiguous":true',
      '"type":"values","state":{},"delta":true',
      '"type":"values","delta":true,"state":{}',
      '"delta" : true,"type":"checkpoint","checkpoint_id":"c","timestamp":"","step":1,"state":{}',
      '"ext":{"engine":{"type":"values"}},"type":"updates","id":"n","state":{},"delta":true',
      '"type":"values","state":{},"delta":false',
      '"type":"checkpoint","checkpoint_id":"c","timestamp":"","step":0,"delta":false,"state":{}',
      '"type":"values","state":{"delta":true}',
      '"type":"updates","id":"n","state":{}',
      '"type":"shift","delta":true',
      '"type":"custom","value":{"type":"values","delta":true}',
      '"type":"message_chunk","content":",\\"type\\":\\"values\\",\\"delta\\":true}","id":"n"',
    ].map((rest, index) => `{"session_id":"s","run_id":"r","event_id":${index + 1},"ts":${index},${rest}}`);
    const readRecord = createRecordReader();
    const entries = texts.map((text) => ({ text, record: readRecord(text) as StampedRecord }));
    await log.createSession("s", { entries });
    const frames = (await read(log, { dialect: "loom" })).map(({ text }) => text);
    const chained = texts[9]?.replace('"ts":9', '"ts":9,"prev_event_id":1');
    expect(frames).toEqual([texts[0], chained, ...texts.slice(10)]);
    await log.close();
  });

  test("does not treat an event with a type as a reply, however it is formatted", async () => {
    const log = await open();
    const head = (id: number) => `"session_id":"s","run_id":"r","event_id":${id},"ts":${id}`;
    const texts = [
      `{${head(1)},"type":"run_start","run_id":"r","contiguous":true}`,
      `{"type":"message_chunk",${head(2)},"content":"a","id":"n","reply":"no"}`,
      `{${head(3)},"type" : "custom","value":1,"reply":"no"}`,
      `{${head(4)},"reply":"yes"}`,
    ];
    const readRecord = createRecordReader();
    await log.createSession("s", {
      entries: texts.map((text) => ({ text, record: readRecord(text) as StampedRecord })),
    });
    const ids = (await read(log, { dialect: "loom", modes: ["nodes"] })).map(
      ({ text }) => (JSON.parse(text) as { event_id: number }).event_id,
    );
    expect(ids).toEqual([1, 4]);
    await log.close();
  });

  test("sends states in batches of about a million characters, with a cursor per frame", async () => {
    const log = await open();
    await writeRecords(log, makeGraphRun("run-1", { steps: 100, list: ["x".repeat(50_000)] }));
    const form = { dialect: "loom", modes: "all" } as const;
    const batches = await gather(openStream(log, "s", form));
    expect(batches.length).toBeGreaterThan(10);
    for (const batch of batches)
      expect(batch.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThanOrEqual(1024 * 1024);
    const frames = batches.flat();
    const { cursor } = frames[300] as StreamFrame;
    expect(await read(log, { ...form, cursor })).toEqual(frames.slice(301));
    await log.close();
  });

  test("rejects a frame that is too long, after all frames before it", async () => {
    const log = await open();
    await writeRecords(log, makeGraphRun("run-1", { steps: 5, padding: "ä".repeat(200) }));
    const got: StreamFrame[] = [];
    const form = { dialect: "loom", modes: ["values"] as const, maxFrameBytes: 1200 } as const;
    const reading = async () => {
      for await (const batch of openStream(log, "s", form)) got.push(...batch);
    };
    await expect(reading()).rejects.toMatchObject({ code: "frame_too_long", details: { limit: 1200 } });
    expect(got).toHaveLength(3);
    const onStart = vi.fn();
    const again = read(log, { ...form, cursor: got.at(-1)?.cursor, onStart });
    await expect(again).rejects.toMatchObject({ code: "frame_too_long" });
    expect(onStart).not.toHaveBeenCalled();
    await log.close();
  });

  test("does not encode earlier states when resuming near the end", async () => {
    const log = await open();
    await writeRecords(log, makeGraphRun("run-1", { steps: 1000 }));
    const { lastId } = (await log.getSession("s")) as { readonly lastId: number };
    const written = vi.spyOn(JSON, "stringify");
    for (const modes of ["all", ["values"], ["updates"]] as const)
      expect(await read(log, { dialect: "loom", modes, after: lastId - 3 })).not.toEqual([]);
    const calls = written.mock.calls.filter(
      ([value]) => typeof value === "object" && value !== null && "state" in value,
    );
    written.mockRestore();
    expect(calls.length).toBeLessThanOrEqual(3);
    await log.close();
  });
});
