// Rows and axis of the timeline.
import fc from "fast-check";
import type { TurnView } from "loom-agent/client";
import { describe, expect, it } from "vitest";
import { RunRecording } from "./run-recording.ts";
import { findExtent, listTicks, buildTimeline } from "./timeline.ts";

function record(events: readonly { readonly type: string; readonly node_id?: string; readonly ts: number }[]) {
  const recording = new RunRecording({ session: "s", runId: "r", turnKey: "page" });
  for (const [i, event] of events.entries())
    recording.add({ text: JSON.stringify({ session_id: "s", run_id: "r", event_id: i + 1, ...event }) });
  recording.frames.setStatus("reading");
  return { recording, turn: recording.frames.getSnapshot().turn as TurnView };
}

describe("the timeline", () => {
  const { recording, turn } = record([
    { type: "run_start", ts: 1000, agent: "react", message: "hi", contiguous: true },
    { type: "node_enter", ts: 1010, node_id: "a", id: "think" },
    { type: "llm_start", ts: 1020, node_id: "a", llm_call_id: "l", model: "m" },
    { type: "tool_call", ts: 1030, node_id: "a", call_id: "c", name: "add", arguments: {} },
    { type: "llm_end", ts: 1040, node_id: "a", llm_call_id: "l" },
    { type: "node_enter", ts: 1050, node_id: "b", id: "inner", parent: "a" },
    { type: "tool_start", ts: 1060, node_id: "b", call_id: "c", name: "add" },
    { type: "tool_end", ts: 1080, node_id: "b", call_id: "c", name: "add", result: "3", is_error: false },
    { type: "node_exit", ts: 1090, node_id: "b", id: "inner", result: { Err: "no" } },
    { type: "node_exit", ts: 1100, node_id: "a", id: "think", result: "Ok" },
    { type: "node_enter", ts: 1110, node_id: "d", id: "answer" },
  ] as never);
  const rows = buildTimeline(turn, recording.index, "page");

  it("has a row for the run and for each node run, tool and model call, nested and in order", () => {
    expect(
      rows.map(({ kind, label, depth, start, end, status, frame }) => [kind, label, depth, start, end, status, frame]),
    ).toEqual([
      ["run", "react", 0, 0, undefined, "running", 0],
      ["node", "think", 1, 10, 100, "good", 1],
      ["call", "m", 2, 20, 40, "good", 2],
      ["tool", "add", 2, 60, 80, "good", 3],
      ["node", "inner", 2, 50, 90, "bad", 5],
      ["node", "answer", 1, 110, undefined, "running", 10],
    ]);
    expect(rows.map(({ target }) => target?.turn).filter(Boolean)).toEqual(["page", "page", "page", "page", "page"]);
  });

  it("ends with the longest row and has round ticks", () => {
    expect(findExtent(rows, 110)).toBe(110);
    expect(listTicks(110, 4)).toEqual([0, 50]);
    expect(listTicks(80, 4)).toEqual([0, 20, 40]);
    expect(listTicks(9500, 4)).toEqual([0, 5000]);
    expect(listTicks(100_000, 4)).toEqual([0, 30_000, 60_000]);
    expect(listTicks(400_000, 4)).toEqual([0, 120_000, 240_000]);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e9 }), fc.integer({ min: 2, max: 9 }), (extent, most) => {
        const ticks = listTicks(extent, most);
        expect(ticks.length).toBeLessThanOrEqual(most + 1);
        expect(ticks.at(-1)).toBeLessThanOrEqual(0.7 * extent);
        if (most > 3 && extent >= most) expect(ticks.length).toBeGreaterThan(1);
      }),
    );
  });

  it("handles deeply nested node runs", () => {
    const nodes = Array.from({ length: 9000 }, (_, i) => ({
      key: `n${i}`,
      name: "n",
      status: "ok" as const,
      ...(i === 0 ? {} : { parentKey: `n${i - 1}` }),
    }));
    const deep = buildTimeline({ ...turn, nodes }, recording.index, "page");
    expect(Math.max(...deep.map(({ depth }) => depth))).toBe(9000);
  });
});
