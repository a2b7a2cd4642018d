/** Lists the tool calls of a session that wait for approval, from the records of its live run. */
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import type { Log } from "../../log/index.ts";
import type { Approvals } from "../api/shapes.generated.ts";
import { readLiveRun } from "./read-live-run.ts";

type PendingApproval = Approvals["approvals"][number];

/** Returns the open approval requests in the order they were made. Throws `unknown_session`. */
export async function listApprovals(
  log: Log,
  sessionId: string,
  now = Date.now(),
): Promise<readonly PendingApproval[]> {
  const waiting = new Map<string, PendingApproval>();
  const types = ["tool_approval", "tool_approval_result", "tool_end"] as const;
  for await (const { runId: run_id, eventId: event_id, event } of readLiveRun(log, sessionId, types)) {
    const { call_id = "" } = event;
    if (event.type !== "tool_approval") {
      waiting.delete(call_id);
      continue;
    }
    const { name, arguments: given, expires_at, digest, server } = event;
    const approval = { call_id, run_id, name, arguments: given, event_id, expires_at, digest, server };
    waiting.set(call_id, dropUndefined(approval));
  }
  return [...waiting.values()].filter(({ expires_at = Number.POSITIVE_INFINITY }) => expires_at > now);
}
