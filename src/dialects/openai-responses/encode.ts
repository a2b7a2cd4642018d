/**
 * Encodes records as stream events of the Responses API. Only types that the `openai` client knows are sent, because its
 * stream helper stops at any other: what has no event is a `keepalive` with the fields of the event.
 */
import type { EventOf, EventType } from "../../protocol/index.ts";
import { endsRun } from "../../protocol/record.ts";
import { trackCall } from "../call-tracker.ts";
import { addTokens, argumentsRow, isSilent, reasoningEndRow, reasoningRow, sendRest, textRow } from "../client-rows.ts";
import { type Encoder, type EncoderOptions, NO_FRAMES } from "../dialect.ts";
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import { createFoldEncoder } from "../fold-encoder.ts";
import { readText } from "../frame-traits.ts";
import {
  carried,
  converted,
  type LedgerRow,
  type LedgerTable,
  listLost,
  notReadBack,
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
import { SentResponse } from "./sent-response.ts";

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
      methods: SentResponse.prototype,
      create: (record) => new SentResponse(record),
      before(fold, { event }) {
        if (fold.isOpen || (fold.after > 0 && isSilent(OPENAI_RESPONSES_TABLE, event))) return NO_FRAMES;
        if (event.type === "run_start") fold.model = (event as EventOf<"run_start">).agent ?? fold.model;
        return fold.start();
      },
      after: (fold, { envelope, event }) =>
        fold.isOpen && !endsRun(event) && mustEndMessage(fold.waiting)
          ? pauseResponse(fold, envelope.event_id)
          : NO_FRAMES,
    },
    saved,
  );
}

/** A row for an event that only clients of Loom read. It has all its fields. */
function extension<T extends EventType>(note?: string): LedgerRow<SentResponse, T> {
  return carried("keepalive", (fold, event) => fold.extend(event), { note });
}

/** Like `extension`, for an event of a call. */
function callExtension<T extends "tool_output" | "tool_progress">(): LedgerRow<SentResponse, T> {
  return carried("keepalive", (fold, event, { envelope }) => {
    const { id } = trackCall(fold.calls, event, envelope, "running");
    return fold.extend({ ...event, call_id: id });
  });
}

export const OPENAI_RESPONSES_TABLE: LedgerTable<SentResponse> = {
  run_start: carried("response.created", () => NO_FRAMES, {
    lostFields: listLost("run_start", "run_id"),
    note: "the ID of the response names session and run, its model is the agent; `response.in_progress` follows",
  }),
  llm_start: converted(
    "response.output_item.done",
    (fold, { purpose = "answer" }, { envelope }) =>
      purpose === "answer" ? fold.endTexts(envelope.node_id) : NO_FRAMES,
    notReadBack("ends the text of the model call before, if there is one"),
  ),
  llm_end: omitted("the reason of the last model call decides how the response ends", (fold, event) => {
    const { purpose = "answer", finish_reason = "" } = event;
    if (purpose === "answer") fold.incompleteReason = INCOMPLETE_REASONS[finish_reason];
  }),
  node_enter: converted(
    "response.output_item.done",
    (fold, { supersedes }) => (supersedes === undefined ? NO_FRAMES : fold.supersede(supersedes)),
    notReadBack(
      "only if the node run repeats an interrupted one: the open items of that one end as `incomplete`, and its texts, and calls that did not run, are not in the `output` of the last event",
    ),
  ),
  node_exit: converted(
    "response.output_item.done",
    (fold, { result }, { envelope }) => fold.endTexts(envelope.node_id, result === "Ok" ? "completed" : "incomplete"),
    notReadBack("ends the text of the node run, if there is one"),
  ),
  message_chunk: textRow("response.output_text.delta", "in an item `message`; "),
  reasoning_chunk: reasoningRow("response.reasoning_summary_text.delta", "in an item `reasoning`"),
  reasoning_end: reasoningEndRow("response.output_item.done"),
  tool_call_chunk: argumentsRow("response.mcp_call_arguments.delta"),
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
      return fold.showCall(call, envelope, event.raw_arguments ?? JSON.stringify(event.arguments));
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
      if (wasAsked) return fold.extend({ ...event, call_id: call.id });
      return [...resumeCall(fold, call, envelope), ...fold.endCall(call, event)];
    },
    {
      lostFields: ["summary", "actor"],
      note: "after `response.mcp_call.completed`, or `response.mcp_call.failed` if it failed. `keepalive` for the result of the client, which the client has",
    },
  ),
  tool_approval: carried(
    "response.output_item.done",
    (fold, event, { envelope }) => {
      const { id } = trackCall(fold.calls, event, envelope, "before");
      return [...fold.endTexts(envelope.node_id), ...requestApproval(fold, { ...event, call_id: id }, envelope)];
    },
    {
      lostFields: ["preview", "server"],
      note: "an item `mcp_approval_request`. The response ends when all calls of the model's answer have ended or wait; the rest of the run is another response",
    },
  ),
  tool_approval_result: carried("keepalive", (fold, event, { envelope }) => {
    const { id } = trackCall(fold.calls, event, envelope, "before");
    removeWaitingCall(fold.waiting, id);
    return fold.extend({ ...event, call_id: id });
  }),
  ...sameRow([...CONTENT_EVENTS, ...SEARCH_EVENTS], extension()),
  error: extension("clients stop at the event `error`, so it is not sent"),
  ...sameRow(SESSION_EVENTS, omitted("it belongs to no response")),
  llm_content: omitted("only the owner may read it"),
  foreign: extension("also events of this API without an equivalent: their positions are those of another response"),
  usage: carried(
    "keepalive",
    (fold, event) => {
      fold.usage = addTokens(fold.usage, event);
      return fold.extend(event);
    },
    { note: "the last event has the sum as `usage`" },
  ),
  ...sameRow(STATE_EVENTS, omitted("clients of the Responses API do not show graph state")),
  run_end: carried(
    "response.failed",
    (fold, { status, reason, code }) => {
      if (status === "completed") return NO_FRAMES;
      if (status === "error")
        return fold.end("failed", {
          error: { code: toOpenaiErrorCode(code ?? SERVER_ERROR), message: readText(reason) ?? FAILED },
        });
      return fold.end("cancelled", {}, dropUndefined({ reason, code }));
    },
    {
      lostFields: listLost("run_end", "status", "reason", "code"),
      note: "`response.incomplete` with the status `cancelled` if the run was cancelled. The code `model_rate_limited` is `rate_limit_exceeded` there",
    },
  ),
  reply: carried(
    "response.completed",
    (fold, { reply }, { envelope }) => [...sendRest(fold, reply, envelope), ...fold.end("completed")],
    {
      note: "`response.incomplete` if the last model call was cut off. Text that was not streamed is sent before it; read back as all text of the response",
    },
  ),
};
