/**
 * Converts arguments and results of tools. An event has text (`result`) and optional data (`output`); other dialects have
 * one field for both.
 */
import type { ToolEndEvent } from "../protocol/events.generated.ts";
import { isJsonObject, type Json, type JsonObject, parseObject } from "../protocol/json.ts";

/** Value of `message_chunk.id` for text from dialects without node names. */
export const DEFAULT_NODE_NAME = "agent";

/** Reads the arguments of a call. Text that is not a JSON object is kept as it is. */
export function readArguments(text: string): { readonly arguments: JsonObject; readonly raw_arguments?: string } {
  const args = parseObject(text);
  if (args !== undefined) return { arguments: args };
  return text === "" ? { arguments: {} } : { arguments: {}, raw_arguments: text };
}

/** Returns the data of a tool result if there is any, otherwise its text. */
export function resultValue({ result, output }: ToolEndEvent): Json {
  return output === undefined ? result : output;
}

/** Reverses `resultValue`: a string becomes the text; any other value becomes data, with its JSON as text. */
export function splitResult(value: Json): Pick<ToolEndEvent, "result" | "output"> {
  return typeof value === "string" ? { result: value } : { result: JSON.stringify(value), output: value };
}

/**
 * Like `resultValue`, for a dialect whose result is an object. Text goes under `content`, other values under `value`;
 * empty text gives undefined.
 */
export function resultObject(event: ToolEndEvent): JsonObject | undefined {
  const value = resultValue(event);
  if (value === "") return undefined;
  if (isJsonObject(value)) return value;
  return typeof value === "string" ? { content: value } : { value };
}

/** Reverses `resultObject`. */
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

/** Like `resultObject`, for a dialect whose result is always an object. */
export function wholeResultObject(event: ToolEndEvent): JsonObject {
  return resultObject(event) ?? { content: "" };
}

/** Reverses `wholeResultObject`. Other senders may send any value. */
export function splitWholeResult(value: Json): Pick<ToolEndEvent, "result" | "output"> {
  if (!isJsonObject(value)) return splitResult(value);
  const isEmpty = value["content"] === "" && Object.keys(value).length === 1;
  return isEmpty ? { result: "" } : splitResultObject(value);
}

/** Returns the data of a failed call as an object; other values go under `value`. */
export function outputObject(output: Json): JsonObject {
  return isJsonObject(output) ? output : { value: output };
}

/** Reverses `outputObject`. */
export function splitOutputObject(object: JsonObject): Json {
  const { value, ...rest } = object;
  return value !== undefined && !isJsonObject(value) && Object.keys(rest).length === 0 ? value : object;
}
