/**
 * Finds the records in which a run asked the client about tool calls: for an approval, or for the result of a call that
 * the client carries out. Parses only records of these types.
 */
import { createRecordReader } from "../../../dialects/loom/decode.ts";
import type { Log, RunInfo } from "../../../log/index.ts";
import { readPages } from "../../../log/read-pages.ts";
import type { EventOf } from "../../../protocol/index.ts";
import { findSession } from "../find-session.ts";
import { listApprovals } from "../list-approvals.ts";
import { listClientCalls } from "../list-client-calls.ts";

/** Returns the ID of the latest request for each call. Calls that were never asked about are missing. */
export async function findRequests(
  log: Log,
  session: string,
  run: RunInfo,
  calls: ReadonlySet<string>,
): Promise<ReadonlyMap<string, number>> {
  const info = await findSession(log, session);
  const found = new Map<string, number>();
  const read = createRecordReader();
  const last = run.lastId ?? info.lastId;
  for await (const { texts } of readPages(log, info, Math.max(run.firstId, info.firstId) - 1, last))
    for (const text of texts) {
      if (!text.includes('"tool_approval"') && !text.includes('"executor"')) continue;
      const record = read(text);
      if (record === undefined || record.envelope.run_id !== run.runId) continue;
      const { type, call_id = "", executor } = record.event as EventOf<"tool_start">;
      if ((type as string) !== "tool_approval" && !(type === "tool_start" && executor === "client")) continue;
      if (calls.has(call_id)) found.set(call_id, record.envelope.event_id ?? 0);
    }
  return found;
}

/** Returns the calls that wait for the client now, with the records of their requests. Empty if no run is live. */
export async function findWaiting(log: Log, session: string): Promise<ReadonlyMap<string, number>> {
  const waiting = [...(await listApprovals(log, session)), ...(await listClientCalls(log, session))];
  return new Map(waiting.map(({ call_id, event_id }) => [call_id, event_id]));
}
