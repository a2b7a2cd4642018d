import { describe, expect, test } from "vitest";
import type { AnyEvent, StampedRecord } from "../../protocol/index.ts";
import { exportDialect } from "./index.ts";

/** A run with three tasks, two of them of one name. */
function write(events: readonly (readonly [node: string | undefined, event: AnyEvent])[]): readonly StampedRecord[] {
  return events.map(([node, event], index) => ({
    envelope: { session_id: "s", run_id: "r", event_id: index + 1, ...(node === undefined ? {} : { node_id: node }) },
    event,
  }));
}

const text = (id: string, content: string): AnyEvent => ({ type: "message_chunk", content, id, channel: "thought" });
const RECORDS = write([
  [undefined, { type: "run_start", run_id: "r", contiguous: true }],
  ["value-1", { type: "node_enter", id: "value" }],
  ["value-2", { type: "node_enter", id: "value" }],
  ["other-3", { type: "node_enter", id: "other" }],
  ["value-1", text("value", "one ")],
  ["value-2", text("value", "two ")],
  ["other-3", text("other", "three ")],
  ["value-1", text("value", "and one")],
  ["value-2", text("value", "and two")],
  ["value-2", { type: "node_exit", id: "value", result: "Ok" }],
  ["value-1", { type: "node_exit", id: "value", result: "Ok" }],
  ["other-3", { type: "node_exit", id: "other", result: "Ok" }],
  [undefined, { type: "run_end", status: "cancelled", frame_count: 13 }],
]);

function show(frame: string): string {
  const [[key, body] = ["", {}]] = Object.entries(JSON.parse(frame) as { readonly [key: string]: unknown });
  const { chunk, node_id } = body as { readonly chunk?: { readonly content: string }; readonly node_id?: string };
  return chunk?.content ?? `${key} ${node_id ?? ""}`.trim();
}

describe("tasks of one name in parallel", () => {
  test.each([false, true])("send their text one after the other, each record as one frame (strict: %s)", (strict) => {
    const encoder = exportDialect.createEncoder({ strict });
    const frames = RECORDS.flatMap((record) => encoder.encode(record)).slice(0, RECORDS.length);
    expect(frames.map(show).slice(4)).toEqual([
      "one ",
      "three ",
      "and one",
      "TaskEnd value",
      "two ",
      "and two",
      "TaskEnd value",
      "TaskEnd other",
      "Custom",
    ]);
  });
});
