/**
 * Lists the tool calls of a session that wait for approval, from the records of its live run. Scans the records of that
 * run, but parses only those about approvals.
 */
import { createRecordReader } from "../../dialects/loom/decode.ts";
import type { Log } from "../../log/index.ts";
import { readPages } from "../../log/read-pages.ts";
import { unknownSession } from "../../log/rules.ts";
import type { EventOf } from "../../protocol/index.ts";
import type { Approvals } from "../api/shapes.generated.ts";

type PendingApproval = Approvals["approvals"][number];

/** Returns the open approval requests in the order they were made. Throws `unknown_session`. */
export async function listApprovals(
  log: Log,
  sessionId: string,
  now = Date.now(),
): Promise<readonly PendingApproval[]> {
  const info = await log.getSession(sessionId);
  if (info === undefined) throw unknownSession(sessionId);
  // A session has at most one live run, and it is the newest.
  const [latest] = await log.listRuns(sessionId, { limit: 1 });
  if (latest?.status !== "live") return [];
  const waiting = new Map<string, PendingApproval>();
  const read = createRecordReader();
  for await (const { texts } of readPages(log, info, Math.max(latest.firstId, info.firstId) - 1))
    for (const text of texts) {
      if (!text.includes('"tool_approval') && !text.includes('"tool_end"')) continue;
      const record = read(text);
      if (record?.envelope.run_id !== latest.runId) continue;
      const { event } = record;
      if (event.type === "tool_approval") {
        const { call_id = "", name, arguments: given, expires_at, digest } = event as EventOf<"tool_approval">;
        const base = { call_id, run_id: latest.runId, name, arguments: given };
        const event_id = record.envelope.event_id ?? 0;
        const ends = expires_at === undefined ? {} : { expires_at };
        waiting.set(call_id, { ...base, event_id, ...ends, ...(digest === undefined ? {} : { digest }) });
      } else if (event.type === "tool_approval_result" || event.type === "tool_end") {
        waiting.delete((event as EventOf<"tool_end">).call_id ?? "");
      }
    }
  return [...waiting.values()].filter(({ expires_at = Number.POSITIVE_INFINITY }) => expires_at > now);
}
