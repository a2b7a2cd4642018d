/**
 * Encodes records as events of AG-UI. Only event types that clients of 0.0.59 and 1.0 know are sent: what has no event is
 * `CUSTOM` with the fields of the event. Fields that AG-UI does not define are in `metadata.loom`.
 *
 * A client can answer an approval only after the run has ended. While a run waits, each record therefore ends with a
 * `RUN_FINISHED` that names the open approvals, and the next one starts the run again, under the same ID.
 */
import { setBounded } from "../../protocol/bounded-map.ts";
import { findFault } from "../../protocol/check-form.ts";
import {
  type EventOf,
  type EventType,
  isKnownEvent,
  type LoomEvent,
  type StampedRecord,
} from "../../protocol/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../../protocol/json.ts";
import { endsRun } from "../../protocol/record.ts";
import { trackArguments, trackCall, type TrackedCall } from "../call-tracker.ts";
import { createTextEncoders, isSilent, REASONING_END_ROW, REASONING_ROW, TEXT_ROW } from "../client-rows.ts";
import { type Encoder, type EncoderOptions, NO_FRAMES } from "../dialect.ts";
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import { createFoldEncoder } from "../fold-encoder.ts";
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
import { SEARCH_EVENTS, SESSION_EVENTS } from "../event-groups.ts";
import { AG_UI, isOwnName, nameEvent } from "./carried-events.ts";
import { findAgUiFrameForm } from "./frames.generated.ts";
import {
  addInterrupt,
  addPending,
  appendText,
  closeRun,
  endMessage,
  endMessages,
  enterStep,
  exitStep,
  finishRun,
  forgetParent,
  nameCall,
  pauseRun,
  renameCall,
  SentRun,
  showCall,
  startRun,
  streamArguments,
  supersede,
  writeFrame,
} from "./sent-run.ts";
import { noteChange, noteState, takeChanges, toOperations } from "./sent-state.ts";

