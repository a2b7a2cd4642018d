/**
 * The reject corpus of `spec/vectors/rejects`: invalid frames and streams, each with all rules it violates. Unlike a
 * corpus of valid vectors, it detects a rule that is lost. The JSON Schemas must reject the same field errors.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { createStreamCheck, type DialectName, DIALECTS } from "../src/dialects/index.ts";
import { dialectSchemas } from "../src/dialects/schemas.ts";
import { FRAME_TAG_FIELDS } from "../src/dialects/dialect.ts";
import { framingIssue } from "../src/dialects/check-stream.ts";
import { createNdjsonDecoder, createSseDecoder, type FrameOutcome } from "../src/framing/index.ts";
import { EVENT_TYPES, type JsonObject } from "../src/protocol/index.ts";
import { parseObject } from "../src/protocol/json.ts";
import { EVENTS } from "../src/protocol/events/index.ts";
import { FRAME_RULES } from "../src/protocol/rules.ts";
import type { Fields } from "../src/protocol/schema.ts";
import { LIFECYCLE_RULES } from "../src/protocol/verify/lifecycle-rules.ts";
import { frameText, listVectorFiles, readVector, VECTORS } from "./vectors.ts";
import { sampleCases } from "./sampling.ts";

interface Expected {
  /** Index of the frame, from 0; "end" for issues at the end of the stream. */
  readonly frame: number | "end";
  readonly rule: string;
  readonly level: "error" | "warning";
  /** The field the message must name, in backticks. */
  readonly path?: string;
}

interface Reject {
  readonly name: string;
  readonly dialect: DialectName;
  readonly mode: "frame" | "stream";
  /** Frames as JSON, or as text if the frame is not JSON. */
  readonly frames?: readonly unknown[];
  /** Instead of frames: the bytes on the wire and their framing. */
  readonly text?: string;
  readonly bytes_base64?: string;
  readonly framing?: "ndjson" | "sse";
  readonly maxLineBytes?: number;
  /** Placeholders in the frames, replaced by a repeated text: for values too deep or too long to write out. */
  readonly fill?: { readonly [mark: string]: readonly [text: string, times: number] };
  /** All issues of the case, in order. */
  readonly expect: readonly Expected[];
  readonly why: string;
}

const FOLDER = join(VECTORS, "rejects");
const REJECTS = readdirSync(FOLDER)
  .sort()
  .flatMap((file) => JSON.parse(readFileSync(join(FOLDER, file), "utf8")) as readonly Reject[]);
const NAMED = REJECTS.map((reject) => [reject.name, reject] as const);

function fill(text: string, marks: Reject["fill"] = {}): string {
  return Object.entries(marks).reduce(
    (filled, [mark, [part, times]]) => filled.replaceAll(mark, part.repeat(times)),
    text,
  );
}

/** The frames of a case, or the reasons why bytes are not a frame. */
function outcomesOf({ frames, text, bytes_base64, framing, maxLineBytes, fill: marks }: Reject): FrameOutcome[] {
  if (frames !== undefined)
    return frames.map((frame, line) => ({ ok: true, text: fill(frameText(frame), marks), line }));
  const bytes = bytes_base64 === undefined ? Buffer.from(text ?? "") : Buffer.from(bytes_base64, "base64");
  const options = maxLineBytes === undefined ? {} : { maxLineBytes };
  const decoder = framing === "sse" ? createSseDecoder(options) : createNdjsonDecoder(options);
  return [...decoder.push(bytes), ...decoder.end()];
}

function textsOf(reject: Reject): string[] {
  return outcomesOf(reject).flatMap((outcome) => (outcome.ok ? [outcome.text] : []));
}

/** True for field errors that a JSON Schema can express. Nesting depth is not among them. */
function isFieldError({ rule, level }: Expected): boolean {
  return level === "error" && (rule === "field-missing" || rule === "field-type" || rule === "field-value");
}

/** These streams are long, so `npm test` has one of them. */
const PAST_LIMIT = NAMED.filter(([name]) => name.endsWith("-answer-past-limit"));

