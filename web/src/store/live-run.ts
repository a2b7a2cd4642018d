/** Finds the live run of a session. A run is not live if its stream failed or was truncated. */
import type { SessionView, TurnView } from "loom-agent/client";

export function findLiveRun(session: SessionView | undefined): TurnView | undefined {
  const status = session?.state.status;
  if (status === "failed" || status === "truncated") return undefined;
  const latest = session?.turns.at(-1);
  return latest?.status === "running" ? latest : undefined;
}
