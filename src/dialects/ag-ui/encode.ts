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
import { trackCall, type TrackedCall } from "../call-tracker.ts";
import { addTokens, argumentsRow, isSilent, reasoningEndRow, reasoningRow, sendRest, textRow } from "../client-rows.ts";
import { type Encoder, type EncoderOptions, NO_FRAMES } from "../dialect.ts";
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import { createFoldEncoder } from "../fold-encoder.ts";
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
import { SEARCH_EVENTS, SESSION_EVENTS } from "../event-groups.ts";
import { AG_UI, isOwnName, nameEvent } from "./carried-events.ts";
import { findAgUiFrameForm } from "./frames.generated.ts";
import { SentRun, toLoom, writeFrame } from "./sent-run.ts";
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
      methods: SentRun.prototype,
      create: (record) => new SentRun(record, legacy),
      before(fold, { event }) {
        if (fold.state === "active" || !isKnownEvent(event)) return NO_FRAMES;
        return fold.state === "waiting" && isSilent(AG_UI_TABLE, event) ? NO_FRAMES : fold.start();
      },
      after(fold, { event }) {
        const waits = fold.interrupts.size + fold.pending.size > 0 && fold.state === "active" && !endsRun(event);
        return waits ? fold.pause() : NO_FRAMES;
      },
    },
    saved,
  );
}

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
    ...fold.endTexts(node_id),
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
    if (event.type === "tool_start" && event.executor === "client") fold.addPending(call);
    const named = { ...event, call_id: fold.nameCall(call), name: call.name } as LoomEvent;
    return [...fold.showCall(call, "{}", envelope.node_id), writeCustom(named)];
  };
  return carried("CUSTOM", encode, { note });
}

