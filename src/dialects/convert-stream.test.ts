import { describe, expect, it } from "vitest";
import { makeGraphRun } from "../../test/log-sessions.ts";
import type { StampedRecord } from "../protocol/index.ts";
import { createStreamConverter } from "./convert-stream.ts";
import { createStreamCheck, DIALECTS } from "./index.ts";

const encoder = DIALECTS.loom.createEncoder();
const textsOf = (records: readonly StampedRecord[]) => records.flatMap((record) => encoder.encode(record));
const STATE = { list: ["item 1", "item 2"], n: 2 };

interface LoomFrame {
  readonly type: string;
}
type Frame = { readonly [key: string]: { readonly [field: string]: unknown } };

it.each([
  ["ai-sdk", "judgement", 1],
  ["ai-sdk", "break", 1],
  ["engine", "judgement", 1],
  ["engine", "break", 0],
  ["stream-event", "thought", 1],
] as const)("%s counts text on the channel %s as lost: %i", (name, channel, count) => {
  const converter = createStreamConverter(DIALECTS.loom, DIALECTS[name]);
  converter.convert(JSON.stringify({ type: "message_chunk", content: "text", id: "think", channel }));
  expect(converter.lost.get("message_chunk") ?? 0).toBe(count);
});

describe("converting state deltas", () => {
  it("restores full states for targets without deltas", () => {
    const texts = textsOf(makeGraphRun("run-1", { steps: 2 }));
    const strict = createStreamConverter(DIALECTS.loom, DIALECTS.loom, { strict: true });
    const plain = texts.flatMap((text) => strict.convert(text).frames).map((text) => JSON.parse(text) as LoomFrame);
    expect(plain.filter((frame) => "delta" in frame)).toEqual([]);
    expect(plain.findLast(({ type }) => type === "values")).toMatchObject({ state: STATE });

    const exporter = createStreamConverter(DIALECTS.loom, DIALECTS.export);
    const exported = texts.flatMap((text) => exporter.convert(text).frames).map((text) => JSON.parse(text) as Frame);
    expect(exported.findLast((frame) => "Values" in frame)).toEqual({ Values: STATE });
    expect(exported.findLast((frame) => "Checkpoint" in frame)?.["Checkpoint"]).toMatchObject({ state: STATE });
    expect(exported.findLast((frame) => "Updates" in frame)?.["Updates"]).toEqual({
      node_id: "work",
      state: STATE,
      written: STATE,
      task: 0,
    });
    expect(exporter.lost.size).toBe(0);
  });

  it("omits the stored results of parts, and keeps the proof that nothing else is missing", () => {
    const run = makeGraphRun("run-1", { steps: 2 });
    const at = run.findIndex(({ event }) => event.type === "node_exit");
    const part = {
      type: "updates",
      id: "work",
      state: { result: 1 },
      checkpoint_ns: "work:1.0|p",
      delta: false,
    } as const;
    const { envelope } = run[at - 1] as StampedRecord;
    const records = [...run.slice(0, at), { envelope, event: part }, ...run.slice(at)].map(
      (record, index): StampedRecord => {
        const { event } = record;
        const stamped = { ...record.envelope, event_id: index + 1 };
        if (event.type !== "run_end") return { envelope: stamped, event };
        const count = run.length + 1;
        return { envelope: stamped, event: { ...event, frame_count: count, last_event_id: count } };
      },
    );
    const texts = textsOf(records);
    for (const [name, options] of [
      ["loom", { strict: true }],
      ["export", {}],
    ] as const) {
      const converter = createStreamConverter(DIALECTS.loom, DIALECTS[name], options);
      const frames = texts.flatMap((text) => converter.convert(text).frames);
      expect(frames.join()).not.toContain('result":1');
      expect([...converter.lost]).toEqual([["updates", 1]]);
      const check = createStreamCheck(DIALECTS[name]);
      const issues = [...frames.flatMap((text) => check.check(text).issues), ...check.end()];
      // Strict form cannot name the omitted frame.
      expect(issues.map(({ rule }) => rule)).toEqual(name === "loom" ? ["event-id-jump"] : []);
    }
  });

  it("keeps deltas for targets that support them", () => {
    const texts = textsOf(makeGraphRun("run-1", { steps: 2 }));
    const converter = createStreamConverter(DIALECTS.loom, DIALECTS.loom);
    expect(texts.flatMap((text) => converter.convert(text).frames)).toEqual(texts);
  });

  it("omits and counts deltas without a full state", () => {
    const records = makeGraphRun("run-1", { steps: 2 }).filter(({ event }) => !("step" in event && event.step === 0));
    const converter = createStreamConverter(DIALECTS.loom, DIALECTS.export);
    const frames = textsOf(records).flatMap((text) => converter.convert(text).frames);
    expect(frames.filter((text) => /^\{"(Values|Updates|Checkpoint)"/.test(text))).toEqual([]);
    expect([...converter.lost]).toEqual([
      ["updates", 2],
      ["values", 2],
      ["checkpoint", 2],
    ]);
  });
});

describe("converting the default stream, which has no states", () => {
  const first = makeGraphRun("run-1", { steps: 2 });
  const second = makeGraphRun("run-2", { steps: 2, after: first.length });
  const STATES = new Set(["updates", "values", "checkpoint"]);
  let last = 0;
  const texts = textsOf(
    [...first, ...second]
      .filter(({ event }) => !STATES.has(event.type))
      .map(({ envelope, event }) => {
        const prev_event_id = last;
        last = envelope.event_id;
        return prev_event_id === last - 1 ? { envelope, event } : { envelope: { ...envelope, prev_event_id }, event };
      }),
  );
  const issuesOf = (frames: readonly string[], name: "loom" | "export") => {
    const check = createStreamCheck(DIALECTS[name]);
    return [...frames.flatMap((text) => check.check(text).issues), ...check.end()].filter(
      ({ rule }) => rule !== "envelope-missing",
    );
  };

  it.each([
    ["export", {}],
    ["export", { strict: true }],
    ["loom", { envelope: false }],
    ["loom", { envelope: false, strict: true }],
  ] as const)("counts its frames in %s, which has no event IDs, with %o", (name, options) => {
    const converter = createStreamConverter(DIALECTS.loom, DIALECTS[name], options);
    const frames = texts.flatMap((text) => converter.convert(text).frames);
    expect(issuesOf(frames, name)).toEqual([]);
    // A lost frame is still reported.
    expect(issuesOf(frames.toSpliced(2, 1), name).map(({ rule }) => rule)).toContain("run-end-proof");

    const back = createStreamConverter(DIALECTS[name], DIALECTS.loom);
    expect(
      issuesOf(
        frames.flatMap((text) => back.convert(text).frames),
        "loom",
      ),
    ).toEqual([]);
  });
});
