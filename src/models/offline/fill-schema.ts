/**
 * Fills a JSON Schema from a text answer: strings get the text, numbers the last result in it. Supports type,
 * properties, enum, const, anyOf, oneOf, minItems and maxLength. A number outside its bounds is not adjusted, because
 * that would change the answer.
 */
import { isJsonObject, type Json, type JsonObject } from "../../protocol/index.ts";

const MAX_DEPTH = 16;
const MAX_ITEMS = 16;

export function fillSchema(schema: Json | undefined, answer: string, depth = 0): Json {
  if (!isJsonObject(schema) || depth > MAX_DEPTH) return answer;
  const { const: fixed, enum: choices, anyOf, oneOf, type } = schema;
  if (fixed !== undefined) return fixed;
  if (Array.isArray(choices)) return (choices as readonly Json[])[0] ?? null;
  const options = anyOf ?? oneOf;
  if (Array.isArray(options)) return fillSchema((options as readonly Json[])[0], answer, depth + 1);
  switch (Array.isArray(type) ? (type as readonly Json[])[0] : type) {
    case "object":
      return fillObject(schema, answer, depth);
    case "array": {
      const { items, minItems = 0 } = schema;
      const length = typeof minItems === "number" ? Math.min(minItems, MAX_ITEMS) : 0;
      return Array.from({ length }, () => fillSchema(items, answer, depth + 1));
    }
    case "integer":
      return Math.round(findNumber(answer));
    case "number":
      return findNumber(answer);
    case "boolean":
      return false;
    case "null":
      return null;
    default: {
      const { maxLength } = schema;
      return typeof maxLength === "number" ? answer.slice(0, maxLength).toWellFormed() : answer;
    }
  }
}

function fillObject({ properties }: JsonObject, answer: string, depth: number): JsonObject {
  if (!isJsonObject(properties)) return {};
  return Object.fromEntries(
    Object.entries(properties).map(([name, inner]) => [name, fillSchema(inner, answer, depth + 1)]),
  );
}

/** Returns the number after the last equals sign, or else the last number. */
function findNumber(answer: string): number {
  const [, result] = [...answer.matchAll(/=\s?(-?\d+(?:\.\d+)?)/g)].at(-1) ?? [];
  const number = Number(result ?? answer.match(/(?<![\w.-])-?\d+(?:\.\d+)?/g)?.at(-1) ?? 0);
  return Number.isFinite(number) ? number : 0;
}
