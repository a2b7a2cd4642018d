/** Why a server ends a socket, as the code and the reason of its close. */
import { isLoomError } from "../../protocol/index.ts";

/** RFC 6455 and its registry. */
const NOT_ALLOWED = 1008;
const WENT_WRONG = 1011;
const RESTART = 1012;
const TRY_LATER = 1013;

export interface CloseText {
  readonly code: number;
  /** A code of ours, and where there is a place to go on after, ` after=<cursor>`. */
  readonly reason: string;
}

export function describeClose(why: unknown): CloseText {
  if (!isLoomError(why)) return { code: WENT_WRONG, reason: "internal_error" };
  const { code, details } = why;
  const reason = `${code}${describePlace(details["cursor"])}`;
  if (code === "backlog_full") return { code: TRY_LATER, reason };
  if (code === "shutting_down") return { code: RESTART, reason };
  if (code === "forbidden" || code === "unauthorized") return { code: NOT_ALLOWED, reason };
  return { code: WENT_WRONG, reason };
}

/** Where to go on, as the end of a reason. */
export function describePlace(cursor: unknown): string {
  return typeof cursor === "string" && cursor !== "" ? ` after=${cursor}` : "";
}