describe("reject corpus", () => {
  test.each([...NAMED.filter((named) => !PAST_LIMIT.includes(named)), ...sampleCases(PAST_LIMIT)])(
    "%s",
    (_name, reject) => {
      const checker = createStreamCheck(DIALECTS[reject.dialect], { frames: reject.mode === "frame" });
      const found = outcomesOf(reject).flatMap((outcome, frame) => {
        const issues = outcome.ok ? checker.check(outcome.text).issues : [framingIssue(outcome.reason, outcome.detail)];
        return issues.map((issue) => ({ frame: frame as Expected["frame"], ...issue }));
      });
      found.push(...checker.end().map((issue) => ({ frame: "end" as const, ...issue })));
      expect(found.map(({ frame, rule, level }) => ({ frame, rule, level }))).toEqual(
        reject.expect.map(({ frame, rule, level }) => ({ frame, rule, level })),
      );
      for (const [index, { path }] of reject.expect.entries()) {
        if (path !== undefined) expect(found[index]?.message).toContain(`\`${path}\``);
      }
    },
  );

  test("has at least 150 cases with unique names, expected issues and a reason", () => {
    expect(REJECTS.length).toBeGreaterThanOrEqual(150);
    expect(new Set(REJECTS.map(({ name }) => name)).size).toBe(REJECTS.length);
    expect(REJECTS.filter(({ expect: expected, why }) => expected.length === 0 || why === "")).toEqual([]);
  });

  test("violates every rule", () => {
    const broken = new Set(REJECTS.flatMap(({ expect: expected }) => expected.map(({ rule }) => rule)));
    const shared = [...Object.keys(FRAME_RULES), ...Object.keys(LIFECYCLE_RULES)];
    expect(shared.filter((rule) => !broken.has(rule))).toEqual([]);
    for (const { name, rules, unendedRule: unended } of Object.values(DIALECTS)) {
      const own = REJECTS.filter(({ dialect }) => dialect === name).flatMap(({ expect: expected }) => expected);
      const missing = Object.keys(rules).filter((rule) => !own.some((issue) => issue.rule === rule));
      expect(missing, name).toEqual([]);
      expect(own, name).toContainEqual({ frame: "end", rule: unended.name, level: unended.rule.level });
    }
  });

  test("omits every required field of every loom event", () => {
    const broken = new Set(
      REJECTS.filter(({ dialect, mode }) => dialect === "loom" && mode === "frame").flatMap((reject) =>
        reject.expect.flatMap(({ frame, path }) => `${tagOf("loom", frameAt(reject, frame)) ?? ""}.${path ?? ""}`),
      ),
    );
    const required = EVENT_TYPES.flatMap((type) => {
      const fields: Fields = EVENTS[type].fields;
      return Object.keys(fields).flatMap((name) => (fields[name]?.required === true ? [`${type}.${name}`] : []));
    });
    const isBroken = (field: string) => [...broken].some((path) => path === field || path.startsWith(`${field}[`));
    expect(required.filter((field) => !isBroken(field))).toEqual([]);
  });
});

function isRefusal({ rule, level }: { readonly rule: string; readonly level: string }): boolean {
  return level === "error" && Object.hasOwn(FRAME_RULES, rule);
}

describe("a stream continues after a rejected frame", () => {
  const streams = NAMED.filter(([, { mode }]) => mode === "stream");

  /**
   * The records of each text. A greeting has no records either, so only a frame rule shows that a frame was rejected.
   */
  function decodeTexts(dialect: DialectName, texts: readonly string[]) {
    const decoder = DIALECTS[dialect].createDecoder();
    return texts.map((text) => {
      const { records, issues } = decoder.decode(text);
      return { text, records, refused: records.length === 0 && issues.some(isRefusal) };
    });
  }

  test.each(streams)("%s: a rejected frame does not change the other records", (_name, reject) => {
    const decoded = decodeTexts(reject.dialect, textsOf(reject));
    const kept = decoded.filter(({ refused }) => !refused);
    const alone = decodeTexts(
      reject.dialect,
      kept.map(({ text }) => text),
    );
    expect(kept.map(({ records }) => records)).toEqual(alone.map(({ records }) => records));
  });

  test("is covered in every dialect", () => {
    const going = streams.filter(([, reject]) => {
      const refused = decodeTexts(reject.dialect, textsOf(reject)).map((frame) => frame.refused);
      return refused.includes(true) && refused.lastIndexOf(true) < refused.length - 1;
    });
    expect(new Set(going.map(([, { dialect }]) => dialect))).toEqual(new Set(Object.keys(DIALECTS)));
  });
});

/** Cases that a JSON Schema cannot reject, or whose frame has no schema. */
const BEYOND_SCHEMAS: { readonly [name: string]: string } = {
  "strict-run-end-status": "the schema of `custom` allows any value; the event inside is unwrapped by the decoder",
  "strict-todo-item": "the same",
  "strict-approval-result": "the same",
  "strict-custom-no-value": "the same",
  "envelope-of-unknown-type": "an unknown type has no schema",
  "engine-legacy-tool-call-unnamed": "the old types of 003 §6 have no schema",
  "engine-legacy-tool-call-name-number": "the same",
  "engine-legacy-summary-fault": "the same",
};

