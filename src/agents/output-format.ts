/**
 * The structured output of one run: what the model is asked for, and how its reply becomes a value of the schema of a
 * call, a request or an agent.
 */
import type { ModelRequest } from "../models/model.ts";
import { dropUndefined } from "../protocol/drop-undefined.ts";
import { type Json, type JsonObject, LoomError } from "../protocol/index.ts";
import { isJsonObject, parseJson } from "../protocol/json.ts";
import { acceptInteger, type OptionRule, type OptionTable, TEXT_OPTION } from "../protocol/read-options.ts";
import { describeFailure } from "../tools/describe-failure.ts";
import { describeIssues, isStandardSchema, readJsonSchema, type StandardSchema } from "../tools/standard-schema.ts";
import { fromJsonSchema } from "../tools/from-json-schema.ts";
import { toJson } from "../tools/to-json.ts";
import { listJson } from "./read-json.ts";

/** Options of a call that ask for structured output. */
export interface OutputOptions {
  /**
   * Schema of the reply: zod, or any other library that implements Standard Schema. The result has the validated value
   * as `output`. Needs an agent of the kind `react`. Default: the reply is plain text.
   */
  readonly output?: StandardSchema;
  /** JSON Schema of the reply, for the model. Required only if the library of `output` cannot produce one. */
  readonly outputSchema?: JsonObject;
  /**
   * How often the model is asked again if its reply does not match the schema, from 0 to 10. Then the run fails with
   * `model_output_invalid`. Default: 1.
   */
  readonly outputRetries?: number;
}

/** The schema of all replies of an agent. */
export interface StructuredOutput {
  /** Any Standard Schema, such as a zod object. */
  readonly schema: StandardSchema;
  /** JSON Schema of the output. Needed only if `schema` cannot produce one. */
  readonly inputSchema?: JsonObject;
  /** Explains the output to the model. Default: a short instruction. */
  readonly description?: string;
}

export type OutputReading =
  /** The reply as JSON: of an agent as the schema made it, otherwise before the schema transforms it. */
  { readonly ok: true; readonly json: Json } | { readonly ok: false; readonly fault: string };

const DEFAULT_RETRIES = 1;
const MAX_RETRIES = 10;
/** Maximum JSON values of a reply that are checked. */
const MAX_CANDIDATES = 5;

/** Why an agent refuses a run with a schema. */
export const NO_OUTPUT = "Structured output needs an agent of the kind `react`";

const SCHEMA: OptionRule<StandardSchema> = {
  expected: "a Standard Schema, such as a zod object",
  accepts: isStandardSchema,
};
const JSON_SCHEMA: OptionRule<JsonObject> = { expected: "a JSON Schema object", accepts: isJsonObject };

export const OUTPUT_OPTIONS: OptionTable<OutputOptions> = {
  output: SCHEMA,
  outputSchema: JSON_SCHEMA,
  outputRetries: acceptInteger(0, MAX_RETRIES),
};

export const STRUCTURED_OUTPUT_OPTIONS: OptionTable<StructuredOutput> = {
  schema: SCHEMA,
  inputSchema: JSON_SCHEMA,
  description: TEXT_OPTION,
};

/**
 * Where the schema comes from: one call of a program, the request of a run, or the options of the agent. Of a run and of an
 * agent, every process can check the reply, and it is sent to clients only after the check: many of them parse all text
 * of an answer as one value.
 */
export type OutputOrigin = "call" | "run" | "agent";

export class OutputFormat {
  readonly origin: OutputOrigin;
  readonly maxRetries: number;
  readonly #schema: StandardSchema;
  readonly #jsonSchema: JsonObject;
  readonly #description: string | undefined;
  #value: unknown;

  private constructor(
    origin: OutputOrigin,
    schema: StandardSchema,
    jsonSchema: JsonObject,
    { maxRetries = DEFAULT_RETRIES, description }: { readonly maxRetries?: number; readonly description?: string } = {},
  ) {
    this.origin = origin;
    this.#schema = schema;
    this.#jsonSchema = jsonSchema;
    this.maxRetries = maxRetries;
    this.#description = description;
  }