export const AG_UI_TABLE: LedgerTable<SentRun> = {
  run_start: carried("RUN_STARTED", () => NO_FRAMES, {
    lostFields: listLost("run_start", "run_id"),
    note: "the thread is the session. Sent again when a run that waited goes on",
  }),
  llm_start: carried("CUSTOM", (fold, event, { envelope }) => {
    fold.forgetParent(envelope.node_id);
    return [writeCustom(event)];
  }),
  node_enter: converted(
    "STEP_STARTED",
    (fold, event, { envelope: { node_id = event.id } }) => [
      ...(event.supersedes === undefined ? NO_FRAMES : fold.supersede(event.supersedes)),
      ...fold.enterStep(node_id, event),
    ],
    notReadBack(
      "if the node run repeats an interrupted one, `CUSTOM` with the name `loom.superseded` names the messages that no longer count. The endpoints for clients of AG-UI send a `MESSAGES_SNAPSHOT` without them after it. A step has the name of its node, with the ID of the node run if a step with this name is open",
    ),
  ),
  node_exit: converted(
    "STEP_FINISHED",
    (fold, event, { envelope }) => fold.exitStep(envelope.node_id ?? event.id, event, envelope),
    notReadBack("steps also end when the run waits"),
  ),
  message_chunk: textRow("TEXT_MESSAGE_CONTENT"),
  reasoning_chunk: reasoningRow("REASONING_MESSAGE_CONTENT"),
  reasoning_end: reasoningEndRow("REASONING_END"),
  tool_call_chunk: argumentsRow("TOOL_CALL_ARGS", "after a `TOOL_CALL_START`; "),
  tool_call: carried(
    "TOOL_CALL_END",
    (fold, event, { envelope }) => {
      const call = trackCall(fold.calls, event, envelope, "call");
      call.description = event.description;
      call.arguments = event.arguments;
      const text = event.raw_arguments ?? JSON.stringify(event.arguments);
      return [...fold.endTexts(envelope.node_id), ...fold.showCall(call, text, envelope.node_id)];
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
  tool_end: carried(
    "TOOL_CALL_RESULT",
    (fold, event, { envelope }) => {
      const { node_id, event_id } = envelope;
      const call = trackCall(fold.calls, event, envelope, "end");
      fold.interrupts.delete(call.id);
      fold.pending.delete(call.id);
      const frames = [
        ...fold.endTexts(node_id),
        ...fold.showCall(call, "{}", node_id),
        writeResult(event, `result-${event_id}`, fold.nameCall(call)),
      ];
      // A call of an interrupted model call that never started is made again.
      if (event.error_code === "interrupted") fold.renameCall(call.id, event_id);
      return frames;
    },
    {
      lostFields: ["summary", "actor"],
      note: "what is not text is in `metadata.loom`. If a call is made again after an interruption, its ID gets a suffix",
    },
  ),
  tool_approval: carried(
    "RUN_FINISHED",
    (fold, event, { envelope }) => {
      const call = trackCall(fold.calls, event, envelope, "before");
      fold.addInterrupt(call.id, createInterrupt(call, fold.nameCall(call), event));
      const text = JSON.stringify(event.arguments);
      return [...fold.endTexts(envelope.node_id), ...fold.showCall(call, text, envelope.node_id)];
    },
    {
      lostFields: ["preview", "server"],
      note: "with the outcome `interrupt`, whose ID is the ID of the call. Sent after each record until all are answered",
    },
  ),
  tool_approval_result: carried("CUSTOM", (fold, event, { envelope }) => {
    const call = trackCall(fold.calls, event, envelope, "before");
    fold.interrupts.delete(call.id);
    if (event.arguments !== undefined) call.arguments = event.arguments;
    return [writeCustom({ ...event, call_id: fold.nameCall(call), name: event.name ?? call.name })];
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
      fold.usage = addTokens(fold.usage, event);
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
      const frames = fold.close(envelope);
      const usage = describeUsage(fold);
      if (status === "error")
        return [...frames, writeFrame("RUN_ERROR", { message: reason ?? FAILED, code, ...usage })];
      if (fold.isLegacy)
        return [...frames, writeFrame("RUN_ERROR", { message: reason ?? CANCELLED, code: "cancelled", ...usage })];
      return [...frames, fold.writeEnd({ outcome: { type: "cancelled" }, ...usage }, toLoom({ reason, code }))];
    },
    {
      lostFields: listLost("run_end", "status", "reason", "code"),
      note: "`RUN_ERROR` if the run failed. A cancelled run has the outcome `cancelled`; with the option `legacy` it is a `RUN_ERROR` with the code `cancelled`",
    },
  ),
  reply: carried(
    "RUN_FINISHED",
    (fold, { reply }, { envelope }) => {
      const fields = { result: reply, outcome: { type: "success" }, ...describeUsage(fold) };
      return [...sendRest(fold, reply, envelope), ...fold.close(envelope), fold.writeEnd(fields)];
    },
    { note: "the reply is the `result`. Text that was not streamed is sent before it" },
  ),
};

/** Clients refuse counts that are not whole numbers. */
function describeUsage({ usage }: SentRun): JsonObject {
  if (usage === undefined || !Object.values(usage).every(Number.isSafeInteger)) return {};
  const { prompt_tokens: inputTokens, completion_tokens: outputTokens, total_tokens: totalTokens } = usage;
  return { usage: [{ inputTokens, outputTokens, totalTokens }] };
}

function writeResult(
  { result, is_error, output, error_code, duration_ms }: EventOf<"tool_end">,
  messageId: string,
  toolCallId: string,
): string {
  const isJson = output !== undefined && JSON.stringify(output) === result;
  const data = isJson ? { is_json: true } : { output };
  const loom = toLoom({ is_error: is_error || undefined, error_code, duration_ms, ...data });
  return writeFrame("TOOL_CALL_RESULT", { messageId, toolCallId, content: result, role: "tool" }, loom);
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
  return [...fold.endTexts(node_id), writeActivity(event, nameList(event))];
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
