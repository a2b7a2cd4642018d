/**
 * Decides what a client learns about an error, over HTTP and WebSockets alike.
 *
 * A `LoomError` about the request is sent as it is. Any other error, and a `LoomError` about the machine (a file path,
 * the output of a program), is reported to the operator under an ID; the client gets the code, a general message and
 * that ID. A damaged blob is reported too, and named to the client.
 */
import { type ErrorCode, isLoomError, type JsonObject } from "../../protocol/index.ts";

export interface PublicError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: JsonObject;
  /** Id under which the error was reported to the operator. */
  readonly errorId?: string | undefined;
}

/**
 * Returns what may be sent of `error`, and calls `report` if the rest has to be reported. An error whose details have
 * an `error_id` was reported before and is sent as it is.
 */
export function toPublicError(report: (error: unknown) => string | undefined, error: unknown): PublicError {
  if (!isLoomError(error))
    return {
      code: "internal_error",
      message: "Internal server error",
      details: {},
      errorId: report(error),
    };
  const { code, message, details } = error;
  const { error_id: errorId, ...rest } = details;
  if (typeof errorId === "string") return { code, message, details: rest, errorId };
  const words = PUBLIC_MESSAGES[code];
  if (words === undefined)
    return { code, message, details, ...(code === "blob_damaged" ? { errorId: report(error) } : {}) };
  return { code, message: words, details: {}, errorId: report(error) };
}

const PUBLIC_MESSAGES: { readonly [code in ErrorCode]?: string } = {
  internal_error: "Internal server error",
  store_failed: "The store cannot be read or written",
  store_full: "The store cannot be written: no space left",
  store_busy: "The store is locked by another process; try again in a moment",
  store_unavailable: "The store is not available at the moment; try again",
  store_timeout: "The store took too long; try again",
  store_degraded: "The store works, but changes of other servers arrive late",
  store_read_only: "The store is read-only",
  store_corrupt: "The store is damaged",
  store_newer: "The store was created by a newer version of Loom",
  store_older: "The store was created by an older version of Loom",
  store_closed: "The store is closed",
  writer_failed: "The store cannot be written until the server restarts",
  mcp_failed: "An MCP server failed",
  login_unavailable: "The login cannot be checked at the moment; try again",
  missing_key: "The server has no API key for the model's provider",
  listen_failed: "The server cannot listen on its address",
};
