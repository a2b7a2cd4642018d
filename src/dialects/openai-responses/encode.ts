/**
 * Encodes records as stream events of the Responses API. Only types that the `openai` client knows are sent, because its
 * stream helper stops at any other: what has no event is a `keepalive` with the fields of the event.
 */
import type { EventOf, EventType, JsonObject, LoomEvent } from "../../protocol/index.ts";
import { endsRun } from "../../protocol/record.ts";
import { trackArguments, trackCall } from "../call-tracker.ts";
import { createTextEncoders, isSilent, REASONING_END_ROW, REASONING_ROW, TEXT_ROW } from "../client-rows.ts";
import { type Encoder, type EncoderOptions, NO_FRAMES } from "../dialect.ts";
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import { createFoldEncoder } from "../fold-encoder.ts";
import { readText } from "../frame-traits.ts";
import {
  carried,
  converted,
  isNotReadBack,
  type LedgerRow,
  type LedgerTable,
  listLostRunFields,
  omitted,
  sameRow,
} from "../ledger.ts";
import { CONTENT_EVENTS, SEARCH_EVENTS, SESSION_EVENTS, STATE_EVENTS } from "../event-groups.ts";
import { toOpenaiErrorCode } from "../openai-error.ts";
import {
  addPendingCall,
  isClientCall,
  mustEndMessage,
  removePendingCall,
  removeWaitingCall,
} from "../waiting-calls.ts";
import { FAILED, SERVER_ERROR } from "./output-items.ts";
import { pauseResponse, requestApproval, requestResult, resumeCall } from "./pause-response.ts";
import {
  addArguments,
  addCall,
  appendText,
  endCall,
  endResponse,
  endText,
  endTexts,
  SentResponse,
  showCall,
  startResponse,
  supersede,
  writeEvent,
} from "./sent-response.ts";

const INCOMPLETE_REASONS: { readonly [reason: string]: string } = {
  length: "max_output_tokens",
  content_filter: "content_filter",
};

