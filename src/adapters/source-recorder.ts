/**
 * Writes a source into a run: opens and closes its node runs, completes its tool calls, asks for its approvals, and reads
 * no further while the log is behind.
 *
 * Invariants:
 * - When `read` settles, the source has ended or was asked to stop: a run that has ended aborts its source.
 * - A source that yields nothing for `maxIdleMs` fails, unless it waits for the user. So does a function that creates
 *   one and does not return.
 */
import type { AgentRun } from "../agents/agent-run.ts";
import type { NodeRun } from "../engine/index.ts";
import type { FinishOptions } from "../engine/run-contract.ts";
import { type AnyEvent, isLoomError, type JsonObject, LoomError } from "../protocol/index.ts";
import { isJsonObject, keepFields } from "../protocol/json.ts";
import type {
  NodeExitEvent,
  ToolApprovalEvent,
  ToolCallChunkEvent,
  ToolCallEvent,
  ToolEndEvent,
  ToolStartEvent,
} from "../protocol/events.generated.ts";
import { limitTimer, MAX_TIMER_MS } from "../protocol/limit-timer.ts";
import { acceptInteger, acceptNumberAbove, type OptionTable } from "../protocol/read-options.ts";
import { AskedCalls } from "./asked-calls.ts";
import {
  assertIterable,
  assertSource,
  createSourceContext,
  describeFound,
  type ForeignSource,
  type SourceAnswer,
  type SourceContext,
  type SourceEvent,
  type SourceItem,
  type SourceResult,
} from "./source.ts";

/** Options for reading a source. */
export interface ForeignSourceOptions {
  /** Milliseconds that a source may yield nothing, except while it waits for the user or a client; code `source_timeout`. Default: 600,000. */
  readonly maxIdleMs?: number;
  /** Milliseconds until an approval of the source expires. Default: one hour. */
  readonly approvalMs?: number;
}

export const SOURCE_OPTIONS: OptionTable<ForeignSourceOptions> = {
  maxIdleMs: acceptNumberAbove(0),
  approvalMs: acceptInteger(1, MAX_TIMER_MS),
};

const MAX_IDLE_MS = 10 * 60 * 1000;
/** Longer texts are written in pieces. A character has at most 6 bytes in JSON. */
const MAX_TEXT_LENGTH = 128 * 1024;
/** Name of the node run for events without a `node`. */
const OWN_NODE = "answer";
/** Events that can be the first of a call. */
const BEGINS_CALL: ReadonlySet<string> = new Set(["tool_call_chunk", "tool_call", "tool_start"]);
/** Events that need no node run. Without a `node`, they belong to none. */
const OUTSIDE: ReadonlySet<string> = new Set(["custom", "foreign", "values"]);
/** Events that only a call that has started can have. */
const NEEDS_START: ReadonlySet<string> = new Set(["tool_output", "tool_progress", "tool_end"]);
const NOT_REPEATED = "The agent was started again and did not make this call again; the call was not run";
const NO_ANSWERS = "The framework cannot receive the answer to an approval here; the call was not run";

/**
 * Reads a source until it ends, and returns how to finish the run. Rejects with the error of the source. A source that
 * exists is started at once, so that a run that is cancelled early aborts it.
 */
export async function recordSource(
  run: AgentRun,
  given: ForeignSource | (() => ForeignSource | Promise<ForeignSource>),
  options: ForeignSourceOptions = {},
): Promise<FinishOptions> {
  const source = typeof given === "function" ? await limitTime(run, options, async () => given()) : given;
  assertSource(source);
  const recorder = new SourceRecorder(run, source, options);
  await recorder.read();
  return {};
}

