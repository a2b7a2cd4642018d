/** The token of a client, and its Authorization header. */
import type { Refusal } from "../transport.ts";
import { refuse } from "./refusal.ts";

/**
 * Token of a client, or a function that returns it. The function is called for every request, so the token may change.
 */
export type ClientToken = string | (() => string | Promise<string>);

/**
 * Returns the value of the `Authorization` header, or a refusal, without the token in its message, if it is invalid.
 */
export async function createAuthorization(token: ClientToken): Promise<string | Refusal> {
  const text = (typeof token === "string" ? token : await token()).trim();
  if (/^[\x21-\x7e]*$/.test(text)) return `Bearer ${text}`;
  return refuse("unauthorized", "The token contains a space or another invalid character");
}