/** The type is written first. */
const LAST = /^\{"type":"response\.(?:completed|incomplete|failed)"/;

/** True for the last event of a response. */
export function isLastResponseEvent(text: string): boolean {
  return LAST.test(text);
}

export function createOpenaiResponsesEncoder(_options?: EncoderOptions, saved?: unknown): Encoder {
  return createFoldEncoder<SentResponse>(
    {
      table: OPENAI_RESPONSES_TABLE,
      create: (record) => new SentResponse(record),
      before(fold, { event }) {
        if (fold.isOpen || (fold.after > 0 && isSilent(OPENAI_RESPONSES_TABLE, event))) return NO_FRAMES;
        if (event.type === "run_start") fold.model = (event as EventOf<"run_start">).agent ?? fold.model;
        return startResponse(fold);
      },
      after: (fold, { envelope, event }) =>
        fold.isOpen && !endsRun(event) && mustEndMessage(fold.waiting)
          ? pauseResponse(fold, envelope.event_id)
          : NO_FRAMES,
    },
    saved,
  );
}

const TEXTS = createTextEncoders<SentResponse, "message">("message", appendText, endText);

function writeExtension(fold: SentResponse, event: LoomEvent): string {
  return writeEvent(fold, "keepalive", { loom: event as unknown as JsonObject });
}

/** A row for an event that only clients of Loom read. It has all its fields. */
function extension<T extends EventType>(note?: string): LedgerRow<SentResponse, T> {
  return carried("keepalive", (fold, event) => [writeExtension(fold, event)], { note });
}

/** Like `extension`, for an event of a call. */
function callExtension<T extends "tool_output" | "tool_progress">(): LedgerRow<SentResponse, T> {
  return carried("keepalive", (fold, event, { envelope }) => {
    const { id } = trackCall(fold.calls, event, envelope, "running");
    return [writeExtension(fold, { ...event, call_id: id })];
  });
}

export const OPENAI_RESPONSES_TABLE: LedgerTable<SentResponse> = {
  run_start: carried("response.created", () => NO_FRAMES, {
    lostFields: listLostRunFields("run_id"),
    note: "the ID of the response names session and run, its model is the agent; `response.in_progress` follows",
  }),
  llm_start: converted(
    "response.output_item.done",
    (fold, { purpose = "answer" }, { envelope }) =>
      purpose === "answer" ? endTexts(fold, envelope.node_id) : NO_FRAMES,
    {
      note: "ends the text of the model call before, if there is one. It is not read back",
      isLost: isNotReadBack,
    },
  ),
  llm_end: omitted("the reason of the last model call decides how the response ends", (fold, event) => {
    const { purpose = "answer", finish_reason = "" } = event;
    if (purpose === "answer") fold.incompleteReason = INCOMPLETE_REASONS[finish_reason];
  }),
  node_enter: converted(
    "response.output_item.done",
    (fold, { supersedes }) => (supersedes === undefined ? NO_FRAMES : supersede(fold, supersedes)),
    {
      note: "only if the node run repeats an interrupted one: the open items of that one end as `incomplete`, and its texts, and calls that did not run, are not in the `output` of the last event. It is not read back",
      isLost: isNotReadBack,
    },
  ),
  node_exit: converted(
    "response.output_item.done",
    (fold, { result }, { envelope }) => endTexts(fold, envelope.node_id, result === "Ok" ? "completed" : "incomplete"),
    { note: "ends the text of the node run, if there is one. It is not read back", isLost: isNotReadBack },
  ),
  message_chunk: carried("response.output_text.delta", TEXTS.text, {
    ...TEXT_ROW,
    note: `in an item \`message\`; ${TEXT_ROW.note}`,
  }),
  reasoning_chunk: carried("response.reasoning_summary_text.delta", TEXTS.reasoning, {
    ...REASONING_ROW,
    note: "in an item `reasoning`",
  }),
  reasoning_end: carried("response.output_item.done", TEXTS.reasoningEnd, REASONING_END_ROW),
  tool_call_chunk: carried(
    "response.mcp_call_arguments.delta",
    (fold, event, { envelope }) => {
      const call = trackArguments(fold.calls, event, envelope);
      if (call === undefined || fold.clientTools.includes(call.name)) return NO_FRAMES;
      return [...addCall(fold, call, envelope), ...addArguments(fold, call, event.arguments_delta)];
    },
    {
      lostFields: ["index"],
      note: "pieces without a call ID are omitted, as the call follows with all arguments",
    },
  ),
  tool_call: carried(
    "response.mcp_call_arguments.done",
    (fold, event, { envelope }) => {
      const call = trackCall(fold.calls, event, envelope, "call");
      call.description = event.description;
      addPendingCall(fold.waiting, call.id, envelope.node_id ?? "");
      if (fold.clientTools.includes(call.name)) {
        fold.paused.set(call.id, event.raw_arguments ?? JSON.stringify(event.arguments));
        return NO_FRAMES;
      }
      return showCall(fold, call, envelope, event.raw_arguments ?? JSON.stringify(event.arguments));
    },
    {
      lostFields: ["index", "server"],
      note: "an item `mcp_call`, as the server runs the tool; a `function_call` would ask the client to run it",
    },
  ),
  tool_start: carried(
    "response.output_item.done",
    (fold, event, { envelope }) => {
      const call = trackCall(fold.calls, event, envelope, "start");
      if (isClientCall(event)) return requestResult(fold, call, envelope, event);
      return fold.paused.has(call.id) ? resumeCall(fold, call, envelope) : NO_FRAMES;
    },
    {
      lostFields: ["expires_at"],
      note: "only if the client carries out the call: an item `function_call`, after which the response ends. A call of the server with its arguments counts as started",
      isLost: (event) => !isClientCall(event),
    },
  ),
  ...sameRow(["tool_output", "tool_progress"], callExtension()),
  tool_end: carried(
    "response.output_item.done",
    (fold, event, { envelope }) => {
      const call = trackCall(fold.calls, event, envelope, "end");
      const wasAsked = fold.waiting.waiting.get(call.id)?.["type"] === "function_call";
      removePendingCall(fold.waiting, call.id);
      if (wasAsked) return [writeExtension(fold, { ...event, call_id: call.id })];
      return [...resumeCall(fold, call, envelope), ...endCall(fold, call, event)];
    },
    {
      lostFields: ["summary"],
      note: "after `response.mcp_call.completed`, or `response.mcp_call.failed` if it failed. `keepalive` for the result of the client, which the client has",
    },
  ),
  tool_approval: carried(
    "response.output_item.done",
    (fold, event, { envelope }) => {
      const { id } = trackCall(fold.calls, event, envelope, "before");
      return [...endTexts(fold, envelope.node_id), ...requestApproval(fold, { ...event, call_id: id }, envelope)];
    },
    {
      lostFields: ["preview", "server"],
      note: "an item `mcp_approval_request`. The response ends when all calls of the model's answer have ended or wait; the rest of the run is another response",
    },
  ),
  tool_approval_result: carried("keepalive", (fold, event, { envelope }) => {
    const { id } = trackCall(fold.calls, event, envelope, "before");
    removeWaitingCall(fold.waiting, id);
    return [writeExtension(fold, { ...event, call_id: id })];
  }),
  ...sameRow([...CONTENT_EVENTS, ...SEARCH_EVENTS], extension()),
  error: extension("clients stop at the event `error`, so it is not sent"),
  ...sameRow(SESSION_EVENTS, omitted("it belongs to no response")),
  llm_content: omitted("only the owner may read it"),
  foreign: extension("also events of this API without an equivalent: their positions are those of another response"),
  usage: carried(
    "keepalive",
    (fold, event) => {
      const { input, output, total } = fold.usage ?? { input: 0, output: 0, total: 0 };
      const { prompt_tokens, completion_tokens, total_tokens } = event;
      fold.usage = { input: input + prompt_tokens, output: output + completion_tokens, total: total + total_tokens };
      return [writeExtension(fold, event)];
    },
    { note: "the last event has the sum as `usage`" },
  ),
  ...sameRow(STATE_EVENTS, omitted("clients of the Responses API do not show graph state")),
  run_end: carried(
    "response.failed",
    (fold, { status, reason, code }) => {
      if (status === "completed") return NO_FRAMES;
      if (status === "error")
        return endResponse(fold, "failed", {
          error: { code: toOpenaiErrorCode(code ?? SERVER_ERROR), message: readText(reason) ?? FAILED },
        });
      return endResponse(fold, "cancelled", {}, dropUndefined({ reason, code }));
    },
    {
      lostFields: ["summary", "first_event_id", "last_event_id", "frame_count", "has_reply"],
      note: "`response.incomplete` with the status `cancelled` if the run was cancelled. The code `model_rate_limited` is `rate_limit_exceeded` there",
    },
  ),
  reply: carried(
    "response.completed",
    (fold, event, record) => [...TEXTS.rest(fold, event, record), ...endResponse(fold, "completed")],
    {
      note: "`response.incomplete` if the last model call was cut off. Text that was not streamed is sent before it; read back as all text of the response",
    },
  ),
};
