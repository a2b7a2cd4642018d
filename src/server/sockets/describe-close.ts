/** Maps the error that closes a socket to a WebSocket close code and reason. */
import { isLoomError } from "../../protocol/index.ts";

/** Close codes of RFC 6455 and its registry. */
const POLICY_VIOLATION = 1008;
const INTERNAL_ERROR = 1011;
const SERVICE_RESTART = 1012;
const TRY_AGAIN_LATER = 1013;

export interface CloseReason {
  readonly code: number;
  /** An error code, followed by ` after=<cursor>` when the client can resume. */
  readonly reason: string;
}

export function describeClose(why: unknown): CloseReason {
  if (!isLoomError(why)) return { code: INTERNAL_ERROR, reason: "internal_error" };
  const { code, details } = why;
  const reason = `${code}${formatCloseSuffix(details["cursor"])}`;
  if (code === "backlog_full" || code === "store_unavailable" || code === "login_unavailable")
    return { code: TRY_AGAIN_LATER, reason };
  if (code === "shutting_down") return { code: SERVICE_RESTART, reason };
  if (code === "forbidden" || code === "unauthorized") return { code: POLICY_VIOLATION, reason };
  return { code: INTERNAL_ERROR, reason };
}

/** Formats the cursor to resume after, as the end of a close reason. */
export function formatCloseSuffix(cursor: unknown): string {
  return typeof cursor === "string" && cursor !== "" ? ` after=${cursor}` : "";
}