/** Waits for work of the framework, but not longer than the run lives and `maxIdleMs` after the last `refresh`. */
async function limitTime<T>(
  { signal }: AgentRun,
  { maxIdleMs = MAX_IDLE_MS }: ForeignSourceOptions,
  work: (timer: NodeJS.Timeout) => Promise<T>,
): Promise<T> {
  const stopped = Promise.withResolvers<never>();
  const onAbort = (): void => stopped.reject(signal.reason);
  const onIdle = (): void =>
    stopped.reject(new LoomError("source_timeout", `The agent sent nothing for ${maxIdleMs} ms`, { limit: maxIdleMs }));
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  const timer = setTimeout(onIdle, limitTimer(maxIdleMs));
  try {
    return await Promise.race([work(timer), stopped.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

interface OpenCall {
  /** Its ID in the run. */
  readonly id: string;
  name: string | undefined;
  isStarted: boolean;
}

interface Reading {
  readonly iterator: AsyncIterator<SourceItem>;
  isActive: boolean;
}

class SourceRecorder {
  readonly #run: AgentRun;
  readonly #source: ForeignSource;
  readonly #options: ForeignSourceOptions;
  readonly #context: SourceContext;
  readonly #nodes = new Map<string | undefined, NodeRun>();
  /** Open calls, by the ID that the source gave them. */
  readonly #calls = new Map<string, OpenCall>();
  readonly #asked: AskedCalls;
  #approvals: Promise<SourceAnswer>[] = [];
  /** Calls that the client carries out. */
  #results: Promise<SourceResult>[] = [];

  constructor(run: AgentRun, source: ForeignSource, options: ForeignSourceOptions) {
    this.#run = run;
    this.#source = source;
    this.#options = options;
    this.#context = createSourceContext(run);
    this.#asked = new AskedCalls(run.work);
  }

  async read(): Promise<void> {
    await this.#readItems(this.#source.start(this.#context));
    while (this.#approvals.length > 0 || this.#results.length > 0) {
      const [answers, results] = await Promise.all([Promise.all(this.#approvals), Promise.all(this.#results)]);
      this.#approvals = [];
      this.#results = [];
      if (this.#source.resume !== undefined)
        await this.#readItems(this.#source.resume(answers, this.#context, results));
    }
    this.#endAsked();
    for (const node of this.#nodes.values()) void node.done();
  }

  /** Reads until the items end, the run ends, or the source has been silent for too long. */
  async #readItems(items: AsyncIterable<SourceItem>): Promise<void> {
    assertIterable(items);
    const reading: Reading = { iterator: openIterator(items), isActive: true };
    try {
      await limitTime(this.#run, this.#options, (timer) => this.#writeAll(reading, timer));
    } catch (error) {
      // Not awaited: a generator that hangs would never return.
      void stop(reading.iterator);
      throw error;
    } finally {
      reading.isActive = false;
    }
  }

  async #writeAll(reading: Reading, timer: NodeJS.Timeout): Promise<void> {
    const { iterator } = reading;
    for (;;) {
      const next: unknown = await iterator.next();
      if (!isJsonObject(next)) throw createItemError(next);
      const { done, value } = next as unknown as { readonly done?: boolean; readonly value: SourceItem };
      // What arrives after the run has stopped is not written.
      if (done === true || !reading.isActive) return;
      timer.refresh();
      for (const item of splitText(value)) {
        if (!reading.isActive) return;
        const isStart = this.#startsApproved(item);
        this.#write(item);
        // A call that was approved runs once: if this process dies, the next one must know that it had started.
        if (isStart) await this.#run.settled();
        if (this.#run.isBehind) await this.#run.ready();
      }
    }
  }

  #startsApproved(item: SourceItem): boolean {
    const { type, call_id: callId = "" } = Object(item) as Partial<ToolStartEvent>;
    const call = type === "tool_start" ? this.#calls.get(callId) : undefined;
    return call !== undefined && this.#run.work.findCall(call.id)?.state === "approved";
  }

  #write(item: SourceItem): void {
    if (typeof item === "string") {
      if (item !== "") this.#post({ type: "message_chunk", content: item, id: OWN_NODE }, undefined);
      return;
    }
    if (!isJsonObject(item)) throw createItemError(item);
    const { node, ...event } = item as SourceEvent;
    switch (event.type) {
      case "node_enter":
        this.#enter(node, event);
        return;
      case "node_exit":
        this.#exit(node, event);
        return;
      case "tool_approval":
        this.#ask(event as ToolApprovalEvent, node);
        return;
      case "tool_start":
        if ((event as ToolStartEvent).executor === "client") this.#delegate(event as ToolStartEvent, node);
        else this.#post(event, node);
        return;
      case "tool_call":
        if (!this.#isRepeated(event as ToolCallEvent)) this.#post(event, node);
        return;
      case "tool_call_chunk":
        if (!this.#mayRepeat(event as ToolCallChunkEvent)) this.#post(event, node);
        return;
      default:
        this.#post(event, node);
    }
  }

  #post(event: AnyEvent, key: string | undefined): void {
    if (key === undefined && OUTSIDE.has(event.type)) {
      this.#store(event, undefined);
      return;
    }
    const { nodeId, name } = this.#nodes.get(key) ?? this.#open(key, key ?? OWN_NODE);
    const id = { message_chunk: name, reasoning_chunk: name, reasoning_end: name }[event.type];
    this.#store(this.#trackCall(id === undefined ? event : { ...event, id }, nodeId), nodeId);
  }

  #mayRepeat(piece: ToolCallChunkEvent): boolean {
    return !this.#calls.has(piece.call_id ?? "") && this.#asked.mayRepeat(piece);
  }

  /** True for a call that an earlier process asked the user about. Events of the source belong to that call. */
  #isRepeated(event: ToolCallEvent): boolean {
    const { call_id: callId = "", name } = event;
    const found = this.#calls.has(callId) ? undefined : this.#asked.take(event);
    if (found !== undefined) this.#calls.set(callId, { id: found.callId, name, isStarted: false });
    return found !== undefined;
  }

  /** Ends the calls that the source has neither repeated nor continued. */
  #endAsked(): void {
    for (const { callId, name, answer } of this.#asked.rest) {
      const isRejected = answer !== undefined && answer.decision !== "approved";
      const about = { is_error: true, error_code: isRejected ? "tool_rejected" : "interrupted" };
      this.#store({ type: "tool_end", call_id: callId, name, result: NOT_REPEATED, ...about }, undefined);
    }
  }

  #store(event: AnyEvent, nodeId: string | undefined): void {
    try {
      this.#run.postUnit([event], { nodeId, isHandled: true });
    } catch (error) {
      if (!isLoomError(error, "event_too_large")) throw error;
      for (const rest of leaveOut(event, this.#source.framework, error)) this.#run.post(rest, { nodeId });
    }
  }

  /** Adds the `tool_start` of a call that has its first output or result. Returns the event with the run's call ID. */
  #trackCall(event: AnyEvent, nodeId: string): AnyEvent {
    const { call_id: callId, name } = event as { readonly call_id?: unknown; readonly name?: unknown };
    if (typeof callId !== "string") return event;
    const call = BEGINS_CALL.has(event.type)
      ? this.#openCall(callId, event.type !== "tool_start")
      : this.#calls.get(callId);
    if (call === undefined) return event;
    if (typeof name === "string") call.name ??= name;
    if (event.type === "tool_start") call.isStarted = true;
    else if (NEEDS_START.has(event.type) && !call.isStarted) {
      call.isStarted = true;
      // A call that was refused, or has invalid arguments, has a result, but never started.
      if (call.name !== undefined && !isUnstarted(event))
        this.#run.post({ type: "tool_start", call_id: call.id, name: call.name }, { nodeId });
    }
    if (event.type === "tool_end") this.#calls.delete(callId);
    return call.id === callId ? event : { ...event, call_id: call.id };
  }

  /**
   * Some frameworks repeat their call IDs in each answer, or when they answer again; a run has each ID once. An event
   * that does not make a call can belong to one that an earlier process of the run left open.
   */
  #openCall(callId: string, isMade: boolean): OpenCall {
    let call = this.#calls.get(callId);
    if (call !== undefined) return call;
    const { work } = this.#run;
    const left = isMade ? undefined : work.findCall(callId);
    if (left !== undefined) this.#asked.delete(callId);
    const id = left === undefined && work.hasUsedCallId(callId) ? `call_${crypto.randomUUID()}` : callId;
    this.#calls.set(callId, (call = { id, name: left?.name, isStarted: left?.state === "started" }));
    return call;
  }

  #open(key: string | undefined, name: string, parent?: string): NodeRun {
    const node = this.#run.enter(name, parent);
    this.#nodes.set(key, node);
    return node;
  }

  #enter(key: string | undefined, event: AnyEvent): void {
    const { id, parent } = event as { readonly id?: unknown; readonly parent?: unknown };
    const outer = typeof parent === "string" ? this.#nodes.get(parent)?.nodeId : undefined;
    void this.#nodes.get(key)?.done();
    this.#open(key, typeof id === "string" ? id : (key ?? OWN_NODE), outer);
  }

  #exit(key: string | undefined, event: AnyEvent): void {
    const node = this.#nodes.get(key);
    this.#nodes.delete(key);
    const { result } = event as Partial<NodeExitEvent>;
    if (isJsonObject(result)) void node?.fail(new LoomError("node_failed", result["Err"]));
    else void node?.done();
  }

  /** Hands a call to the client, if the source can receive the result. Otherwise the call ends with the run. */
  #delegate({ call_id: callId, name }: ToolStartEvent, key: string | undefined): void {
    if (callId === undefined || this.#source.resume === undefined) return;
    const { nodeId } = this.#nodes.get(key) ?? this.#open(key, key ?? OWN_NODE);
    const { id } = this.#openCall(callId, false);
    const result = this.#run
      .callClient({ callId: id, name }, { nodeId })
      .catch((error: unknown) => {
        if (!isLoomError(error, "client_unavailable")) throw error;
        const about = { result: error.message, is_error: true, error_code: error.code };
        const end: ToolEndEvent = { type: "tool_end", call_id: id, name, ...about };
        this.#store(end, nodeId);
        return end;
      })
      .then((end) => {
        this.#calls.delete(callId);
        return { callId, name, end };
      });
    result.catch(() => undefined);
    this.#results.push(result);
  }

  #ask(event: ToolApprovalEvent, key: string | undefined): void {
    const { call_id: callId, name, arguments: asked } = event;
    if (callId === undefined) throw new LoomError("invalid_event", "A `tool_approval` needs a `call_id`");
    const { nodeId } = this.#nodes.get(key) ?? this.#open(key, key ?? OWN_NODE);
    const { approvalMs } = this.#options;
    const refuse = (reason: string): SourceAnswer => {
      const code = "approval_unavailable";
      return { callId, name, decision: "rejected", arguments: asked, reason, code };
    };
    const { id } = this.#openCall(callId, false);
    if (this.#source.resume === undefined) {
      this.#calls.delete(callId);
      if (this.#run.work.findCall(id) === undefined) return;
      const about = { result: NO_ANSWERS, is_error: true, error_code: "approval_unavailable" };
      this.#store({ type: "tool_end", call_id: id, name, ...about }, nodeId);
      return;
    }
    const answer = this.#run
      .requestApproval(
        { callId: id, name, arguments: asked, ...(approvalMs === undefined ? {} : { expiresInMs: approvalMs }) },
        { nodeId },
      )
      .then((given) => ({ ...given, callId, name }))
      .catch((error: unknown) => {
        if (isLoomError(error, "approval_unavailable")) return refuse(error.message);
        throw error;
      });
    answer.catch(() => undefined);
    this.#approvals.push(answer);
  }
}

/** Returns a text that may be too large for one event in pieces, and any other item unchanged. */
function splitText(item: SourceItem): Iterable<SourceItem> {
  if (typeof item === "string") return item.length <= MAX_TEXT_LENGTH ? [item] : cut(item, (piece) => piece);
  const { type, content } = Object(item) as { readonly type?: unknown; readonly content?: unknown };
  const isLong = typeof content === "string" && content.length > MAX_TEXT_LENGTH;
  if (!isLong || (type !== "message_chunk" && type !== "reasoning_chunk")) return [item];
  return cut(content, (piece) => ({ ...item, content: piece }));
}

function* cut(text: string, create: (piece: string) => SourceItem): Generator<SourceItem> {
  for (let at = 0; at < text.length; at += MAX_TEXT_LENGTH) yield create(text.slice(at, at + MAX_TEXT_LENGTH));
}

function createItemError(item: unknown): LoomError {
  return new LoomError("invalid_event", `A source must yield texts and events, not ${describeFound(item)}`);
}

/** Also reads an iterable that is not asynchronous. */
function openIterator(items: AsyncIterable<SourceItem> | Iterable<SourceItem>): AsyncIterator<SourceItem> {
  if (Symbol.asyncIterator in items) return items[Symbol.asyncIterator]();
  const iterator = items[Symbol.iterator]();
  return {
    next: async () => iterator.next(),
    return: async () => iterator.return?.() ?? { done: true, value: undefined },
  };
}

const KEPT: ReadonlySet<string> = new Set(["type", "call_id", "name", "is_error"]);

/** Returns what is written instead of an event that is too large for the log: what it was, and how long. */
function leaveOut(event: AnyEvent, dialect: string, { details }: LoomError): readonly AnyEvent[] {
  const { type } = event;
  const bytes = Number(details["bytes"]);
  const kept = keepFields(event as unknown as JsonObject, (name) => KEPT.has(name));
  const note = { type: "foreign", dialect, frame: { ...kept, type: "left_out", event: type, bytes } };
  const text = `${bytes} bytes were left out: an event can have fewer`;
  // The call must still be made, and must end.
  if (type === "tool_call") return [note, { ...kept, type, arguments: {}, raw_arguments: text }];
  return type === "tool_end" ? [note, { ...kept, type, result: text }] : [note];
}

const UNSTARTED: ReadonlySet<unknown> = new Set(["tool_rejected", "invalid_arguments"]);

function isUnstarted(event: AnyEvent): boolean {
  return event.type === "tool_end" && UNSTARTED.has((event as { readonly error_code?: unknown }).error_code);
}

async function stop(iterator: AsyncIterator<SourceItem>): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // The source is not read any more.
  }
}
