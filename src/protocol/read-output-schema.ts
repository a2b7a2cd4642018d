/** Reads the JSON Schema of the structured output of a run, from commands and records. It checks only size and depth. */
import { describeValue } from "./fault.ts";
import { isDeeperThan, isJsonObject, type JsonObject } from "./json.ts";
import { LoomError } from "./loom-error.ts";

/** Maximum size of the schema as JSON, and maximum depth; code `invalid_command`. */
const MAX_SCHEMA_BYTES = 32 * 1024;
const MAX_SCHEMA_DEPTH = 64;

/** Returns a copy. Undefined if there is none. Throws `invalid_command`. */
export function readOutputSchema(value: unknown): JsonObject | undefined {
  if (value == null) return undefined;
  if (!isJsonObject(value)) throw invalid(`must be a JSON Schema object, not ${describeValue(value)}`);
  if (isDeeperThan(value, MAX_SCHEMA_DEPTH))
    throw invalid(`is limited to a depth of ${MAX_SCHEMA_DEPTH}`, { limit: MAX_SCHEMA_DEPTH });
  const text = JSON.stringify(value);
  const bytes = new TextEncoder().encode(text).length;
  if (bytes > MAX_SCHEMA_BYTES)
    throw invalid(`is limited to ${MAX_SCHEMA_BYTES} bytes of JSON; it has ${bytes}`, { limit: MAX_SCHEMA_BYTES });
  return JSON.parse(text) as JsonObject;
}

function invalid(what: string, details: JsonObject = {}): LoomError {
  return new LoomError("invalid_command", `\`output_schema\` ${what}`, details);
}
