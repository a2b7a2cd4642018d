/** Tells the model that the user changed the arguments of a call before it was carried out. */
import { shorten } from "./cut-text.ts";
import type { JsonObject } from "./json.ts";

const MAX_LENGTH = 2000;

export function describeEdit(edited: JsonObject): string {
  return `The user changed the arguments to ${shorten(JSON.stringify(edited), MAX_LENGTH)}.`;
}
