/** The run of a session that is going on, as far as anybody can know: of one that is no longer heard nothing is waited for. */
import type { SessionView, TurnView } from "loom-agent/client";

export function findLiveRun(session: SessionView | undefined): TurnView | undefined {
  const status = session?.state.status;
  if (status === "failed" || status === "truncated") return undefined;
  const latest = session?.turns.at(-1);
  return latest?.status === "running" ? latest : undefined;
}
