/**
 * The golden vectors of `spec/vectors`: how they are read, and what the code at hand makes of their frames. A vector's
 * `frames` are written by hand; `issues`, `records` and `encodings` by `npm run vectors`, and reviewed like code.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  createStamper,
  createStreamCheck,
  DIALECTS,
  type DialectName,
  type EncoderOptions,
} from "../src/dialects/index.ts";
import type { EventRecord } from "../src/protocol/index.ts";

export const VECTORS = join(import.meta.dirname, "..", "spec", "vectors");

export interface VectorInput {
  readonly name: string;
  readonly source: string;
  readonly dialect: DialectName;
  /** frame: each frame stands by itself; stream: they follow each other. */
  readonly mode: "frame" | "stream";
  readonly frames: readonly unknown[];
}

export interface Vector extends VectorInput {
  /** Rules broken, as `frame index: rule`. */
  readonly issues: readonly string[];
  /** The records each frame decodes to. */
  readonly records: readonly (readonly EventRecord[])[];
  /** For each form, the frames that each frame of the input becomes. */
  readonly encodings: { readonly [form: string]: readonly (readonly unknown[])[] };
}

/** The forms every vector is written in. */
export const FORMS: { readonly [form: string]: { readonly dialect: DialectName; readonly options?: EncoderOptions } } =
  {
    loom: { dialect: "loom" },
    "loom-strict": { dialect: "loom", options: { strict: true } },
    "loom-bare": { dialect: "loom", options: { envelope: false } },
    export: { dialect: "export" },
    engine: { dialect: "engine" },
    lumine: { dialect: "lumine" },
    "stream-event": { dialect: "stream-event" },
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

/** A frame of a vector is JSON, or a text where the wire itself is not (a bare end mark). */
export function frameText(frame: unknown): string {
  return typeof frame === "string" ? frame : JSON.stringify(frame);
}

export function computeVector({ name, source, dialect, mode, frames }: VectorInput): Vector {
  const texts = frames.map(frameText);
  const single = mode === "frame";
  const doctor = createStreamCheck(DIALECTS[dialect], { frames: single });
  const issues = texts.flatMap((text, index) => doctor.check(text).issues.map((issue) => `${index}: ${issue.rule}`));
  issues.push(...doctor.end().map((issue) => `end: ${issue.rule}`));
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

/** The frames of each group of records, in one form. */
function encodeAll(form: string, groups: readonly (readonly EventRecord[])[], single = false): unknown[][] {
  const { dialect, options } = FORMS[form] as (typeof FORMS)[string];
  let encoder = DIALECTS[dialect].createEncoder(options);
  let stamp = createStamper();
  return groups.map((group) => {
    if (single) {
      encoder = DIALECTS[dialect].createEncoder(options);
      stamp = createStamper();
    }
    return group.flatMap((record) => encoder.encode(stamp(record)).map((text) => JSON.parse(text) as unknown));
  });
}

/** One frame or record per line: a change of one is a diff of one line. */
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
