/**
 * Responses of a run that waits for the client. A client answers an approval request or a call with a new request, and
 * only after the response has ended. The rest of the run therefore is another response.
 */
import type { EventOf, JsonObject } from "../../protocol/index.ts";
import type { StampedEnvelope } from "../../protocol/record.ts";
import type { TrackedCall } from "../call-tracker.ts";
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import { formatOpenaiId } from "../openai-id.ts";
import { addWaitingCall, endMessage } from "../waiting-calls.ts";
import { CALL_KEY, SERVER_LABEL, type SentResponse } from "./sent-response.ts";

/**
 * Ends the response of a run that waits for the client. Calls that go on are not in its output; they are added again to
 * the next one.
 */
export function pauseResponse(fold: SentResponse, eventId: number): readonly string[] {
  const frames: string[] = [];
  for (const item of endMessage(fold.waiting)) frames.push(...sendItem(fold, item, ""));
  for (const key of fold.open.keys()) {
    if (!key.startsWith(CALL_KEY)) continue;
    const call = key.slice(CALL_KEY.length);
    fold.paused.set(call, fold.dropCall(call, frames) ?? "{}");
  }
  frames.push(...fold.end("completed", {}, { waiting: true }));
  const previous = fold.id;
  if (fold.of === undefined) fold.id = `${previous}.${eventId}`;
  else fold.id = formatOpenaiId("response", { ...fold.of, after: eventId });
  Object.assign(fold, {
    after: eventId,
    about: { ...fold.about, previous_response_id: previous },
    isOpen: false,
    sequence: 0,
    items: 0,
    output: [],
    held: 0,
    isCut: false,
    usage: undefined,
  } satisfies Partial<SentResponse>);
  return frames;
}

/** Asks for the approval of a call, as a separate item. */
export function requestApproval(
  fold: SentResponse,
  { call_id: call = "", name, arguments: args, expires_at, digest }: EventOf<"tool_approval">,
  { node_id: node = "", event_id }: StampedEnvelope,
): readonly string[] {
  const { of, after } = fold;
  const item = {
    id: of === undefined ? `mcpr_${event_id}` : formatOpenaiId("approval", { ...of, after, call }),
    type: "mcp_approval_request",
    server_label: SERVER_LABEL,
    name,
    arguments: JSON.stringify(args),
    loom: dropUndefined({ call_id: call, expires_at, digest }),
  };
  addWaitingCall(fold.waiting, call, item);
  return sendItem(fold, item, node);
}

/** Asks the client to carry out a call. The item of the call as one of the server does not count any more. */
export function requestResult(
  fold: SentResponse,
  call: TrackedCall,
  { node_id: node = "", event_id }: StampedEnvelope,
  { expires_at }: EventOf<"tool_start">,
): readonly string[] {
  const { of, after } = fold;
  const frames: string[] = [...fold.endTexts(node)];
  const args = fold.dropCall(call.id, frames) ?? fold.paused.get(call.id) ?? "{}";
  const item = {
    id: `fc_${event_id}`,
    type: "function_call",
    status: "completed",
    call_id: of === undefined ? call.id : formatOpenaiId("call", { ...of, after, call: call.id }),
    name: call.name,
    arguments: args,
    loom: dropUndefined({ call_id: call.id, expires_at }),
  };
  fold.paused.delete(call.id);
  addWaitingCall(fold.waiting, call.id, item);
  return [...frames, ...sendItem(fold, item, node)];
}

/** Adds the item of a call, with its arguments, unless it is open. */
export function resumeCall(fold: SentResponse, call: TrackedCall, envelope: StampedEnvelope): readonly string[] {
  const args = fold.paused.get(call.id);
  if (args !== undefined) call.shown = false;
  fold.paused.delete(call.id);
  return fold.showCall(call, envelope, args ?? "{}");
}

/** Sends an item that is complete at once. */
function sendItem(fold: SentResponse, item: JsonObject, node: string): readonly string[] {
  const index = fold.items++;
  if (item["type"] !== "function_call")
    return [
      fold.writeEvent("response.output_item.added", { output_index: index, item }),
      fold.sendDone({ index, node }, item, true),
    ];
  const at = { item_id: item["id"] as string, output_index: index };
  const args = item["arguments"] as string;
  const added = { ...item, status: "in_progress", arguments: "" };
  return [
    fold.writeEvent("response.output_item.added", { output_index: index, item: added }),
    fold.writeEvent("response.function_call_arguments.delta", { ...at, delta: args }),
    fold.writeEvent("response.function_call_arguments.done", { ...at, name: item["name"], arguments: args }),
    fold.sendDone({ index, node }, item, true),
  ];
}
