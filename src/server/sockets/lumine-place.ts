/** What the address of a socket of 004 asks for, and where in the log that is. */
import type { Log } from "../../log/index.ts";
import { LoomError } from "../../protocol/index.ts";

export interface LuminePlace {
  readonly session?: string;
  /** Everything of the session as it happens. */
  readonly follow: boolean;
  /** A cursor, or the event_id of a record as digits. */
  readonly after?: string;
  /** Whole frames received since; without `after`: of the latest run. */
  readonly skip?: number;
  /** A client that was cut off comes back. */
  readonly isResumed: boolean;
  /** What is wrong with it, to be said after the greeting. */
  readonly error?: LoomError;
}

export function readLuminePlace(query: URLSearchParams): LuminePlace {
  const text = (name: string): string | undefined => {
    const value = query.get(name) ?? "";
    return value === "" ? undefined : value;
  };
  const session = text("session_id");
  const after = text("after");
  const skip = text("skip");
  const isBad = skip !== undefined && !/^\d{1,15}$/.test(skip);
  const isLost = session === undefined && (after !== undefined || skip !== undefined);
  const error = isBad
    ? new LoomError("invalid_request", "`skip` is a whole number from 0 on")
    : isLost
      ? new LoomError("invalid_request", "`after` and `skip` need a `session_id`")
      : undefined;
  return {
    ...(session === undefined ? {} : { session }),
    follow: ["1", "true"].includes(query.get("follow") ?? ""),
    ...(after === undefined ? {} : { after }),
    ...(skip === undefined || isBad ? {} : { skip: Number(skip) }),
    isResumed: after !== undefined || skip !== undefined,
    ...(error === undefined ? {} : { error }),
  };
}

/** Where to begin: after the place that is named, or with the run that is counted from. */
export async function placeOf(
  log: Log,
  session: string,
  { after, skip }: Pick<LuminePlace, "after" | "skip">,
): Promise<{ readonly after: string; readonly skip?: number }> {
  const skipped = skip === undefined ? {} : { skip };
  if (after !== undefined) return { after, ...skipped };
  const [latest] = await log.listRuns(session, { limit: 1 });
  if (latest !== undefined && (skip !== undefined || latest.status === "live"))
    return { after: String(latest.firstId - 1), ...skipped };
  const info = await log.getSession(session);
  return { after: String(info?.lastId ?? 0), ...skipped };
}

/**
 * Whether nothing of the session goes on or waits, and no run has begun after the record that was shown last. What waits
 * first: a message whose turn comes in between is seen.
 */
export async function isIdle(log: Log, session: string, shownId = Number.POSITIVE_INFINITY): Promise<boolean> {
  const waiting = await log.listPending(session, log.limits.maxPendingCommands);
  if (waiting.some(({ kind }) => kind === "enqueue")) return false;
  const [latest] = await log.listRuns(session, { limit: 1 });
  return latest === undefined || (latest.status !== "live" && latest.firstId <= shownId);
}
