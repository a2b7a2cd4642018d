/**
 * What may cross the wire of an error, over HTTP and on sockets alike. What is not ours, and what of ours is about this
 * machine and not about what was asked (where a file lies, what a program said), is reported under an id: whoever asks
 * learns the code, general words and that id.
 */
import { type ErrorCode, isLoomError, type JsonObject } from "../protocol/index.ts";

export interface ToldError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: JsonObject;
  /** Under which somebody was told the rest. */
  readonly errorId?: string | undefined;
}

/** What was told under an id before has it as `error_id` in its details, and was put into general words there. */
export function tellError(report: (error: unknown) => string | undefined, error: unknown): ToldError {
  if (!isLoomError(error))
    return {
      code: "internal_error",
      message: "something went wrong on the server",
      details: {},
      errorId: report(error),
    };
  const { code, message, details } = error;
  const { error_id: errorId, ...rest } = details;
  if (typeof errorId === "string") return { code, message, details: rest, errorId };
  const words = GENERAL[code];
  if (words === undefined) return { code, message, details };
  return { code, message: words, details: {}, errorId: report(error) };
}

const GENERAL: { readonly [code in ErrorCode]?: string } = {
  internal_error: "something went wrong on the server",
  store_failed: "the store cannot be read or written",
  store_full: "the store cannot be written: there is no room left",
  store_busy: "the store is being written by somebody else: try again in a moment",
  store_read_only: "the store cannot be written",
  store_corrupt: "the store is damaged",
  store_newer: "the store was made by a newer version",
  store_older: "the store was made by an older version",
  store_closed: "the store is closed",
  mcp_failed: "an MCP server of this server failed",
  missing_key: "the key of a model's provider is missing on the server",
  listen_failed: "the server cannot listen",
};
