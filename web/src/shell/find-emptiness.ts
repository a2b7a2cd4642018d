/** Why a session shows nothing: it is new, on its way, not there, or cannot be had. What cannot be had is not waited for. */
import type { SessionView } from "loom-agent/client";

export type Emptiness = "new" | "loading" | "gone" | "failed";

export function findEmptiness(session: SessionView | undefined): Emptiness {
  const { status, reason } = session?.state ?? {};
  if (reason?.code === "unknown_session") return "gone";
  if (status === "live" || status === "complete") return "new";
  return status === "failed" || status === "truncated" ? "failed" : "loading";
}
