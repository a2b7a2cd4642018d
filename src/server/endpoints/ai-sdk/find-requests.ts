/** Finds the records in which a run asked the user about tool calls. Parses only records about approvals. */
import { createRecordReader } from "../../../dialects/loom/decode.ts";
import type { Log, RunInfo } from "../../../log/index.ts";
import { readPages } from "../../../log/read-pages.ts";
import type { EventOf } from "../../../protocol/index.ts";
import { findSession } from "../find-session.ts";

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
      if (!text.includes('"tool_approval"')) continue;
      const record = read(text);
      if (record?.event.type !== "tool_approval" || record.envelope.run_id !== run.runId) continue;
      const { call_id = "" } = record.event as EventOf<"tool_approval">;
      if (calls.has(call_id)) found.set(call_id, record.envelope.event_id ?? 0);
    }
  return found;
}
