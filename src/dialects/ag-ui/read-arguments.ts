/** Reads the streamed arguments of a tool call. */
import { type JsonObject, parseObject } from "../../protocol/json.ts";

/** Returns the arguments of a call; those that are not a JSON object are kept as the text of the model. */
export function readArguments(text: string): { readonly arguments: JsonObject; readonly raw_arguments?: string } {
  if (text === "") return { arguments: {} };
  const parsed = parseObject(text);
  return parsed === undefined ? { arguments: {}, raw_arguments: text } : { arguments: parsed };
}
