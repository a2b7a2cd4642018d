/**
 * The state of one AG-UI run while it is encoded: its open messages, calls and steps, and what it waits for. Plain data
 * within fixed limits, because encoders are saved. The functions return the frames that change it, as JSON.
 *
 * Invariant: a frame names only what is open, and nothing is open at `RUN_FINISHED`. Clients of AG-UI refuse any other
 * stream.
 */
import { setBounded } from "../../protocol/bounded-map.ts";
import type { EventOf, Json, JsonObject, StampedRecord } from "../../protocol/index.ts";
import type { StampedEnvelope } from "../../protocol/record.ts";
import { type TrackedCall, TrackedCalls } from "../call-tracker.ts";
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import { StreamedAnswer } from "../reply-text.ts";
import { readArguments } from "../tool-values.ts";
import { SUPERSEDED, THOUGHT_PREFIX } from "./carried-events.ts";
import type { AgUiFrameType } from "./frames.ts";
import type { SentState } from "./sent-state.ts";

/** Maximum open text messages, and open reasoning. Beyond it, the oldest is closed. */
const MAX_OPEN_MESSAGES = 1000;
const MAX_STEPS = 10_000;
const MAX_CALLS = 10_000;
const MAX_INTERRUPTS = 1000;
/** Messages of one node run that `loom.superseded` can name. */
const MAX_NAMED_MESSAGES = 1000;
/** Characters of streamed arguments that are compared with those of the call. */
const MAX_COMPARED = 64 * 1024;
const PROTOCOL_VERSION = "1.0";
const ABANDONED = "The call was interrupted";

type MessageKind = "text" | "reasoning";

/** A message that a node run writes. It is closed and opened again if the run waits in between. */
interface AgUiMessage {
  readonly id: string;
  isOpen: boolean;
}

/** A call whose arguments are streamed. */
interface StreamedArguments {
  readonly id: string;
  readonly node: string;
  /** The arguments so far; undefined if they are too long to be compared. */
  text: string | undefined;
  isOpen: boolean;
}

export class SentRun {
  readonly threadId: string;
  readonly runId: string;
  readonly isLegacy: boolean;
  /** `waiting` after a `RUN_FINISHED` with interrupts. */
  state: "new" | "active" | "waiting" = "new";
  /** Messages by node run. */
  readonly text = new Map<string, AgUiMessage>();
  readonly reasoning = new Map<string, AgUiMessage>();
  /** IDs of the messages of each node run that may be repeated. */
  readonly said = new Map<string, string[]>();
  readonly calls = new TrackedCalls();
  readonly streaming = new Map<string, StreamedArguments>();
  /** IDs of calls that are made again under the ID of an interrupted one. */
  readonly renamed = new Map<string, string>();
  /** Interrupts that were not answered, by call. */
  readonly interrupts = new Map<string, JsonObject>();
  /** Calls that the client carries out, without a result: as `metadata.loom.pending` names them. */
  readonly pending = new Map<string, JsonObject>();
  /** Names of open steps by node run. */
  readonly steps = new Map<string, string>();
  /** Messages that get the next call of each node run: the text before it, or the first call of the same answer. */
  readonly parents = new Map<string, string>();
  /** Tokens of all model calls so far. */
  usage: { inputTokens: number; outputTokens: number; totalTokens: number } | undefined;
  /** Positions of the items of each to-do list by ID. */
  readonly lists = new Map<string, ReadonlyMap<string, readonly number[]>>();
  /** States by the path of the graph. */
  readonly states = new Map<string, SentState>();
  readonly answered = new StreamedAnswer();

  constructor({ envelope, event }: StampedRecord, isLegacy: boolean) {
    const { run_id } = event as Partial<EventOf<"run_start">>;
    this.threadId = envelope.session_id;
    this.runId = envelope.run_id ?? run_id ?? `run-${envelope.event_id}`;
    this.isLegacy = isLegacy;
  }
}

