/**
 * The structured output of one call: what the model is asked for, and how its reply becomes a value of the caller's
 * schema.
 */
import { type Json, type JsonObject, LoomError } from "../protocol/index.ts";
import { isJsonObject, parseJson } from "../protocol/json.ts";
import { describeFailure } from "../tools/describe-failure.ts";
import { describeIssues, isStandardSchema, readJsonSchema, type StandardSchema } from "../tools/standard-schema.ts";
import { fromJsonSchema } from "../tools/from-json-schema.ts";
import type { AnswerFormat } from "./create-format.ts";
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

export type OutputReading =
  /** The reply as JSON, before the schema transforms it. */
  { readonly ok: true; readonly json: Json } | { readonly ok: false; readonly fault: string };

const DEFAULT_RETRIES = 1;
const MAX_RETRIES = 10;
/** Maximum JSON values of a reply that are checked. */
const MAX_CANDIDATES = 5;

/** Why an agent refuses a run with a schema. */
export const NO_OUTPUT = "Structured output needs an agent of the kind `react` without `answer`";

export class OutputFormat {
  readonly maxRetries: number;
  /**
   * True if the schema came with the request of the run, so that every process can check the reply. It is sent to clients
   * only after the check: many of them parse all text of an answer as one value.
   */
  readonly isOfRun: boolean;
  readonly #schema: StandardSchema;
  readonly #jsonSchema: JsonObject;
  #value: unknown;

  private constructor(schema: StandardSchema, jsonSchema: JsonObject, maxRetries: number, isOfRun = false) {
    this.#schema = schema;
    this.#jsonSchema = jsonSchema;
    this.maxRetries = maxRetries;
    this.isOfRun = isOfRun;
  }

  /** The format of a run whose request has a JSON Schema. Throws `invalid_command` if it cannot be checked. */
  static fromJsonSchema(schema: JsonObject): OutputFormat {
    return new OutputFormat(fromJsonSchema(schema), schema, DEFAULT_RETRIES, true);
  }

  /** Undefined if the options ask for no structured output. Throws `invalid_arguments`. */
  static create({ output, outputSchema, outputRetries = DEFAULT_RETRIES }: OutputOptions): OutputFormat | undefined {
    if (output === undefined) {
      if (outputSchema !== undefined) throw invalid("outputSchema", "has no effect without `output`");
      return undefined;
    }
    if (!isStandardSchema(output)) throw invalid("output", "must be a Standard Schema, such as a zod object");
    if (!Number.isSafeInteger(outputRetries) || outputRetries < 0 || outputRetries > MAX_RETRIES)
      throw invalid("outputRetries", `must be an integer from 0 to ${MAX_RETRIES}`);
    if (outputSchema !== undefined && !isJsonObject(outputSchema))
      throw invalid("outputSchema", "must be a JSON Schema object");
    if (outputSchema !== undefined) return new OutputFormat(output, outputSchema, outputRetries);
    const read = readJsonSchema(output);
    if (!read.ok) {
      const hint = read.hint === undefined ? "" : `; ${read.hint}`;
      throw invalid("outputSchema", `is missing: ${read.reason}${hint}`, read.cause);
    }
    return new OutputFormat(output, closeObjects(read.schema) as JsonObject, outputRetries);
  }

  /** The format for models that support one. */
  get responseFormat(): AnswerFormat {
    return { name: "output", schema: this.#jsonSchema };
  }

  /** Tells the model what to answer. Also sent with `responseFormat`, which a provider may reject. */
  get instruction(): string {
    return `Give your final answer as JSON that matches this JSON Schema, without any other text:\n${JSON.stringify(this.#jsonSchema)}`;
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
          return { ok: true, json };
        }
        fault ??= describeIssues(result.issues, "The answer does not match the schema");
      } catch (error) {
        fault ??= `The answer could not be checked: ${describeFailure(error)}`;
      }
    }
    return { ok: false, fault: fault ?? "The answer is not JSON." };
  }
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
