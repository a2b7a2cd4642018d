/**
 * What a server's "no" means here: a code of ours where it gave one, the general one otherwise. Reads text from the wire
 * and never throws.
 */
import { ERROR_CODES, type ErrorCode, isJsonObject, type JsonObject } from "../../protocol/index.ts";
import type { Refusal } from "../transport.ts";

export function refuse(code: ErrorCode, message: string, details?: JsonObject): Refusal {
  return { kind: "refused", code, message, ...(details !== undefined && { details }) };
}

export const CLOSED: Refusal = refuse("connection_refused", "the transport was closed");

/** An answer that is not of our making. */
export function refuseForeign(message: string): Refusal {
  return { ...refuse("connection_refused", message), isForeign: true };
}

/**
 * From a control frame, `{code, message, details}`, or a problem over HTTP, where `message` is called `detail`; `fallback`
 * says what happened where there is neither.
 */
export function readRefusal(body: unknown, fallback: string): Refusal {
  if (!isJsonObject(body)) return refuseForeign(fallback);
  const { code, detail, message = detail, details } = body;
  const words = typeof message === "string" && message !== "" ? message : fallback;
  if (typeof code !== "string") return refuseForeign(words);
  return refuse(
    Object.hasOwn(ERROR_CODES, code) ? (code as ErrorCode) : "connection_refused",
    words,
    isJsonObject(details) ? details : undefined,
  );
}

/** The value of a JSON text, or undefined for what is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