/** Frames of valid vectors that do not match a schema of their dialect: `vector: index`, or the whole vector. */
const OUTSIDE_SCHEMAS: { readonly [frames: string]: string } = {
  "002-retrieval-complete-metadata: 0":
    "doc_count is only in `metadata`, which decoders accept and encoders never write",
  "ag-ui-other-events: 21": "an event of an unknown type",
  "ai-sdk-other-parts: 7": "a data part of another program",
  "ai-sdk-other-parts: 8": "a data part of another program",
  "ai-sdk-other-parts: 9": "a chunk of an unknown type",
  "openai-chat-stream: 6": "the text [DONE]",
  "openai-chat-tool-calls: 4": "the text [DONE]",
  "openai-chat-other-servers: 4": "the text [DONE]",
  "openai-chat-error: 1": "an error without the fields of a chunk",
  "openai-responses-hosted: 3": "an event of the API that repeats others",
  "openai-responses-hosted: 6": "an event of the API without a form",
  "openai-responses-hosted: 9": "an event of the API that repeats others",
  "openai-responses-hosted: 16": "an event of the API without a form",
  "openai-responses-hosted: 18": "an event of an unknown type",
  "openai-responses-mcp: 3": "an event of the API that repeats others",
  "openai-responses-mcp: 4": "an event of the API that repeats others",
  "openai-responses-output-only: 3": "the text [DONE]",
  "003-1.2-message-format": "the placeholder type in 003 §1.2",
  "003-6-dataframe-data": "an old type of 003 §6",
  "003-6-done": "an old type",
  "003-6-error: 1": "the old form: the payload at top level",
  "003-6-final-answer": "an old type",
  "003-6-in-the-wild": "old types",
  "003-6-legacy-stream": "old types, payload at top level",
  "003-6-mixed-stream: 2": "an old type",
  "003-6-mixed-stream: 4": "an old type",
  "003-6-thinking: 1": "the old form: the payload at top level",
  "003-6-token": "an old type",
  "003-6-tool-call": "an old type",
  "003-6-tool-result": "an old type",
  "engine-old-calls-without-ids": "old types",
  "engine-unknown-fields: 8": "an unknown type",
  "loom-null-fields: 9": "an unknown type",
  "loom-type-and-reply: 5": "an unknown type",
  "lumine-bare-done": "the end marker as plain text",
  "opaque: 1": "an unknown type",
  "opaque: 4": "an unknown type",
  "opaque: 5": "an unknown type",
  "opaque: 14": "an unknown type",
  "stream-event-unknown-type: 1": "an unknown type",
};

// JSON has no infinity, but 1e400 is parsed as Infinity, which `strict: false` alone would accept.
const ajv = new Ajv2020({ strict: false, strictNumbers: true });
const VALIDATORS = Object.fromEntries(
  Object.values(DIALECTS).map((dialect) => [
    dialect.name,
    Object.fromEntries(Object.entries(dialectSchemas(dialect)).map(([tag, schema]) => [tag, ajv.compile(schema)])),
  ]),
) as { readonly [N in DialectName]: { readonly [tag: string]: ValidateFunction | undefined } };

function frameAt(reject: Reject, index: number | "end"): JsonObject | undefined {
  const frame = index === "end" ? undefined : reject.frames?.[index];
  return frame === undefined ? undefined : parseObject(fill(frameText(frame), reject.fill));
}

/** The name of the schema for a frame. */
function tagOf(dialect: DialectName, frame: JsonObject | undefined): string | undefined {
  if (frame === undefined) return undefined;
  if (dialect === "export") return Object.keys(frame)[0];
  const { [FRAME_TAG_FIELDS[dialect] ?? "type"]: type } = frame;
  if (dialect === "loom" && frame["reply"] !== undefined && (type == null || type === "run_end")) return "reply";
  return typeof type === "string" ? type : undefined;
}

function fitsSchema(dialect: DialectName, frame: JsonObject | undefined): boolean | undefined {
  const tag = tagOf(dialect, frame);
  const validators = VALIDATORS[dialect];
  return tag !== undefined && Object.hasOwn(validators, tag) ? validators[tag]?.(frame) : undefined;
}

describe("JSON Schemas", () => {
  const faulty = NAMED.filter(
    ([, { dialect, mode, expect: expected }]) =>
      mode === "frame" && dialect !== "export" && expected.some(isFieldError),
  );

  test.each(faulty)("%s: the schema rejects it too", (name, reject) => {
    for (const expected of reject.expect.filter(isFieldError)) {
      const refused = fitsSchema(reject.dialect, frameAt(reject, expected.frame)) === false;
      // Remove a case from the list when a schema rejects it.
      expect(refused).toBe(!Object.hasOwn(BEYOND_SCHEMAS, name));
    }
  });

  test("every listed exception exists", () => {
    const names = new Set(faulty.map(([name]) => name));
    expect(Object.keys(BEYOND_SCHEMAS).filter((name) => !names.has(name))).toEqual([]);
  });

  test("every frame of the valid vectors matches the schema of its type", () => {
    const unused = new Set(Object.keys(OUTSIDE_SCHEMAS));
    const misfits: string[] = [];
    for (const { name, dialect, frames } of [...listVectorFiles("samples"), ...listVectorFiles("runs")].map(
      readVector,
    )) {
      for (const [index, frame] of frames.entries()) {
        if (fitsSchema(dialect, parseObject(frameText(frame))) === true) continue;
        const listed = [name, `${name}: ${index}`].find((key) => Object.hasOwn(OUTSIDE_SCHEMAS, key));
        if (listed === undefined) misfits.push(`${name}: ${index}`);
        else unused.delete(listed);
      }
    }
    expect(misfits).toEqual([]);
    expect([...unused]).toEqual([]);
  });
});