/** Writes a frame. Fields that are undefined are left out; `loom` are those that AG-UI does not define. */
export function writeFrame(
  type: AgUiFrameType,
  fields: { readonly [name: string]: Json | undefined },
  loom?: { readonly [name: string]: Json | undefined },
): string {
  return JSON.stringify(loom === undefined ? { type, ...fields } : { type, ...fields, metadata: { loom } });
}

/** Starts the run, or lets it go on after an interrupt. */
export function startRun(fold: SentRun): readonly string[] {
  fold.state = "active";
  const { threadId, runId, isLegacy } = fold;
  return [writeFrame("RUN_STARTED", { threadId, runId, ...(isLegacy ? {} : { protocolVersion: PROTOCOL_VERSION }) })];
}

/**
 * Ends the run for the client until its interrupts are answered, and the calls that it carries out have results. A run that
 * waits for results only is a success; clients before 1.0 refuse the list of the calls.
 */
export function pauseRun(fold: SentRun): readonly string[] {
  const frames = [...closeMessages(fold, "text"), ...closeMessages(fold, "reasoning")];
  for (const call of fold.streaming.values()) {
    if (call.isOpen) frames.push(writeFrame("TOOL_CALL_END", { toolCallId: call.id }, { incomplete: true }));
    call.isOpen = false;
  }
  frames.push(...endSteps(fold));
  fold.state = "waiting";
  const interrupts = [...fold.interrupts.values()];
  const pending = [...fold.pending.values()];
  const loom = pending.length === 0 ? undefined : { pending };
  if (interrupts.length > 0) return [...frames, finishRun(fold, { outcome: { type: "interrupt", interrupts } }, loom)];
  const named = fold.isLegacy ? {} : { pendingToolCallIds: pending.map(({ id }) => id ?? "") };
  return [...frames, finishRun(fold, { outcome: { type: "success", ...named } }, loom)];
}

/** Closes everything that is open, before the last frame of the run. */
export function closeRun(fold: SentRun, envelope: StampedEnvelope): readonly string[] {
  const frames = [...closeMessages(fold, "text"), ...closeMessages(fold, "reasoning")];
  for (const key of fold.streaming.keys()) frames.push(...abandonCall(fold, key, envelope));
  return [...frames, ...endSteps(fold)];
}

export function finishRun(
  { threadId, runId }: SentRun,
  fields: { readonly [name: string]: Json },
  loom?: JsonObject,
): string {
  return writeFrame("RUN_FINISHED", { threadId, runId, ...fields }, loom);
}

/** Appends to the message of a node run, and opens it if needed. */
export function appendText(
  fold: SentRun,
  kind: MessageKind,
  { node_id: node = "", event_id }: StampedEnvelope,
  delta: string,
): readonly string[] {
  let message = fold[kind].get(node);
  // A node run has at most one open message, so there is nothing to end.
  if (message?.isOpen === true) return [writeDelta(kind, message.id, delta)];
  const frames = [...endMessage(fold, kind === "text" ? "reasoning" : "text", node)];
  if (message === undefined) {
    message = { id: `${kind === "text" ? "message-" : THOUGHT_PREFIX}${event_id}`, isOpen: false };
    const oldest = setBounded(fold[kind], MAX_OPEN_MESSAGES, node, message);
    if (oldest !== undefined) frames.push(...writeEnd(kind, oldest));
    const said = fold.said.get(node);
    if (said === undefined) setBounded(fold.said, MAX_STEPS, node, [message.id]);
    else if (said.length < MAX_NAMED_MESSAGES) said.push(message.id);
    if (kind === "text") setParent(fold, node, message.id);
  }
  const messageId = message.id;
  if (!message.isOpen) {
    message.isOpen = true;
    if (kind === "text") frames.push(writeFrame("TEXT_MESSAGE_START", { messageId, role: "assistant" }));
    else
      frames.push(
        writeFrame("REASONING_START", { messageId }),
        writeFrame("REASONING_MESSAGE_START", { messageId, role: "reasoning" }),
      );
  }
  frames.push(writeDelta(kind, messageId, delta));
  return frames;
}

