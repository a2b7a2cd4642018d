/**
 * The state of one AG-UI run while it is encoded: its open messages, calls and steps, and what it waits for. Plain data
 * within fixed limits, because encoders are saved. Its methods return the frames that change it, as JSON.
 *
 * Invariant: a frame names only what is open, and nothing is open at `RUN_FINISHED`. Clients of AG-UI refuse any other
 * stream.
 */
import { setBounded } from "../../protocol/bounded-map.ts";
import type { EventOf, Json, JsonObject, StampedRecord } from "../../protocol/index.ts";
import type { StampedEnvelope } from "../../protocol/record.ts";
import { type TrackedCall, TrackedCalls } from "../call-tracker.ts";
import type { SentParts, SentTextKind, TokenSum } from "../client-rows.ts";
import { keepFields } from "../../protocol/json.ts";
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

export class SentRun implements SentParts {
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
  usage: TokenSum | undefined;
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

  /** Starts the run, or lets it go on after an interrupt. */
  start(): readonly string[] {
    this.state = "active";
    const { threadId, runId, isLegacy } = this;
    return [writeFrame("RUN_STARTED", { threadId, runId, ...(isLegacy ? {} : { protocolVersion: PROTOCOL_VERSION }) })];
  }

  /**
   * Ends the run for the client until its interrupts are answered, and the calls that it carries out have results. A run
   * that waits for results only is a success; clients before 1.0 refuse the list of the calls.
   */
  pause(): readonly string[] {
    const frames = this.closeTexts();
    for (const call of this.streaming.values()) {
      if (call.isOpen) frames.push(writeFrame("TOOL_CALL_END", { toolCallId: call.id }, { incomplete: true }));
      call.isOpen = false;
    }
    frames.push(...this.endSteps());
    this.state = "waiting";
    const interrupts = [...this.interrupts.values()];
    const pending = [...this.pending.values()];
    const loom = pending.length === 0 ? undefined : { pending };
    if (interrupts.length > 0) return [...frames, this.writeEnd({ outcome: { type: "interrupt", interrupts } }, loom)];
    const named = this.isLegacy ? {} : { pendingToolCallIds: pending.map(({ id }) => id ?? "") };
    return [...frames, this.writeEnd({ outcome: { type: "success", ...named } }, loom)];
  }

  /** Closes everything that is open, before the last frame of the run. */
  close(envelope: StampedEnvelope): readonly string[] {
    const frames = this.closeTexts();
    for (const key of this.streaming.keys()) frames.push(...this.abandonCall(key, envelope));
    return [...frames, ...this.endSteps()];
  }

  /** Writes the frame that ends the run. */
  writeEnd(fields: { readonly [name: string]: Json }, loom?: JsonObject): string {
    const { threadId, runId } = this;
    return writeFrame("RUN_FINISHED", { threadId, runId, ...fields }, loom);
  }

