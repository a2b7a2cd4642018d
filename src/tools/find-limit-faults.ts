/** Checks the limits of JSON Schema for numbers, and for the size of texts, lists and objects. */
import type { Json, JsonObject } from "../protocol/index.ts";
import { isJsonObject } from "../protocol/json.ts";

/** Relative error that division may have. */
const PRECISION = 1e-9;

/** Returns what is wrong with the value, as text for the model. Limits that are not numbers have no effect. */
export function findLimitFaults(schema: JsonObject, value: Json): readonly string[] {
  const limit = (keyword: string): number | undefined => {
    const given = schema[keyword];
    return typeof given === "number" ? given : undefined;
  };
  if (typeof value === "number") return findNumberFaults(value, limit);
  const [name, unit] = describeSize(value);
  const [low, high] = [limit(`min${name}`), limit(`max${name}`)];
  if (name === "" || (low === undefined && high === undefined)) return [];
  const size = measure(value);
  return [
    ...(low !== undefined && size < low ? [`must have at least ${low} ${unit}, not ${size}`] : []),
    ...(high !== undefined && size > high ? [`must have at most ${high} ${unit}, not ${size}`] : []),
  ];
}

function describeSize(value: Json): readonly [name: string, unit: string] {
  if (typeof value === "string") return ["Length", "characters"];
  if (Array.isArray(value)) return ["Items", "items"];
  return isJsonObject(value) ? ["Properties", "fields"] : ["", ""];
}

function measure(value: Json): number {
  // A character outside the basic plane counts once.
  if (typeof value === "string") return Array.from(value).length;
  return Object.keys(value as object).length;
}

function findNumberFaults(value: number, limit: (keyword: string) => number | undefined): readonly string[] {
  const [low, high, above, below, factor] = [
    limit("minimum"),
    limit("maximum"),
    limit("exclusiveMinimum"),
    limit("exclusiveMaximum"),
    limit("multipleOf"),
  ];
  return [
    ...(low !== undefined && value < low ? [`must be at least ${low}, not ${value}`] : []),
    ...(high !== undefined && value > high ? [`must be at most ${high}, not ${value}`] : []),
    ...(above !== undefined && value <= above ? [`must be more than ${above}, not ${value}`] : []),
    ...(below !== undefined && value >= below ? [`must be less than ${below}, not ${value}`] : []),
    ...(factor !== undefined && factor > 0 && !isMultiple(value, factor) ? [`must be a multiple of ${factor}`] : []),
  ];
}

function isMultiple(value: number, factor: number): boolean {
  const ratio = value / factor;
  return Math.abs(ratio - Math.round(ratio)) <= PRECISION * Math.max(1, Math.abs(ratio));
}
