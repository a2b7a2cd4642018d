// One projection for the wire, the callbacks and the facade: they must not differ.
import fc from "fast-check";
import { expect, it } from "vitest";
import { interleavedSessionArbitrary } from "../../../test/log-sessions.ts";
import { SAMPLES } from "../../../test/sampling.ts";
import type { StampedRecord } from "../../protocol/index.ts";
import { createStreamEventEncoder } from "./encode.ts";
import { createStreamEventProjection, type ProjectionOptions } from "./project.ts";

function project(records: readonly StampedRecord[], options?: ProjectionOptions) {
  const projection = createStreamEventProjection(options);
  return { events: records.map((record) => projection.project(record)), dropped: projection.dropped };
}

it("the wire is the projection, as texts", () => {
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

it("without text it is the same less the text, at the same records", () => {
  fc.assert(
    fc.property(interleavedSessionArbitrary, (records) => {
      const { events } = project(records);
      const spoken = events.map((made) => made.filter(({ type }) => type !== "text_delta"));
      expect(project(records, { text: false }).events).toEqual(spoken);
    }),
    { numRuns: SAMPLES.sessions },
  );
});

it("text makes held calls known, also to those who do not want the text", () => {
  const at = (event_id: number, node_id: string, event: StampedRecord["event"]): StampedRecord => ({
    envelope: { session_id: "s", run_id: "r", node_id, event_id, ts: event_id * 1000 },
    event,
  });
  const records = [
    at(1, "a", { type: "tool_call", call_id: "c1", name: "add", arguments: {} }),
    at(2, "b", { type: "message_chunk", content: "x", id: "think" }),
    at(3, "a", { type: "message_chunk", content: "y", id: "think" }),
  ];
  // After the text of the other node run, which came later.
  expect(project(records, { text: false }).events).toMatchObject([[], [], [{ type: "tool_calls_start", ts: 2 }]]);
});
