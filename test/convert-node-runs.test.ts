/** 001: a stream that was converted from a dialect without node runs enters the node that its chunks name. */
import { expect, test } from "vitest";
import { createStreamCheck, createStreamConverter, DIALECTS } from "../src/dialects/index.ts";
import { frameText, listVectorFiles, readVector } from "./vectors.ts";

/** Without the vector whose runs overlap: neither 002 nor `export` says which run a frame belongs to. */
const RUNS = listVectorFiles("runs")
  .map(readVector)
  .filter(({ name }) => name !== "interleaved-runs");
const PLAIN = ["engine", "lumine", "stream-event"] as const;

test.each(PLAIN)("a stream of %s gets node runs, and breaks no rule", (name) => {
  for (const { name: vector, encodings } of RUNS) {
    for (const to of ["loom", "export"] as const) {
      const converter = createStreamConverter(DIALECTS[name], DIALECTS[to]);
      const check = createStreamCheck(DIALECTS[to]);
      const issues = new Set<string>();
      for (const frame of (encodings[name] ?? []).flat())
        for (const text of converter.convert(frameText(frame)).frames)
          for (const { rule } of check.check(text).issues) if (/^(span|chunk|reply)-/.test(rule)) issues.add(rule);
      expect([...issues], `${vector} to ${to}`).toEqual([]);
      expect(check.totals.spans, vector).toBeGreaterThan(0);
    }
  }
});

test("a failed run fails its node run, and a run without content has none", () => {
  const engine = (type: string, data: object, sequence: number) =>
    JSON.stringify({ type, data, metadata: { request_id: "q", timestamp: 1, sequence } });
  const convert = (...frames: readonly string[]) => {
    const converter = createStreamConverter(DIALECTS.engine, DIALECTS.loom, { envelope: false });
    return frames.flatMap((frame) => converter.convert(frame).frames).map((text) => JSON.parse(text) as object);
  };
  const start = engine("session_start", { session_id: "s", request_id: "q" }, 0);
  expect(
    convert(start, engine("content", { content: "Hi" }, 1), engine("session_end", { status: "error" }, 2)),
  ).toMatchObject([
    { type: "run_start" },
    { type: "node_enter", id: "agent" },
    { type: "message_chunk", id: "agent" },
    { type: "node_exit", id: "agent", result: { Err: "error" } },
    { type: "run_end" },
  ]);
  expect(convert(start, engine("session_end", { status: "completed" }, 1))).toMatchObject([
    { type: "run_start" },
    { type: "run_end" },
    { reply: "" },
  ]);
});
