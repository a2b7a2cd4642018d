/**
 * A tool's result is text for the model (`result`) and perhaps data (`output`); dialects have one field for both.
 */
import type { ToolEndEvent } from "../protocol/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../protocol/json.ts";

/** Dialects without node names: what `message_chunk.id` says when it comes from one of them. */
export const NODE_NAME = "agent";

/** The one value that stands for a tool's result. */
export function resultValue({ result, output }: ToolEndEvent): Json {
  return output === undefined ? result : output;
}

/** Splits it again: text is the result itself, anything else is data with its JSON as text. */
export function splitResult(value: Json): Pick<ToolEndEvent, "result" | "output"> {
  return typeof value === "string" ? { result: value } : { result: JSON.stringify(value), output: value };
}

/** The same for a dialect whose result is an object: text and bare values get a key of their own, no text is no result. */
export function resultObject(event: ToolEndEvent): JsonObject | undefined {
  const value = resultValue(event);
  if (value === "") return undefined;
  if (isJsonObject(value)) return value;
  return typeof value === "string" ? { content: value } : { value };
}

export function splitResultObject(object: JsonObject | undefined): Pick<ToolEndEvent, "result" | "output"> {
  if (object === undefined) return { result: "" };
  const [only, more] = Object.entries(object);
  if (only !== undefined && more === undefined) {
    const [key, value] = only;
    if (key === "content" && typeof value === "string" && value !== "") return { result: value };
    if (key === "value" && typeof value !== "string" && !isJsonObject(value)) return splitResult(value);
  }
  return splitResult(object);
}

/** Data beside an error: an object as it is, any other value under a key of its own. */
export function outputObject(output: Json): JsonObject {
  return isJsonObject(output) ? output : { value: output };
}

export function splitOutputObject(object: JsonObject): Json {
  const { value, ...rest } = object;
  return value !== undefined && !isJsonObject(value) && Object.keys(rest).length === 0 ? value : object;
}
