/**
 * Standard Schema version 1 and its JSON Schema extension, as far as tools use them: types, which are declared here to
 * avoid a dependency, the JSON Schema for models, and descriptions of issues. Zod, Valibot, ArkType and other libraries
 * implement it.
 */
import type { JsonObject } from "../protocol/index.ts";
import { shorten } from "../protocol/cut-text.ts";
import { describeFailure } from "./describe-failure.ts";
import { toJson } from "./to-json.ts";

/** A schema that validates a value and can transform it. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    validate(value: unknown): StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    /** Present if the library can produce JSON Schema. Throws if JSON Schema cannot express the schema. */
    readonly jsonSchema?: { input(options: { readonly target: string }): { readonly [key: string]: unknown } };
  };
}

/** Result of a validation: the value, or the issues. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

/** One problem that a validation found. `path` leads to the field. */
export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** Type of the values that a schema returns. */
export type OutputOf<Schema extends StandardSchema> = NonNullable<Schema["~standard"]["types"]>["output"];

/** The schema, or why there is none. */
export type JsonSchemaReading =
  | { readonly ok: true; readonly schema: JsonObject }
  | {
      readonly ok: false;
      readonly reason: string;
      /** What the caller can do, if there is more than passing a JSON Schema. */
      readonly hint?: string;
      readonly cause?: unknown;
    };

/** The conversion of Valibot is a separate package. */
const VALIBOT_HINT = "install `@valibot/to-json-schema` and pass `toStandardJsonSchema(schema)`";

/** Reads the JSON Schema for models. */
export function readJsonSchema(input: StandardSchema): JsonSchemaReading {
  const { jsonSchema, vendor } = input["~standard"];
  if (jsonSchema === undefined) {
    const hint = vendor === "valibot" ? { hint: VALIBOT_HINT } : {};
    return { ok: false, reason: `${vendor} does not produce JSON Schema`, ...hint };
  }
  try {
    // The schema version is of no use to models.
    const { $schema: _, ...schema } = toJson(jsonSchema.input({ target: "draft-07" })).value as JsonObject;
    return { ok: true, schema };
  } catch (cause) {
    return {
      ok: false,
      reason: `${vendor} cannot express its input as JSON Schema (${describeFailure(cause)})`,
      cause,
    };
  }
}

export function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  const inner = (value as Partial<StandardSchema>)["~standard"];
  return typeof inner === "object" && inner !== null && typeof inner.validate === "function";
}

const MAX_ISSUES = 20;
const MAX_LENGTH = 500;
const NO_MATCH = "The arguments do not match the schema of the tool";

/** Describes issues to a model: the field, and what is wrong with it. `what` is the first line, without a colon. */
export function describeIssues(issues: readonly StandardIssue[], what = NO_MATCH): string {
  const lines = issues.slice(0, MAX_ISSUES).map(({ path, message }) => {
    const field = writePath(path ?? []);
    return `- ${field === "" ? "" : `\`${shorten(field, MAX_LENGTH)}\`: `}${shorten(message, MAX_LENGTH)}`.toWellFormed();
  });
  if (issues.length > MAX_ISSUES) lines.push(`- and ${issues.length - MAX_ISSUES} more`);
  return `${what}:\n${lines.join("\n")}`;
}

/** For example `items[2].text`. */
function writePath(path: NonNullable<StandardIssue["path"]>): string {
  let text = "";
  for (const segment of path) {
    const key = typeof segment === "object" ? segment.key : segment;
    if (typeof key === "number") text += `[${key}]`;
    else text += text === "" ? String(key) : `.${String(key)}`;
  }
  return text;
}
