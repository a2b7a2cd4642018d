/** Lists the tool calls of a session that wait for a result of the client, from the records of its live run. */
import type { Log } from "../../log/index.ts";
import type { JsonObject } from "../../protocol/index.ts";
import type { ClientCalls } from "../api/shapes.generated.ts";
import { readLiveRun } from "./read-live-run.ts";

type WaitingClientCall = ClientCalls["calls"][number];

/** Returns the calls in the order they were started. Throws `unknown_session`. */
export async function listClientCalls(
  log: Log,
  sessionId: string,
  now = Date.now(),
): Promise<readonly WaitingClientCall[]> {
  /** Arguments of the calls that have not ended, by call ID. */
  const inputs = new Map<string, JsonObject>();
  const waiting = new Map<string, WaitingClientCall>();
  const types = ["tool_call", "tool_approval", "tool_approval_result", "tool_start", "tool_end"] as const;
  for await (const { runId: run_id, eventId: event_id, event } of readLiveRun(log, sessionId, types)) {
    const { call_id = "" } = event;
    if (event.type === "tool_end") {
      inputs.delete(call_id);
      waiting.delete(call_id);
    } else if (event.type !== "tool_start") {
      // Those that the user edited replace the others.
      if (event.arguments !== undefined) inputs.set(call_id, event.arguments);
    } else if (event.executor === "client") {
      const ends = event.expires_at === undefined ? {} : { expires_at: event.expires_at };
      const { name } = event;
      waiting.set(call_id, { call_id, run_id, name, arguments: inputs.get(call_id) ?? {}, event_id, ...ends });
    }
  }
  return [...waiting.values()].filter(({ expires_at = Number.POSITIVE_INFINITY }) => expires_at > now);
}