/** Written by hand, because it is the event of each token. IDs of messages need no escapes. */
function writeDelta(kind: MessageKind, messageId: string, delta: string): string {
  const type = kind === "text" ? "TEXT_MESSAGE_CONTENT" : "REASONING_MESSAGE_CONTENT";
  return `{"type":"${type}","messageId":"${messageId}","delta":${JSON.stringify(delta)}}`;
}

export function endMessage(fold: SentRun, kind: MessageKind, node: string): readonly string[] {
  const message = fold[kind].get(node);
  if (message === undefined) return [];
  fold[kind].delete(node);
  return writeEnd(kind, message);
}

/** Ends the messages of a node run: what follows is shown after them. */
export function endMessages(fold: SentRun, node = ""): readonly string[] {
  return [...endMessage(fold, "reasoning", node), ...endMessage(fold, "text", node)];
}

function closeMessages(fold: SentRun, kind: MessageKind): string[] {
  return [...fold[kind].values()].flatMap((message) => writeEnd(kind, message));
}

function writeEnd(kind: MessageKind, message: AgUiMessage): readonly string[] {
  if (!message.isOpen) return [];
  message.isOpen = false;
  const messageId = message.id;
  if (kind === "text") return [writeFrame("TEXT_MESSAGE_END", { messageId })];
  return [writeFrame("REASONING_MESSAGE_END", { messageId }), writeFrame("REASONING_END", { messageId })];
}

function setParent({ parents }: SentRun, node: string, messageId: string): void {
  setBounded(parents, MAX_OPEN_MESSAGES, node, messageId);
}

/** Starts a call in the message of its answer. Without one, clients create a message with the ID of the call. */
function startCall(fold: SentRun, node: string, toolCallId: string, toolCallName: string): string {
  const parentMessageId = fold.parents.get(node);
  if (parentMessageId === undefined) setParent(fold, node, toolCallId);
  return writeFrame("TOOL_CALL_START", { toolCallId, toolCallName, parentMessageId });
}

/** The next calls of the node run belong to another answer. */
export function forgetParent({ parents }: SentRun, node = ""): void {
  parents.delete(node);
}

/** Returns the ID of a call for clients. */
export function nameCall({ renamed }: SentRun, call: TrackedCall): string {
  return renamed.get(call.id) ?? call.id;
}

/** Sends a piece of the arguments of a call, and starts the call if needed. */
export function streamArguments(fold: SentRun, call: TrackedCall, node: string, delta: string): readonly string[] {
  let streamed = fold.streaming.get(call.id);
  if (streamed === undefined) {
    // The call follows with all its arguments.
    if (fold.streaming.size >= MAX_CALLS) return [];
    streamed = { id: nameCall(fold, call), node, text: "", isOpen: false };
    fold.streaming.set(call.id, streamed);
  }
  const frames: string[] = [];
  const toolCallId = streamed.id;
  if (!streamed.isOpen) frames.push(startCall(fold, node, toolCallId, call.name));
  streamed.isOpen = true;
  if (streamed.text !== undefined) streamed.text += delta;
  if ((streamed.text?.length ?? 0) > MAX_COMPARED) streamed.text = undefined;
  if (delta !== "") frames.push(writeFrame("TOOL_CALL_ARGS", { toolCallId, delta }));
  return frames;
}

/** Sends a call with its arguments, or what is missing of it. */
export function showCall(fold: SentRun, call: TrackedCall, text: string, node = ""): readonly string[] {
  if (call.shown) return [];
  call.shown = true;
  const streamed = fold.streaming.get(call.id);
  fold.streaming.delete(call.id);
  const toolCallId = streamed?.id ?? nameCall(fold, call);
  const sent = streamed === undefined ? "" : streamed.text;
  const frames: string[] = [];
  if (streamed?.isOpen !== true) frames.push(startCall(fold, streamed?.node ?? node, toolCallId, call.name));
  if (sent === "") frames.push(writeFrame("TOOL_CALL_ARGS", { toolCallId, delta: text }));
  const isSent = sent === "" || (sent !== undefined && areEqual(sent, text));
  const loom = dropUndefined({ description: call.description, arguments: isSent ? undefined : text });
  frames.push(writeFrame("TOOL_CALL_END", { toolCallId }, Object.keys(loom).length === 0 ? undefined : loom));
  return frames;
}

