/** Tells why a session is empty: `new`, `loading`, `gone` (does not exist) or `failed` (cannot be loaded). */
import type { SessionView } from "loom-agent/client";

export type EmptyReason = "new" | "loading" | "gone" | "failed";

export function findEmptyReason(session: SessionView | undefined): EmptyReason {
  const { status, reason } = session?.state ?? {};
  if (reason?.code === "unknown_session") return "gone";
  if (status === "live" || status === "complete") return "new";
  return status === "failed" || status === "truncated" ? "failed" : "loading";
}
