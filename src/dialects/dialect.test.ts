/** Runs the contract for every dialect, and checks what needs all of them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { EventOf, JsonObject, StampedRecord } from "../protocol/index.ts";
import { FRAME_RULES } from "../protocol/rules.ts";
import { LIFECYCLE_RULES } from "../protocol/verify/lifecycle-rules.ts";
import { packageRoot } from "../../test/source-files.ts";
import { frameText, listVectorFiles, readVector } from "../../test/vectors.ts";
import { describeDialect } from "../../test/contracts/dialect.ts";
import { detectDialect, DIALECT_NAMES, DIALECTS } from "./index.ts";
import { DECODERS, detectDecoder } from "./decoders.ts";
import { loadDialect } from "./load-dialect.ts";

const RUNS = listVectorFiles("runs").map(readVector);
const SAMPLES = listVectorFiles("samples").map(readVector);
const REACT = RUNS.find((vector) => vector.name === "react-tools");
const records = RUNS.flatMap((vector) => vector.records.flat()).map((record, index): StampedRecord => ({
  ...record,
  envelope: { ...record.envelope, session_id: "s", event_id: index + 1 },
}));

for (const dialect of Object.values(DIALECTS)) {
  const textsOf = (vector: (typeof RUNS)[number] | undefined) =>
    (vector?.encodings[dialect.name] ?? []).flat().map((frame) => JSON.stringify(frame));
  const samples = SAMPLES.filter((vector) => vector.dialect === dialect.name).map(({ frames }) =>
    frames.map(frameText),
  );
  describeDialect(dialect, { run: textsOf(REACT), streams: [...RUNS.map(textsOf), ...samples], records });
}

/** A new field of the event is a compile error here. */
const RUN_START: Required<EventOf<"run_start">> = {
  type: "run_start",
  run_id: "r",
  message: "Hello",
  agent: "react",
  contiguous: true,
  source: "execute",
  request_id: "q",
  context: { user: 7 },
  attachments: [{ blob_id: "b", media_type: "image/png", bytes: 1 }],
  reasoning: "low",
  strategy: { beam: 3 },
  actor: "token:k3x9",
  tool_rules: { "*": "ask" },
  on_interruption: "fail",
  capabilities: ["approval"],
  client_tools: [{ name: "locate" }],
  instructions: "Be brief",
  output_schema: { type: "object" },
};

describe("dialects", () => {
  test("ag-ui sends the frame of another program with a field that its type does not declare", () => {
    const value = { type: "CUSTOM", name: "x", value: 1, delta: "abc" };
    const envelope = { session_id: "s", run_id: "r", event_id: 1, ts: 0 };
    const frames = DIALECTS["ag-ui"].createEncoder().encode({ envelope, event: { type: "custom", value } });
    expect(frames.map((frame) => JSON.parse(frame) as unknown)).toContainEqual(value);
  });

  test("engine keeps the metadata of a payload that is next to the type", () => {
    const frame = { type: "dataframe_data", name: "sales", metadata: { source: "shop" } };
    const { records, issues } = DIALECTS.engine.createDecoder().decode(JSON.stringify(frame));
    expect(issues.map(({ rule }) => rule)).toEqual(["engine-legacy"]);
    expect(records.at(-1)?.event).toEqual({
      type: "data",
      data_type: "dataframe",
      data: { name: "sales", metadata: { source: "shop" } },
      metadata: { source: "shop" },
    });
  });

  test.each(DIALECT_NAMES)("%s states which fields of run_start it does not send", (name) => {
    const { createEncoder, createDecoder, ledger } = DIALECTS[name];
    const envelope = { session_id: "s", run_id: "r", event_id: 1, ts: 0 };
    const later = { envelope: { ...envelope, event_id: 2 }, event: { type: "error", message: "x" } } as const;
    const encoder = createEncoder();
    const decoder = createDecoder();
    const [start] = [{ envelope, event: RUN_START }, later]
      .flatMap((record) => encoder.encode(record))
      .flatMap((text) => decoder.decode(text).records);
    const lost = Object.keys(RUN_START).filter((field) => !Object.hasOwn(start?.event ?? {}, field));
    expect(ledger.run_start).toMatchObject({ lostFields: lost });
  });

  test("have unique rule names, each described in spec/rules.json", () => {
    const shared = Object.keys({ ...FRAME_RULES, ...LIFECYCLE_RULES });
    const names = [...shared, ...Object.values(DIALECTS).flatMap((dialect) => Object.keys(dialect.rules))];
    expect(new Set(names).size).toBe(names.length);
    const texts = JSON.parse(readFileSync(join(packageRoot, "spec", "rules.json"), "utf8")) as {
      [rule: string]: object;
    };
    expect(Object.keys(texts)).toEqual(names);
    // Only the protocol is documented in Chinese too.
    for (const name of names)
      expect(Object.keys(texts[name] ?? {}), name).toEqual(shared.includes(name) ? ["en", "zh"] : ["en"]);
  });

  test("are detected from the first frames of a run", () => {
    for (const vector of RUNS) {
      for (const name of Object.keys(DIALECTS)) {
        const texts = (vector.encodings[name] ?? []).flat().map((frame) => JSON.stringify(frame));
        expect(detectDialect(texts)?.name, `${vector.name} in ${name}`).toBe(name);
        const parsed = texts.map((text) => JSON.parse(text) as JsonObject);
        expect(detectDecoder(parsed), `${vector.name} in ${name}`).toBe(name);
      }
    }
  });

  test("have the same decoders as decoders.ts", () => {
    for (const name of DIALECT_NAMES) {
      expect(DIALECTS[name].name).toBe(name);
      expect(DIALECTS[name]).toMatchObject(DECODERS[name]);
    }
  });

  test("are loaded on demand as the same objects", async () => {
    for (const name of DIALECT_NAMES) expect(await loadDialect(name)).toBe(DIALECTS[name]);
  });

  test("are not detected in other text", () => {
    expect(detectDialect(["{}", "[]", "nonsense", '{"type":"unknown"}'])).toBeUndefined();
  });
});