function areEqual(streamed: string, text: string): boolean {
  return streamed === text || JSON.stringify(readArguments(streamed)) === JSON.stringify(readArguments(text));
}

/**
 * Ends a call whose arguments never became complete. It gets a result, because clients carry out calls without one. If it
 * is made again, it has another ID: clients would append its arguments to those of this one.
 */
function abandonCall(fold: SentRun, key: string, { event_id }: StampedEnvelope): readonly string[] {
  const call = fold.streaming.get(key);
  if (call === undefined) return [];
  fold.streaming.delete(key);
  renameCall(fold, key, event_id);
  const toolCallId = call.id;
  const messageId = `result-${toolCallId}`;
  const end = call.isOpen ? [writeFrame("TOOL_CALL_END", { toolCallId }, { incomplete: true })] : [];
  return [
    ...end,
    writeFrame("TOOL_CALL_RESULT", { messageId, toolCallId, content: ABANDONED, role: "tool" }, { superseded: true }),
  ];
}

/** Gives the next call with this ID another one. */
export function renameCall({ renamed }: SentRun, id: string, eventId: number): void {
  setBounded(renamed, MAX_CALLS, id, `${id}-${eventId}`);
}

/** Remembers what the run waits for. */
export function addInterrupt(fold: SentRun, id: string, interrupt: JsonObject): void {
  setBounded(fold.interrupts, MAX_INTERRUPTS, id, interrupt);
}

/** Lets the run wait for a call that the client carries out. */
export function addPending(fold: SentRun, call: TrackedCall): void {
  const pending = { id: nameCall(fold, call), name: call.name, input: call.arguments };
  setBounded(fold.pending, MAX_INTERRUPTS, call.id, pending);
}

/** Starts a step. Its name is unique among open steps, because clients refuse a second one with the same name. */
export function enterStep(fold: SentRun, node: string, event: EventOf<"node_enter">): readonly string[] {
  const frames = [...endStep(fold, node)];
  const isTaken = [...fold.steps.values()].includes(event.id);
  const stepName = isTaken ? `${event.id} (${node})` : event.id;
  const oldest = setBounded(fold.steps, MAX_STEPS, node, stepName);
  if (oldest !== undefined) frames.push(writeFrame("STEP_FINISHED", { stepName: oldest }, {}));
  const { type: _, id, ...about } = event;
  frames.push(writeFrame("STEP_STARTED", { stepName }, { node_id: node, id, ...about }));
  return frames;
}

/** Ends the step of a node run with its messages, and the calls whose arguments it did not complete. */
export function exitStep(
  fold: SentRun,
  node: string,
  { result }: EventOf<"node_exit">,
  envelope: StampedEnvelope,
): readonly string[] {
  const frames = [...endMessages(fold, node)];
  for (const [key, call] of fold.streaming) if (call.node === node) frames.push(...abandonCall(fold, key, envelope));
  if (result === "Ok") fold.said.delete(node);
  forgetParent(fold, node);
  return [...frames, ...endStep(fold, node, result === "Ok" ? undefined : result.Err)];
}

function endStep(fold: SentRun, node: string, error?: string): readonly string[] {
  const stepName = fold.steps.get(node);
  if (stepName === undefined) return [];
  fold.steps.delete(node);
  return [writeFrame("STEP_FINISHED", { stepName }, { node_id: node, error })];
}

function endSteps(fold: SentRun): readonly string[] {
  return [...fold.steps.keys()].flatMap((node) => endStep(fold, node));
}

/**
 * A node run repeats an interrupted one. An event names the messages that do not count: only a snapshot of the whole thread
 * removes them from a client, and the encoder of one run does not have it.
 */
export function supersede(fold: SentRun, node: string): readonly string[] {
  const frames = [...endMessages(fold, node)];
  const messageIds = fold.said.get(node) ?? [];
  fold.said.delete(node);
  if (messageIds.length === 0) return frames;
  return [...frames, writeFrame("CUSTOM", { name: SUPERSEDED, value: { node_id: node, messageIds } })];
}
