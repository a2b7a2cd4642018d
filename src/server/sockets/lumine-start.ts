/** Parses the URL query of a Lumine (004) socket and resolves where its stream starts. */
import type { Log } from "../../log/index.ts";
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import { LoomError } from "../../protocol/index.ts";

export interface LumineStart {
  readonly session?: string;
  /** Send everything in the session as it happens. */
  readonly follow: boolean;
  /** A cursor, or an event ID in digits. */
  readonly after?: string;
  /** Frames the client already has after `after`. Without `after`, counted from the start of the latest run. */
  readonly skip?: number;
  /** The client was disconnected and resumes. */
  readonly isResumed: boolean;
  /** An invalid query, reported after the greeting. */
  readonly error?: LoomError;
}

export function readLumineStart(query: URLSearchParams): LumineStart {
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
    ? new LoomError("invalid_request", "`skip` must be an integer of at least 0")
    : isLost
      ? new LoomError("invalid_request", "`after` and `skip` require `session_id`")
      : undefined;
  return dropUndefined({
    session,
    follow: ["1", "true"].includes(query.get("follow") ?? ""),
    after,
    ...(skip === undefined || isBad ? {} : { skip: Number(skip) }),
    isResumed: after !== undefined || skip !== undefined,
    error,
  });
}

/**
 * Returns the position to start after: the one in the query, the start of the latest run when it is live or frames are
 * skipped, otherwise the end of the session.
 */
export async function resolveLumineStart(
  log: Log,
  session: string,
  { after, skip }: Pick<LumineStart, "after" | "skip">,
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
 * Whether no run is live, no message waits, and no run has started after the record `shownId`. Waiting messages are
 * read first, so that a message that becomes a run in between is seen as a run.
 */
export async function isSessionIdle(log: Log, session: string, shownId = Number.POSITIVE_INFINITY): Promise<boolean> {
  const waiting = await log.listPending(session, log.limits.maxPendingCommands);
  if (waiting.some(({ kind }) => kind === "enqueue")) return false;
  const [latest] = await log.listRuns(session, { limit: 1 });
  return latest === undefined || (latest.status !== "live" && latest.firstId <= shownId);
}
