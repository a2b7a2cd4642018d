/** Refusals that are not meant for good: trying again may help, as after a loss. */
import type { ErrorCode } from "../../protocol/index.ts";
import type { Refusal } from "../transport.ts";

/** What the server says of itself, or of how much is asked at once, and not of what was asked. */
const PASSING_CODES: readonly ErrorCode[] = [
  "store_busy",
  "store_failed",
  "internal_error",
  "backlog_full",
  "shutting_down",
  "rate_limited",
  "too_many_streams",
];

/** A stranger's answer is believed on first contact; where things went well before, it tells of a passing trouble. */
export function isPassingRefusal({ code, isForeign }: Refusal, hasWorked: boolean): boolean {
  return PASSING_CODES.includes(code) || (isForeign === true && hasWorked);
}