  appendText(kind: SentTextKind, { node_id: node = "", event_id }: StampedEnvelope, delta: string): readonly string[] {
    let message = this[kind].get(node);
    // A node run has at most one open message, so there is nothing to end.
    if (message?.isOpen === true) return [writeDelta(kind, message.id, delta)];
    const frames = [...this.endText(kind === "text" ? "reasoning" : "text", node)];
    if (message === undefined) {
      message = { id: `${kind === "text" ? "message-" : THOUGHT_PREFIX}${event_id}`, isOpen: false };
      const oldest = setBounded(this[kind], MAX_OPEN_MESSAGES, node, message);
      if (oldest !== undefined) frames.push(...closeMessage(kind, oldest));
      const said = this.said.get(node);
      if (said === undefined) setBounded(this.said, MAX_STEPS, node, [message.id]);
      else if (said.length < MAX_NAMED_MESSAGES) said.push(message.id);
      if (kind === "text") this.setParent(node, message.id);
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

  endText(kind: SentTextKind, node: string): readonly string[] {
    const message = this[kind].get(node);
    if (message === undefined) return [];
    this[kind].delete(node);
    return closeMessage(kind, message);
  }

  endTexts(node = ""): readonly string[] {
    return [...this.endText("reasoning", node), ...this.endText("text", node)];
  }

  private closeTexts(): string[] {
    return (["text", "reasoning"] as const).flatMap((kind) =>
      [...this[kind].values()].flatMap((message) => closeMessage(kind, message)),
    );
  }

  private setParent(node: string, messageId: string): void {
    setBounded(this.parents, MAX_OPEN_MESSAGES, node, messageId);
  }

  /** The next calls of the node run belong to another answer. */
  forgetParent(node = ""): void {
    this.parents.delete(node);
  }

  /** Starts a call in the message of its answer. Without one, clients create a message with the ID of the call. */
  private startCall(node: string, toolCallId: string, toolCallName: string): string {
    const parentMessageId = this.parents.get(node);
    if (parentMessageId === undefined) this.setParent(node, toolCallId);
    return writeFrame("TOOL_CALL_START", { toolCallId, toolCallName, parentMessageId });
  }

  /** Returns the ID of a call for clients. */
  nameCall(call: TrackedCall): string {
    return this.renamed.get(call.id) ?? call.id;
  }

  streamArguments(call: TrackedCall, { node_id: node = "" }: StampedEnvelope, delta: string): readonly string[] {
    const frames = [...this.endTexts(node)];
    let streamed = this.streaming.get(call.id);
    if (streamed === undefined) {
      // The call follows with all its arguments.
      if (this.streaming.size >= MAX_CALLS) return frames;
      streamed = { id: this.nameCall(call), node, text: "", isOpen: false };
      this.streaming.set(call.id, streamed);
    }
    const toolCallId = streamed.id;
    if (!streamed.isOpen) frames.push(this.startCall(node, toolCallId, call.name));
    streamed.isOpen = true;
    if (streamed.text !== undefined) streamed.text += delta;
    if ((streamed.text?.length ?? 0) > MAX_COMPARED) streamed.text = undefined;
    if (delta !== "") frames.push(writeFrame("TOOL_CALL_ARGS", { toolCallId, delta }));
    return frames;
  }

  /** Sends a call with its arguments, or what is missing of it. */
  showCall(call: TrackedCall, text: string, node = ""): readonly string[] {
    if (call.shown) return [];
    call.shown = true;
    const streamed = this.streaming.get(call.id);
    this.streaming.delete(call.id);
    const toolCallId = streamed?.id ?? this.nameCall(call);
    const sent = streamed === undefined ? "" : streamed.text;
    const frames: string[] = [];
    if (streamed?.isOpen !== true) frames.push(this.startCall(streamed?.node ?? node, toolCallId, call.name));
    if (sent === "") frames.push(writeFrame("TOOL_CALL_ARGS", { toolCallId, delta: text }));
    const isSent = sent === "" || (sent !== undefined && areEqual(sent, text));
    const loom = toLoom({ description: call.description, arguments: isSent ? undefined : text });
    frames.push(writeFrame("TOOL_CALL_END", { toolCallId }, loom));
    return frames;
  }

  /**
   * Ends a call whose arguments never became complete. It gets a result, because clients carry out calls without one. If
   * it is made again, it has another ID: clients would append its arguments to those of this one.
   */
  private abandonCall(key: string, { event_id }: StampedEnvelope): readonly string[] {
    const call = this.streaming.get(key);
    if (call === undefined) return [];
    this.streaming.delete(key);
    this.renameCall(key, event_id);
    const toolCallId = call.id;
    const result = { messageId: `result-${toolCallId}`, toolCallId, content: ABANDONED, role: "tool" };
    return [
      ...(call.isOpen ? [writeFrame("TOOL_CALL_END", { toolCallId }, { incomplete: true })] : []),
      writeFrame("TOOL_CALL_RESULT", result, { superseded: true }),
    ];
  }

  /** Gives the next call with this ID another one. */
  renameCall(id: string, eventId: number): void {
    setBounded(this.renamed, MAX_CALLS, id, `${id}-${eventId}`);
  }

  /** Remembers what the run waits for. */
  addInterrupt(id: string, interrupt: JsonObject): void {
    setBounded(this.interrupts, MAX_INTERRUPTS, id, interrupt);
  }

  /** Lets the run wait for a call that the client carries out. */
  addPending(call: TrackedCall): void {
    const pending = { id: this.nameCall(call), name: call.name, input: call.arguments };
    setBounded(this.pending, MAX_INTERRUPTS, call.id, pending);
  }

  /** Starts a step. Its name is unique among open steps, because clients refuse a second one with the same name. */
  enterStep(node: string, event: EventOf<"node_enter">): readonly string[] {
    const { type: _, id, ...about } = event;
    const frames = [...this.endStep(node)];
    const isTaken = [...this.steps.values()].includes(id);
    const stepName = isTaken ? `${id} (${node})` : id;
    const oldest = setBounded(this.steps, MAX_STEPS, node, stepName);
    if (oldest !== undefined) frames.push(writeFrame("STEP_FINISHED", { stepName: oldest }, {}));
    frames.push(writeFrame("STEP_STARTED", { stepName }, { node_id: node, id, ...about }));
    return frames;
  }

  /** Ends the step of a node run with its messages, and the calls whose arguments it did not complete. */
  exitStep(node: string, { result }: EventOf<"node_exit">, envelope: StampedEnvelope): readonly string[] {
    const frames = [...this.endTexts(node)];
    for (const [key, call] of this.streaming) if (call.node === node) frames.push(...this.abandonCall(key, envelope));
    if (result === "Ok") this.said.delete(node);
    this.forgetParent(node);
    return [...frames, ...this.endStep(node, result === "Ok" ? undefined : result.Err)];
  }

  private endStep(node: string, error?: string): readonly string[] {
    const stepName = this.steps.get(node);
    if (stepName === undefined) return [];
    this.steps.delete(node);
    return [writeFrame("STEP_FINISHED", { stepName }, { node_id: node, error })];
  }

  private endSteps(): readonly string[] {
    return [...this.steps.keys()].flatMap((node) => this.endStep(node));
  }

  /**
   * A node run repeats an interrupted one. An event names the messages that do not count: only a snapshot of the whole
   * thread removes them from a client, and the encoder of one run does not have it.
   */
  supersede(node: string): readonly string[] {
    const frames = [...this.endTexts(node)];
    const messageIds = this.said.get(node) ?? [];
    this.said.delete(node);
    if (messageIds.length === 0) return frames;
    return [...frames, writeFrame("CUSTOM", { name: SUPERSEDED, value: { node_id: node, messageIds } })];
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

/** Returns the fields that are not undefined; undefined if all are. */
export function toLoom(fields: { readonly [name: string]: Json | undefined }): JsonObject | undefined {
  const loom = keepFields(fields, (_name, value) => value !== undefined) as JsonObject;
  return Object.keys(loom).length === 0 ? undefined : loom;
}

/** Written by hand, because it is the event of each token. IDs of messages need no escapes. */
function writeDelta(kind: SentTextKind, messageId: string, delta: string): string {
  const type = kind === "text" ? "TEXT_MESSAGE_CONTENT" : "REASONING_MESSAGE_CONTENT";
  return `{"type":"${type}","messageId":"${messageId}","delta":${JSON.stringify(delta)}}`;
}

function closeMessage(kind: SentTextKind, message: AgUiMessage): readonly string[] {
  if (!message.isOpen) return [];
  message.isOpen = false;
  const messageId = message.id;
  if (kind === "text") return [writeFrame("TEXT_MESSAGE_END", { messageId })];
  return [writeFrame("REASONING_MESSAGE_END", { messageId }), writeFrame("REASONING_END", { messageId })];
}

function areEqual(streamed: string, text: string): boolean {
  return streamed === text || JSON.stringify(readArguments(streamed)) === JSON.stringify(readArguments(text));
}
