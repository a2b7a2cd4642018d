/**
 * Which call a tool frame is about, and what it does to it. A call is known by its id; frames without one are matched by
 * the tool's name, oldest first (CallKeys). Pieces of arguments without an id go on with the latest call of the same
 * speaker, or of its `index` where calls are written side by side.
 */
import { type CallFrame, CallKeys, type ToolCallChunkEvent, type ToolCallEvent } from "../../protocol/index.ts";
import type { MessageFold } from "./message-fold.ts";
import type { Speaker } from "./speaker.ts";
import type { CallEvent, ToolCell } from "./tool-cell.ts";

const PHASES = {
  tool_approval: "before",
  tool_approval_result: "before",
  tool_start: "start",
  tool_progress: "running",
  tool_output: "running",
  tool_end: "end",
} as const;

export class ToolCalls {
  readonly #message: MessageFold;
  readonly #keys = new CallKeys();
  /** By call id, or by the key of a call without one. No more than the message has parts. */
  readonly #cells = new Map<string, ToolCell>();
  /** Calls whose pieces carry no id, until their tool_call comes: by name, oldest first. */
  readonly #unnamed = new Map<string, ToolCell[]>();
  #madeStreams = 0;

  constructor(message: MessageFold) {
    this.#message = message;
  }

  stream(speaker: Speaker, event: ToolCallChunkEvent): void {
    const { call_id, name, index } = event;
    let cell = call_id === undefined ? this.#findStream(speaker, event) : this.#cells.get(call_id);
    if (cell?.isEnded === true) cell = undefined;
    cell ??= this.#openStream(speaker, event);
    if (cell === undefined) return;
    speaker.call = cell;
    if (index !== undefined) (speaker.calls ??= new Map()).set(index, cell);
    if (cell.name === undefined) cell.identify(name);
    cell.stream(event.arguments_delta);
    this.#message.change(cell);
  }

  call(speaker: Speaker, event: ToolCallEvent): void {
    const { name, index } = event;
    const key = this.#keys.keyOf(event, "call");
    let cell = this.#cells.get(key);
    // An id that was used up stands for another call now.
    if (cell !== undefined && (cell.isCalled || cell.isEnded)) cell = undefined;
    cell ??= this.#takeUnnamed(speaker, name, index);
    cell = this.#open(speaker, event, key, cell);
    if (cell === undefined) return;
    cell.identify(name, toToolId(key));
    cell.call(event);
    this.#message.closeSpeech(speaker);
    this.#message.change(cell);
  }

  /** What comes after a tool_call; a call that was never announced begins with it. */
  apply(speaker: Speaker, event: CallEvent, ts: number | undefined): void {
    const key = this.#keys.keyOf(event, PHASES[event.type]);
    const cell = this.#cells.get(key) ?? this.#open(speaker, event, key);
    if (cell === undefined) return;
    if (cell.name === undefined) cell.identify(event.name);
    cell.apply(event, ts);
    this.#message.change(cell);
  }

  #open(speaker: Speaker, { call_id, name }: CallFrame, key: string, known?: ToolCell): ToolCell | undefined {
    const cell = known ?? this.#message.openCall(speaker, toToolId(key), name);
    if (cell === undefined) return undefined;
    cell.callId = call_id;
    this.#cells.set(key, cell);
    return cell;
  }

  /** The call a piece without an id goes on with. */
  #findStream(speaker: Speaker, { name, index }: ToolCallChunkEvent): ToolCell | undefined {
    const cell = index === undefined ? speaker.call : speaker.calls?.get(index);
    if (cell === undefined || cell.isCalled) return undefined;
    return name === undefined || cell.name === undefined || cell.name === name ? cell : undefined;
  }

  #openStream(speaker: Speaker, event: ToolCallChunkEvent): ToolCell | undefined {
    const { call_id, name = "" } = event;
    if (call_id !== undefined) return this.#open(speaker, event, call_id);
    const cell = this.#message.openCall(speaker, `${name}~${++this.#madeStreams}`, event.name);
    if (cell === undefined) return undefined;
    const waiting = this.#unnamed.get(name);
    if (waiting === undefined) this.#unnamed.set(name, [cell]);
    else waiting.push(cell);
    return cell;
  }

  /** The call whose arguments were streamed without an id, and which is made now. */
  #takeUnnamed(speaker: Speaker, name: string, index: number | undefined): ToolCell | undefined {
    if (this.#unnamed.size === 0) return undefined;
    const latest = index === undefined ? undefined : speaker.calls?.get(index);
    if (latest !== undefined && latest.callId === undefined && !latest.isCalled && (latest.name ?? name) === name)
      return latest;
    return this.#shiftUnnamed(name) ?? this.#shiftUnnamed("");
  }

  #shiftUnnamed(name: string): ToolCell | undefined {
    const waiting = this.#unnamed.get(name) ?? [];
    let cell = waiting.shift();
    while (cell?.isCalled === true) cell = waiting.shift();
    if (waiting.length === 0) this.#unnamed.delete(name);
    return cell;
  }
}

/** Calls without an id are shown as `name#1`: the mark in front of our own keys is for us alone. */
function toToolId(key: string): string {
  return key.startsWith("\u0000") ? key.slice(1) : key;
}