  /** The format of a run whose request has a JSON Schema. Throws `invalid_command` if it cannot be checked. */
  static fromJsonSchema(schema: JsonObject): OutputFormat {
    return new OutputFormat("run", fromJsonSchema(schema), schema);
  }

  /** The format of all runs of an agent. Throws `invalid_arguments`. */
  static ofAgent({ schema, inputSchema, description }: StructuredOutput): OutputFormat {
    if (!isStandardSchema(schema)) throw invalid("answer.schema", `must be ${SCHEMA.expected}`);
    const jsonSchema = inputSchema ?? describeSchema(schema, "answer.inputSchema");
    return new OutputFormat("agent", schema, jsonSchema, dropUndefined({ description }));
  }

  /** Undefined if the options, which `OUTPUT_OPTIONS` has checked, ask for no structured output. */
  static create({ output, outputSchema, outputRetries: maxRetries }: OutputOptions): OutputFormat | undefined {
    if (output !== undefined) {
      const jsonSchema = outputSchema ?? describeSchema(output, "outputSchema");
      return new OutputFormat("call", output, jsonSchema, dropUndefined({ maxRetries }));
    }
    if (outputSchema !== undefined) throw invalid("outputSchema", "has no effect without `output`");
    return undefined;
  }

  /** The format for models that support one. */
  get responseFormat(): NonNullable<ModelRequest["responseFormat"]> {
    return { name: "output", schema: this.#jsonSchema };
  }

  /** Tells the model what to answer. Also sent with `responseFormat`, which a provider may reject. */
  get instruction(): string {
    const about = this.#description === undefined ? "" : `${this.#description}\n`;
    return `${about}Give your final answer as JSON that matches this JSON Schema, without any other text:\n${JSON.stringify(this.#jsonSchema)}`;
  }

  /** The value of the last valid reply. */
  get value(): unknown {
    return this.#value;
  }

  /** Checks a reply. JSON in a code fence or between other text is found too. */
  async read(text: string): Promise<OutputReading> {
    let fault: string | undefined;
    for (const json of listCandidates(text)) {
      try {
        const result = await this.#schema["~standard"].validate(json);
        if (result.issues === undefined) {
          this.#value = result.value;
          return { ok: true, json: this.origin === "agent" ? toReply(result.value, json) : json };
        }
        fault ??= describeIssues(result.issues, "The answer does not match the schema");
      } catch (error) {
        fault ??= `The answer could not be checked: ${describeFailure(error)}`;
      }
    }
    return { ok: false, fault: fault ?? "The answer is not JSON." };
  }
}

/** The value of the schema, unless JSON cannot express it. */
function toReply(value: unknown, json: Json): Json {
  const { value: reply, isCut } = toJson(value);
  return isCut || (reply === null && value !== null) ? json : reply;
}

/** Returns the JSON Schema of a schema. Throws `invalid_arguments` for the option that must have it instead. */
function describeSchema(schema: StandardSchema, option: string): JsonObject {
  const read = readJsonSchema(schema);
  if (read.ok) return closeObjects(read.schema) as JsonObject;
  const hint = read.hint === undefined ? "" : `; ${read.hint}`;
  throw invalid(option, `is missing: ${read.reason}${hint}`, read.cause);
}

/** Forbids unknown fields in all objects that do not say otherwise, as strict providers demand. */
function closeObjects(schema: Json): Json {
  if (Array.isArray(schema)) return (schema as readonly Json[]).map((inner) => closeObjects(inner));
  if (!isJsonObject(schema)) return schema;
  const closed = Object.fromEntries(Object.entries(schema).map(([name, inner]) => [name, closeObjects(inner)]));
  const isOpen =
    closed["type"] === "object" && isJsonObject(closed["properties"]) && !("additionalProperties" in closed);
  return isOpen ? { ...closed, additionalProperties: false } : closed;
}

function* listCandidates(text: string): Generator<Json> {
  const whole = parseJson(text.trim());
  if (whole !== undefined) {
    yield whole as Json;
    return;
  }
  let left = MAX_CANDIDATES;
  for (const json of listJson(text)) {
    yield json;
    if (--left === 0) return;
  }
}

function invalid(option: string, what: string, cause?: unknown): LoomError {
  return new LoomError("invalid_arguments", `\`${option}\` ${what}`, { option }, { cause });
}
