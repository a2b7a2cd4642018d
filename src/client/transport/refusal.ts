/** Creates refusals and reads them from control frames and HTTP bodies. Unknown codes become `connection_refused`. */
import { ERROR_CODES, type ErrorCode, type JsonObject } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";
import type { Refusal } from "../transport.ts";

export function refuse(code: ErrorCode, message: string, details?: JsonObject): Refusal {
  return { kind: "refused", code, message, ...(details !== undefined && { details }) };
}

export const CLOSED: Refusal = refuse("connection_refused", "The transport was closed");

/** Creates a refusal for a response that did not come from a Loom server. */
export function refuseForeign(message: string): Refusal {
  return { ...refuse("connection_refused", message), isForeign: true };
}

type RefusalBody = { readonly [K in "code" | "message" | "detail" | "details"]?: unknown };

/**
 * Reads a refusal from a control frame (`{code, message, details}`) or an HTTP problem, which has `detail` instead of
 * `message`. `fallback` is the message if there is neither.
 */
export function readRefusal(body: RefusalBody | undefined, fallback: string): Refusal {
  if (body === undefined) return refuseForeign(fallback);
  const { code, detail, message = detail, details } = body;
  const text = typeof message === "string" && message !== "" ? message : fallback;
  if (typeof code !== "string") return refuseForeign(text);
  return refuse(
    Object.hasOwn(ERROR_CODES, code) ? (code as ErrorCode) : "connection_refused",
    text,
    isJsonObject(details) ? details : undefined,
  );
}
