/** What a client shows of itself. It knows no request. */
import type { Refusal } from "../transport.ts";
import { refuse } from "./refusal.ts";

/** What a client is known by. A function is asked each time, so that a token may change. */
export type Token = string | (() => string | Promise<string>);

/** As `Authorization` has it; a refusal where it cannot stand there, in words that have nothing of it. */
export async function writeBearer(token: Token): Promise<string | Refusal> {
  const text = (typeof token === "string" ? token : await token()).trim();
  if (/^[\x21-\x7e]*$/.test(text)) return `Bearer ${text}`;
  return refuse("unauthorized", "the token has characters in it that no token has");
}
