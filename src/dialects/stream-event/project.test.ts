// The wire, the callbacks and the stream of agent() share one projection.
import fc from "fast-check";
import { expect, it } from "vitest";
import { interleavedSessionArbitrary } from "../../../test/log-sessions.ts";
import { SAMPLES } from "../../../test/sampling.ts";
import type { StampedRecord } from "../../protocol/index.ts";
import { createStreamEventEncoder, createStreamEventProjection, type ProjectionOptions } from "./project.ts";

function project(records: readonly StampedRecord[], options?: ProjectionOptions) {
  const projection = createStreamEventProjection(options);
  return { events: records.map((record) => projection.project(record)), dropped: projection.dropped };
}

it("encodes the projected events", () => {
  fc.assert(
    fc.property(interleavedSessionArbitrary, (records) => {
      const encoder = createStreamEventEncoder();
      const texts = records.map((record) => encoder.encode(record));
      const { events, dropped } = project(records);
      expect(texts).toEqual(events.map((made) => made.map((event) => JSON.stringify(event))));
      expect(encoder.dropped).toBe(dropped);
    }),
    { numRuns: SAMPLES.sessions },
  );
});

it("omits only text events without text", () => {
  fc.assert(
    fc.property(interleavedSessionArbitrary, (records) => {
      const { events } = project(records);
      const spoken = events.map((made) => made.filter(({ type }) => type !== "text_delta"));
      expect(project(records, { text: false }).events).toEqual(spoken);
    }),
    { numRuns: SAMPLES.sessions },
  );
});

function at(event_id: number, node_id: string, event: StampedRecord["event"]): StampedRecord {
  return { envelope: { session_id: "s", run_id: "r", node_id, event_id, ts: event_id * 1000 }, event };
}

const inOneNode = (...events: readonly StampedRecord["event"][]): readonly StampedRecord[] =>
  events.map((event, index) => at(index + 1, "a", event));

it("announces held calls on a text chunk, even without text", () => {
  const records = [
    at(1, "a", { type: "tool_call", call_id: "c1", name: "add", arguments: {} }),
    at(2, "b", { type: "message_chunk", content: "x", id: "think" }),
    at(3, "a", { type: "message_chunk", content: "y", id: "think" }),
  ];
  // After the text of the other node run, which is later.
  expect(project(records, { text: false }).events).toMatchObject([[], [], [{ type: "tool_calls_start", ts: 2 }]]);
});

it("gives no result for a call that was never completed", () => {
  const chunk = { type: "tool_call_chunk", name: "add", arguments_delta: "{" } as const;
  const end = { type: "tool_end", name: "add", result: "no", is_error: true } as const;
  const { events } = project(
    inOneNode(
      { ...chunk, call_id: "c1" },
      { ...chunk, call_id: "c2" },
      { type: "tool_call", call_id: "c2", name: "add", arguments: {} },
      { ...chunk, call_id: "c2" },
      { ...end, call_id: "c1" },
      { ...end, call_id: "c2" },
      { ...end, call_id: "c3" },
      end,
    ),
  );
  // A result without a known call comes from elsewhere and is forwarded.
  expect(events.flat().map((event) => [event.type, "tool_call_id" in event ? event.tool_call_id : ""])).toEqual([
    ["tool_calls_start", ""],
    ["tool_result", "c2"],
    ["tool_result", "c3"],
    ["tool_result", "call_8"],
  ]);
});

it("does not count a summary, and gives calls in several frames the same iteration", () => {
  const ids = Array.from({ length: 2500 }, (_, n) => `c${n}`);
  const { events } = project(
    inOneNode(
      { type: "llm_start", llm_call_id: "a.summary.0", purpose: "summary" },
      { type: "llm_end", llm_call_id: "a.summary.0", purpose: "summary", finish_reason: "stop" },
      { type: "error", message: "no" },
      { type: "llm_start", llm_call_id: "a.0" },
      ...ids.map((call_id) => ({ type: "tool_call", call_id, name: "add", arguments: {} }) as const),
      { type: "llm_end", llm_call_id: "a.0", finish_reason: "tool_calls" },
    ),
  );
  const told = events.flat();
  expect(told.map((event) => ("iteration" in event ? event.iteration : undefined))).toEqual([0, 1, 1, 1]);
  expect(told.flatMap((event) => ("tool_calls" in event ? event.tool_calls : [])).map(({ id }) => id)).toEqual(ids);
});
