/**
 * Reads the golden vectors of `spec/vectors` and computes their generated parts. The `frames` of a vector are written
 * by hand; `npm run vectors` writes `issues`, `records` and `encodings`.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  createStamper,
  createStreamCheck,
  DIALECT_NAMES,
  DIALECTS,
  type DialectName,
  type EncoderOptions,
} from "../src/dialects/index.ts";
import type { EventRecord } from "../src/protocol/index.ts";
import { RunStates } from "../src/protocol/run-states.ts";

export const VECTORS = join(import.meta.dirname, "..", "spec", "vectors");

export interface VectorInput {
  readonly name: string;
  readonly source: string;
  readonly dialect: DialectName;
  /** "frame": each frame is independent; "stream": the frames form a stream. */
  readonly mode: "frame" | "stream";
  readonly frames: readonly unknown[];
}

export interface Vector extends VectorInput {
  /** Violated rules, as `frame index: rule`. */
  readonly issues: readonly string[];
  /** Records that each frame decodes to. */
  readonly records: readonly (readonly EventRecord[])[];
  /** For each form, the frames that each input frame is encoded to. */
  readonly encodings: { readonly [form: string]: readonly (readonly unknown[])[] };
}

/** Forms that every vector is encoded in. */
export const FORMS: { readonly [form: string]: { readonly dialect: DialectName; readonly options?: EncoderOptions } } =
  {
    loom: { dialect: "loom" },
    "loom-strict": { dialect: "loom", options: { strict: true } },
    "loom-bare": { dialect: "loom", options: { envelope: false } },
    ...Object.fromEntries(DIALECT_NAMES.filter((name) => name !== "loom").map((dialect) => [dialect, { dialect }])),
  };

export function listVectorFiles(folder: "samples" | "runs"): string[] {
  return readdirSync(join(VECTORS, folder))
    .filter((file) => file.endsWith(".json"))
    .sort()
    .map((file) => join(VECTORS, folder, file));
}

export function readVector(file: string): Vector {
  return JSON.parse(readFileSync(file, "utf8")) as Vector;
}

/** A frame is JSON, or text where the wire has no JSON (a plain end marker). */
export function frameText(frame: unknown): string {
  return typeof frame === "string" ? frame : JSON.stringify(frame);
}

export function computeVector({ name, source, dialect, mode, frames }: VectorInput): Vector {
  const texts = frames.map(frameText);
  const single = mode === "frame";
  const checker = createStreamCheck(DIALECTS[dialect], { frames: single });
  const issues = texts.flatMap((text, index) => checker.check(text).issues.map((issue) => `${index}: ${issue.rule}`));
  issues.push(...checker.end().map((issue) => `end: ${issue.rule}`));
  const records = decodeAll(dialect, texts, single);
  const encodings = Object.fromEntries(Object.keys(FORMS).map((form) => [form, encodeAll(form, records, single)]));
  return { name, source, dialect, mode, frames, issues, records, encodings };
}

export function decodeAll(dialect: DialectName, texts: readonly string[], single = false): (readonly EventRecord[])[] {
  let decoder = DIALECTS[dialect].createDecoder();
  return texts.map((text) => {
    if (single) decoder = DIALECTS[dialect].createDecoder();
    return decoder.decode(text).records;
  });
}

/** Encodes each group of records in one form. */
function encodeAll(form: string, groups: readonly (readonly EventRecord[])[], single = false): unknown[][] {
  const { dialect, options } = FORMS[form] as (typeof FORMS)[string];
  let encoder = DIALECTS[dialect].createEncoder(options);
  let stamp = createStamper();
  // As in conversions: receivers without deltas get full states.
  const states = DIALECTS[dialect].carriesDeltas && options?.strict !== true ? undefined : new RunStates();
  return groups.map((group) => {
    if (single) {
      encoder = DIALECTS[dialect].createEncoder(options);
      stamp = createStamper();
    }
    return group.flatMap((record) => {
      states?.add(record);
      const event = states === undefined ? record.event : (states.withFullState(record) ?? record.event);
      return encoder.encode(stamp({ ...record, event })).map((text) => JSON.parse(text) as unknown);
    });
  });
}

/** Writes one frame or record per line, so that a change of one is a diff of one line. */
export function writeVector(vector: Vector): string {
  const lines = (items: readonly unknown[], indent: string) =>
    items.length === 0
      ? "[]"
      : `[\n${items.map((item) => `${indent}  ${JSON.stringify(item)}`).join(",\n")}\n${indent}]`;
  const { name, source, dialect, mode, frames, issues, records, encodings } = vector;
  const forms = Object.entries(encodings).map(
    ([form, groups]) => `    ${JSON.stringify(form)}: ${lines(groups, "    ")}`,
  );
  return [
    "{",
    `  "name": ${JSON.stringify(name)},`,
    `  "source": ${JSON.stringify(source)},`,
    `  "dialect": ${JSON.stringify(dialect)},`,
    `  "mode": ${JSON.stringify(mode)},`,
    `  "frames": ${lines(frames, "  ")},`,
    `  "issues": ${lines(issues, "  ")},`,
    `  "records": ${lines(records, "  ")},`,
    `  "encodings": {\n${forms.join(",\n")}\n  }`,
    "}",
    "",
  ].join("\n");
}
