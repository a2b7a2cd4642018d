/** Lists what a client sent for a response: the message of its run, or the answers to the response before. */
import { createRecordReader } from "../../../dialects/loom/decode.ts";
import { formatOpenaiId } from "../../../dialects/openai-id.ts";
import type { Log } from "../../../log/index.ts";
import { readPages } from "../../../log/read-pages.ts";
import type { EventOf, JsonObject, StampedRecord } from "../../../protocol/index.ts";
import { findRun, findSession } from "../find-session.ts";
import type { RunPart } from "./openai-run.ts";

/** Maximum number of answers of one response. */
const MAX_ITEMS = 100;
/** Records that are read. */
const READ = /"type":"(?:run_start|tool_start|tool_end|tool_approval_result|llm_start)"/;

/** Throws `unknown_session` and `unknown_run`. */
export async function listInputItems(log: Log, part: RunPart): Promise<readonly JsonObject[]> {
  const info = await findSession(log, part.session);
  const { firstId, lastId } = await findRun(log, part.session, part.run);
  const read = createRecordReader();
  const items: JsonObject[] = [];
  const clientCalls = new Set<string>();
  for await (const { texts } of readPages(log, info, Math.max(firstId, info.firstId) - 1, lastId))
    for (const text of texts) {
      const record = READ.test(text) ? (read(text) as StampedRecord | undefined) : undefined;
      if (record?.envelope.run_id !== part.run) continue;
      const { event, envelope } = record;
      if (event.type === "tool_start") {
        const { call_id = "", executor } = event as EventOf<"tool_start">;
        if (executor === "client") clientCalls.add(call_id);
      }
      if (part.after > 0 && envelope.event_id <= part.after) continue;
      items.push(...readItem(record, part, clientCalls));
      // A message comes first and alone. Answers come before anything that the model writes.
      if (part.after === 0 || event.type === "llm_start" || items.length >= MAX_ITEMS) return items;
    }
  return items;
}

function readItem(
  { envelope, event }: StampedRecord,
  { session, run, after }: RunPart,
  clientCalls: ReadonlySet<string>,
): readonly JsonObject[] {
  const of = { session, run, after };
  switch (event.type) {
    case "run_start": {
      const { message = "", attachments = [] } = event as EventOf<"run_start">;
      const files = attachments.map(({ blob_id, name, media_type }) => ({
        type: "input_file",
        file_id: blob_id,
        filename: name ?? media_type,
      }));
      const content = [{ type: "input_text", text: message }, ...files];
      return [{ id: `msg_${envelope.event_id}`, type: "message", role: "user", status: "completed", content }];
    }
    case "tool_approval_result": {
      const { call_id: call = "", decision } = event as EventOf<"tool_approval_result">;
      const approval_request_id = formatOpenaiId("approval", { ...of, call });
      const id = `mcprsp_${envelope.event_id}`;
      return [{ id, type: "mcp_approval_response", approval_request_id, approve: decision === "approved" }];
    }
    case "tool_end": {
      const { call_id: call = "", result } = event as EventOf<"tool_end">;
      if (!clientCalls.has(call)) return [];
      const call_id = formatOpenaiId("call", { ...of, call });
      const id = `fco_${envelope.event_id}`;
      return [{ id, type: "function_call_output", status: "completed", call_id, output: result }];
    }
    default:
      return [];
  }
}