const FAILED = "The run failed";
const CANCELLED = "The run was cancelled";
const GRAPH_STATE = "the state after each step is sent as `STATE_SNAPSHOT` or `STATE_DELTA`";
/** The last time that `Date` can represent. */
const MAX_TIME = 8.64e15;
/** To-do lists of a run whose items are known, and their items. */
const MAX_LISTS = 100;
const MAX_LIST_ITEMS = 1000;
/** The fields that have a JSON Patch. Other frames may have fields of these names with any value. */
const PATCH_FIELDS: ReadonlyMap<unknown, string> = new Map([
  ["STATE_DELTA", "delta"],
  ["ACTIVITY_DELTA", "patch"],
]);
/** Frames without an event that can be sent again as they came: they name no message, call or step. */
const KEPT_FRAMES: ReadonlySet<unknown> = new Set(["ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "STATE_DELTA", "RAW"]);

export function createAgUiEncoder({ legacy = false }: EncoderOptions = {}, saved?: unknown): Encoder {
  return createFoldEncoder<SentRun>(
    {
      table: AG_UI_TABLE,
      create: (record) => new SentRun(record, legacy),
      before(fold, { event }) {
        if (fold.state === "active" || !isKnownEvent(event)) return NO_FRAMES;
        return fold.state === "waiting" && isSilent(AG_UI_TABLE, event) ? NO_FRAMES : startRun(fold);
      },
      after(fold, { event }) {
        const waits = fold.interrupts.size + fold.pending.size > 0 && fold.state === "active" && !endsRun(event);
        return waits ? pauseRun(fold) : NO_FRAMES;
      },
    },
    saved,
  );
}

const TEXTS = createTextEncoders<SentRun, "text">("text", appendText, endMessage);

/** A row for an event that is sent as `CUSTOM` with all its fields. */
function custom<T extends EventType>(note?: string): LedgerRow<SentRun, T> {
  return carried("CUSTOM", (_fold, event) => [writeCustom(event)], { note });
}

function writeCustom(event: LoomEvent): string {
  const { type, ...value } = event;
  return writeFrame("CUSTOM", { name: nameEvent(type), value });
}

/** A row for an event that is sent as an activity with all its fields. */
function activity<T extends EventType>(): LedgerRow<SentRun, T> {
  return carried("ACTIVITY_SNAPSHOT", (fold, event, { envelope: { node_id, event_id } }) => [
    ...endMessages(fold, node_id),
    writeActivity(event, `activity-${event_id}`),
  ]);
}

function writeActivity(event: LoomEvent, messageId: string): string {
  const { type, ...content } = event;
  const fields = { messageId, activityType: nameEvent(type), content: content as unknown as JsonObject };
  return writeFrame("ACTIVITY_SNAPSHOT", fields);
}

/** A row for an event of a running call: `CUSTOM` with the ID of the call. */
function callEvent<T extends "tool_start" | "tool_output" | "tool_progress">(
  phase: "start" | "running",
  note?: string,
): LedgerRow<SentRun, T> {
  const encode = (fold: SentRun, event: EventOf<T>, { envelope }: StampedRecord): readonly string[] => {
    const call = trackCall(fold.calls, event, envelope, phase);
    if (event.type === "tool_start" && event.executor === "client") addPending(fold, call);
    const named = { ...event, call_id: nameCall(fold, call), name: call.name } as LoomEvent;
    return [...showCall(fold, call, "{}", envelope.node_id), writeCustom(named)];
  };
  return carried("CUSTOM", encode, { note });
}

export const AG_UI_TABLE: LedgerTable<SentRun> = {
  run_start: carried("RUN_STARTED", () => NO_FRAMES, {
    lostFields: listLostRunFields("run_id"),
    note: "the thread is the session. Sent again when a run that waited goes on",
  }),
  llm_start: carried("CUSTOM", (fold, event, { envelope }) => {
    forgetParent(fold, envelope.node_id);
    return [writeCustom(event)];
  }),
  node_enter: converted(
    "STEP_STARTED",
    (fold, event, { envelope: { node_id = event.id } }) => [
      ...(event.supersedes === undefined ? NO_FRAMES : supersede(fold, event.supersedes)),
      ...enterStep(fold, node_id, event),
    ],
    {
      note: "if the node run repeats an interrupted one, `CUSTOM` with the name `loom.superseded` names the messages that no longer count. The endpoints for clients of AG-UI send a `MESSAGES_SNAPSHOT` without them after it. A step has the name of its node, with the ID of the node run if a step with this name is open. It is not read back",
      isLost: isNotReadBack,
    },
  ),
  node_exit: converted(
    "STEP_FINISHED",
    (fold, event, { envelope }) => exitStep(fold, envelope.node_id ?? event.id, event, envelope),
    { note: "steps also end when the run waits. It is not read back", isLost: isNotReadBack },
  ),
  message_chunk: carried("TEXT_MESSAGE_CONTENT", TEXTS.text, TEXT_ROW),
  reasoning_chunk: carried("REASONING_MESSAGE_CONTENT", TEXTS.reasoning, REASONING_ROW),
  reasoning_end: carried("REASONING_END", TEXTS.reasoningEnd, REASONING_END_ROW),
  tool_call_chunk: carried("TOOL_CALL_ARGS", encodeArguments, {
    lostFields: ["index"],
    note: "after a `TOOL_CALL_START`; pieces without a call ID are omitted, as the call follows with all arguments",
  }),
  tool_call: carried(
    "TOOL_CALL_END",
    (fold, event, { envelope }) => {
      const call = trackCall(fold.calls, event, envelope, "call");
      call.description = event.description;
      call.arguments = event.arguments;
      const text = event.raw_arguments ?? JSON.stringify(event.arguments);
      return [...endMessages(fold, envelope.node_id), ...showCall(fold, call, text, envelope.node_id)];
    },
    {
      lostFields: ["index", "server"],
      note: "with a `TOOL_CALL_START` and the arguments, unless they were streamed",
    },
  ),
  tool_start: callEvent(
    "start",
    "if the client carries out the call, a `RUN_FINISHED` follows, with the call in `pendingToolCallIds` of its outcome and in `metadata.loom.pending`",
  ),
  ...sameRow(["tool_output", "tool_progress"], callEvent("running")),
  tool_end: carried("TOOL_CALL_RESULT", encodeToolEnd, {
    lostFields: ["summary"],
    note: "what is not text is in `metadata.loom`. If a call is made again after an interruption, its ID gets a suffix",
  }),
  tool_approval: carried("RUN_FINISHED", encodeApproval, {
    lostFields: ["preview", "server"],
    note: "with the outcome `interrupt`, whose ID is the ID of the call. Sent after each record until all are answered",
  }),
  tool_approval_result: carried("CUSTOM", (fold, event, { envelope }) => {
    const call = trackCall(fold.calls, event, envelope, "before");
    fold.interrupts.delete(call.id);
    if (event.arguments !== undefined) call.arguments = event.arguments;
    return [writeCustom({ ...event, call_id: nameCall(fold, call), name: event.name ?? call.name })];
  }),
  todo_list: carried("ACTIVITY_SNAPSHOT", encodeList),
  todo_update: carried("ACTIVITY_DELTA", encodeItem, { note: "`CUSTOM` if the run does not have the item" }),
  ...sameRow(["image", "data"], activity()),
  custom: converted(
    "CUSTOM",
    (_fold, event) => [isCustomFrame(event.value) ? JSON.stringify(event.value) : writeCustom(event)],
    { note: "a `CUSTOM` of another program is sent unchanged" },
  ),
  ...sameRow(SESSION_EVENTS, omitted("it belongs to no run")),
  llm_content: omitted("only the owner may read it"),
  foreign: converted("RAW", (_fold, event) => [writeForeign(event)], {
    note: "the dialect is the `source`. Frames of AG-UI that this package has no event for are sent unchanged, if clients accept them",
  }),
  usage: carried(
    "CUSTOM",
    (fold, event) => {
      addUsage(fold, event);
      return [writeCustom(event)];
    },
    { note: "the sum is in `RUN_FINISHED` or `RUN_ERROR`" },
  ),
  error: custom("clients stop at `RUN_ERROR`, so it is sent only if the run fails"),
  ...sameRow(["llm_end", "retrieval_complete", "compression_applied", ...SEARCH_EVENTS], custom()),
  values: carried("STATE_SNAPSHOT", encodeState, {
    note: "a change is sent as `STATE_DELTA`, with what the nodes wrote; `CUSTOM` for a subgraph. A change without an earlier state is omitted",
  }),
  updates: omitted(GRAPH_STATE, ({ states }, event) => noteChange(states, event)),
  checkpoint: omitted(GRAPH_STATE, ({ states }, event) => noteChange(states, event)),
  run_end: carried(
    "RUN_FINISHED",
    (fold, { status, reason, code }, { envelope }) => {
      if (status === "completed") return NO_FRAMES;
      const frames = closeRun(fold, envelope);
      const usage = describeUsage(fold);
      if (status === "error")
        return [...frames, writeFrame("RUN_ERROR", { message: reason ?? FAILED, code, ...usage })];
      if (fold.isLegacy)
        return [...frames, writeFrame("RUN_ERROR", { message: reason ?? CANCELLED, code: "cancelled", ...usage })];
      const about = dropUndefined({ reason, code });
      const loom = Object.keys(about).length === 0 ? undefined : about;
      return [...frames, finishRun(fold, { outcome: { type: "cancelled" }, ...usage }, loom)];
    },
    {
      lostFields: ["summary", "first_event_id", "last_event_id", "frame_count", "has_reply"],
      note: "`RUN_ERROR` if the run failed. A cancelled run has the outcome `cancelled`; with the option `legacy` it is a `RUN_ERROR` with the code `cancelled`",
    },
  ),
  reply: carried(
    "RUN_FINISHED",
    (fold, event, record) => {
      const fields = { result: event.reply, outcome: { type: "success" }, ...describeUsage(fold) };
      return [...TEXTS.rest(fold, event, record), ...closeRun(fold, record.envelope), finishRun(fold, fields)];
    },
    { note: "the reply is the `result`. Text that was not streamed is sent before it" },
  ),
};

function addUsage(fold: SentRun, { prompt_tokens, completion_tokens, total_tokens }: EventOf<"usage">): void {
  const { inputTokens, outputTokens, totalTokens } = fold.usage ?? { inputTokens: 0, outputTokens: 0, totalTokens: 0 };
  fold.usage = {
    inputTokens: inputTokens + prompt_tokens,
    outputTokens: outputTokens + completion_tokens,
    totalTokens: totalTokens + total_tokens,
  };
}

/** Clients refuse counts that are not whole numbers. */
function describeUsage({ usage }: SentRun): JsonObject {
  return usage !== undefined && Object.values(usage).every(Number.isSafeInteger) ? { usage: [usage] } : {};
}

function encodeArguments(
  fold: SentRun,
  event: EventOf<"tool_call_chunk">,
  { envelope }: StampedRecord,
): readonly string[] {
  const call = trackArguments(fold.calls, event, envelope);
  if (call === undefined) return NO_FRAMES;
  const { node_id = "" } = envelope;
  return [...endMessages(fold, node_id), ...streamArguments(fold, call, node_id, event.arguments_delta)];
}

function encodeToolEnd(fold: SentRun, event: EventOf<"tool_end">, { envelope }: StampedRecord): readonly string[] {
  const call = trackCall(fold.calls, event, envelope, "end");
  fold.interrupts.delete(call.id);
  fold.pending.delete(call.id);
  const { result, is_error, output, error_code, duration_ms } = event;
  const isJson = output !== undefined && JSON.stringify(output) === result;
  const loom = {
    is_error: is_error || undefined,
    error_code,
    duration_ms,
    ...(isJson ? { is_json: true } : { output }),
  };
  const about = dropUndefined(loom);
  const fields = {
    messageId: `result-${envelope.event_id}`,
    toolCallId: nameCall(fold, call),
    content: result,
    role: "tool",
  };
  const frames = [
    ...endMessages(fold, envelope.node_id),
    ...showCall(fold, call, "{}", envelope.node_id),
    writeFrame("TOOL_CALL_RESULT", fields, Object.keys(about).length === 0 ? undefined : about),
  ];
  // A call of an interrupted model call that never started is made again.
  if (error_code === "interrupted") renameCall(fold, call.id, envelope.event_id);
  return frames;
}

function encodeApproval(
  fold: SentRun,
  event: EventOf<"tool_approval">,
  { envelope }: StampedRecord,
): readonly string[] {
  const call = trackCall(fold.calls, event, envelope, "before");
  addInterrupt(fold, call.id, createInterrupt(call, nameCall(fold, call), event));
  return [
    ...endMessages(fold, envelope.node_id),
    ...showCall(fold, call, JSON.stringify(event.arguments), envelope.node_id),
  ];
}

/** The metadata has the names that clients with approvals look for. */
function createInterrupt(
  { id, name }: TrackedCall,
  toolCallId: string,
  { arguments: input, expires_at, digest }: EventOf<"tool_approval">,
): JsonObject {
  const expiresAt =
    expires_at === undefined || Math.abs(expires_at) > MAX_TIME ? undefined : new Date(expires_at).toISOString();
  return dropUndefined({
    id,
    reason: "approval_required",
    message: `Allow ${name}?`,
    toolCallId,
    expiresAt,
    metadata: { kind: "approval", toolName: name, input, loom: dropUndefined({ expires_at, digest }) },
  });
}

function encodeList(
  fold: SentRun,
  event: EventOf<"todo_list">,
  { envelope: { node_id } }: StampedRecord,
): readonly string[] {
  const positions = new Map<string, number[]>();
  const items = event.items.length <= MAX_LIST_ITEMS ? event.items : [];
  for (const [index, { id }] of items.entries()) positions.set(id, [...(positions.get(id) ?? []), index]);
  setBounded(fold.lists, MAX_LISTS, event.list_id, positions);
  return [...endMessages(fold, node_id), writeActivity(event, nameList(event))];
}

function encodeItem({ lists }: SentRun, event: EventOf<"todo_update">): readonly string[] {
  const { list_id, item_id, completed, text } = event;
  const patch = (lists.get(list_id)?.get(item_id) ?? []).flatMap((index) =>
    Object.entries(dropUndefined({ completed, text })).map(([field, value]): JsonObject => ({
      op: "replace",
      path: `/items/${index}/${field}`,
      value,
    })),
  );
  if (patch.length === 0) return [writeCustom(event)];
  return [writeFrame("ACTIVITY_DELTA", { messageId: nameList(event), activityType: nameEvent("todo_list"), patch })];
}

function nameList({ list_id }: { readonly list_id: string }): string {
  return `todo-${list_id}`;
}

function encodeState({ states }: SentRun, event: EventOf<"values">): readonly string[] {
  const { checkpoint_ns = "", delta } = event;
  if (delta !== true) return sendState(states, event);
  const sent = states.get(checkpoint_ns);
  if (sent === undefined) return NO_FRAMES;
  const taken = takeChanges(sent, event);
  if ("state" in taken) return sendState(states, { ...event, state: taken.state, delta: false });
  if (checkpoint_ns !== "") return taken.changes.map((change) => writeCustom({ ...event, state: change }));
  const operations = toOperations(sent, taken.changes);
  return operations.length === 0 ? NO_FRAMES : [writeFrame("STATE_DELTA", { delta: operations })];
}

function sendState(states: SentRun["states"], event: EventOf<"values">): readonly string[] {
  noteState(states, event);
  return [isRootState(event) ? writeFrame("STATE_SNAPSHOT", { snapshot: event.state }) : writeCustom(event)];
}

function isRootState({ checkpoint_ns = "", delta }: EventOf<"values">): boolean {
  return checkpoint_ns === "" && delta !== true;
}

/** True for a `CUSTOM` of another program, as the decoder read it. */
function isCustomFrame(value: Json): boolean {
  return isJsonObject(value) && value["type"] === "CUSTOM" && !isOwnName(value["name"]) && isValid(value);
}

function writeForeign({ dialect, frame }: EventOf<"foreign">): string {
  const isKept = dialect === AG_UI && isJsonObject(frame) && KEPT_FRAMES.has(frame["type"]) && isValid(frame);
  return isKept ? JSON.stringify(frame) : writeFrame("RAW", { event: frame, source: dialect });
}

/** True if clients accept the frame. They refuse null instead of a missing field, and a patch without its value. */
function isValid(frame: JsonObject): boolean {
  const form = findAgUiFrameForm(frame["type"]);
  if (form === undefined || findFault(form.fields, frame) !== undefined) return false;
  const { event: _event, value: _value, ...others } = frame;
  const patch = (frame[PATCH_FIELDS.get(frame["type"]) ?? ""] ?? []) as readonly JsonObject[];
  return !Object.values(others).includes(null) && patch.every(isOperation);
}

function isOperation({ op, path, value, from, ...more }: JsonObject): boolean {
  const isPointer = (text: unknown) => typeof text === "string" && /^(\/([^/~]|~[01])*)*$/.test(text);
  if (!isPointer(path) || Object.keys(more).length > 0) return false;
  if (op === "move" || op === "copy") return isPointer(from) && value === undefined;
  return from === undefined && (op === "remove") === (value === undefined);
}
