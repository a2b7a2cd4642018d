/**
 * Matches tool frames to calls and applies them. A call is identified by its ID; frames without one are matched by tool
 * name, oldest first (CallKeys). Argument chunks without an ID continue the author's latest call, or the call with the
 * same `index` when several are streamed in parallel.
 */
import { type CallFrame, CallKeys } from "../../protocol/call-keys.ts";
import type { ToolCallChunkEvent, ToolCallEvent } from "../../protocol/events.generated.ts";
import type { MessageFold } from "./message-fold.ts";
import type { PartAuthor } from "./part-author.ts";
import type { CallEvent, ToolCell } from "./tool-cell.ts";

const PHASES = {
  tool_approval: "before",
  tool_approval_result: "before",
  tool_start: "start",
  tool_progress: "running",
  tool_output: "running",
  tool_end: "end",
} as const;

export class ToolCallFold {
  readonly #message: MessageFold;
  readonly #keys = new CallKeys();
  /** By call ID, or by generated key for calls without one. At most one per message part. */
  readonly #cells = new Map<string, ToolCell>();
  /** Calls streamed without an ID, waiting for their tool_call: by name, oldest first. */
  readonly #unnamed = new Map<string, ToolCell[]>();
  #streamCount = 0;

  constructor(message: MessageFold) {
    this.#message = message;
  }

  stream(author: PartAuthor, event: ToolCallChunkEvent): void {
    const { call_id, name, index } = event;
    let cell = call_id === undefined ? this.#findStream(author, event) : this.#cells.get(call_id);
    if (cell?.isEnded === true) cell = undefined;
    cell ??= this.#openStream(author, event);
    if (cell === undefined) return;
    author.call = cell;
    if (index !== undefined) (author.calls ??= new Map()).set(index, cell);
    if (cell.name === undefined) cell.identify(name);
    cell.stream(event.arguments_delta);
    this.#message.change(cell);
  }

  call(author: PartAuthor, event: ToolCallEvent): void {
    const { name, index } = event;
    const key = this.#keys.keyOf(event, "call");
    let cell = this.#cells.get(key);
    // A call that was already made or has ended; its ID is reused for a new call.
    if (cell !== undefined && (cell.isCalled || cell.isEnded)) cell = undefined;
    cell ??= this.#takeUnnamed(author, name, index);
    cell = this.#open(author, event, key, cell);
    if (cell === undefined) return;
    cell.identify(name, toToolId(key));
    cell.call(event);
    this.#message.closeTexts(author);
    this.#message.change(cell);
  }

  /** Applies an event that follows a tool_call. Starts a new call if none was announced. */
  apply(author: PartAuthor, event: CallEvent, ts: number | undefined): void {
    const key = this.#keys.keyOf(event, PHASES[event.type]);
    const cell = this.#cells.get(key) ?? this.#open(author, event, key);
    if (cell === undefined) return;
    if (cell.name === undefined) cell.identify(event.name);
    cell.apply(event, ts);
    this.#message.change(cell);
  }

  #open(author: PartAuthor, { call_id, name }: CallFrame, key: string, known?: ToolCell): ToolCell | undefined {
    const cell = known ?? this.#message.openCall(author, toToolId(key), name);
    if (cell === undefined) return undefined;
    cell.callId = call_id;
    this.#cells.set(key, cell);
    return cell;
  }

  /** Returns the call that a chunk without an ID continues. */
  #findStream(author: PartAuthor, { name, index }: ToolCallChunkEvent): ToolCell | undefined {
    const cell = index === undefined ? author.call : author.calls?.get(index);
    if (cell === undefined || cell.isCalled) return undefined;
    return name === undefined || cell.name === undefined || cell.name === name ? cell : undefined;
  }

  #openStream(author: PartAuthor, event: ToolCallChunkEvent): ToolCell | undefined {
    const { call_id, name = "" } = event;
    if (call_id !== undefined) return this.#open(author, event, call_id);
    const cell = this.#message.openCall(author, `${name}~${++this.#streamCount}`, event.name);
    if (cell === undefined) return undefined;
    const waiting = this.#unnamed.get(name);
    if (waiting === undefined) this.#unnamed.set(name, [cell]);
    else waiting.push(cell);
    return cell;
  }

  /** Returns the call whose arguments were streamed without an ID and that is made now. */
  #takeUnnamed(author: PartAuthor, name: string, index: number | undefined): ToolCell | undefined {
    if (this.#unnamed.size === 0) return undefined;
    const latest = index === undefined ? undefined : author.calls?.get(index);
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

/** Removes the internal prefix, so that calls without an ID are shown as `name#1`. */
function toToolId(key: string): string {
  return key.startsWith("\u0000") ? key.slice(1) : key;
}
