/** Fills the fields of an object from a text: strings get the text, numbers the last result in it. */
import type { Json, JsonObject } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";

export function fillSchema({ properties }: JsonObject, text: string): JsonObject {
  const fields = Object.entries(isJsonObject(properties) ? properties : {});
  return Object.fromEntries(fields.map(([name, field]) => [name, fillField(isJsonObject(field) ? field : {}, text)]));
}

function fillField(field: JsonObject, text: string): Json {
  const { type, enum: choices, maxLength = text.length } = field;
  const [choice] = (choices ?? []) as readonly Json[];
  if (choice !== undefined) return choice;
  if (type === "object") return fillSchema(field, text);
  if (type === "number" || type === "integer") return findNumber(text);
  if (type === "array") return [];
  return type === "boolean" ? false : text.slice(0, Number(maxLength)).toWellFormed();
}

/** Returns the number after the last equals sign, or else the last number. */
function findNumber(text: string): number {
  const [, result] = [...text.matchAll(/=\s?(-?\d+(?:\.\d+)?)/g)].at(-1) ?? [];
  return Number(result ?? text.match(/(?<![\w.-])-?\d+(?:\.\d+)?/g)?.at(-1) ?? 0);
}
