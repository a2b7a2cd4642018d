/** Reads the JSON Schema of a Standard Schema, for models. */
import type { JsonObject } from "../protocol/index.ts";
import { describeFailure } from "./describe-failure.ts";
import type { StandardSchema } from "./standard-schema.ts";
import { toJson } from "./to-json.ts";

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
