/**
 * Turns the answers of streaming models into events of a source. Each answer is a node run with one model call; results
 * of its tool calls belong to the same node run. It knows no wire format.
 *
 * Invariant: the events are in an order that a run accepts, whatever the order of the calls to this class.
 */
import { readToolInput } from "../models/answer-calls.ts";
import { copyJson } from "../protocol/json.ts";
import type { AnyEvent, Json, JsonObject, LoomEvent } from "../protocol/index.ts";
import type { SourceEvent } from "./source.ts";

/** Token counts as providers report them; values that are not numbers count as absent. */
export interface AnswerTokens {
  readonly prompt?: unknown;
  readonly completion?: unknown;
  readonly total?: unknown;
}

interface CallEnd {
  readonly isError?: boolean;
  /** Error code. */
  readonly code?: string;
}

interface Answer {
  readonly node: string;
  readonly callId: string;
  readonly model: string | undefined;
  isReasoning: boolean;
  isEnded: boolean;
  hasUsage: boolean;
  hasText: boolean;
  hasReasoning: boolean;
  hasCalls: boolean;
}

export class ModelAnswers {
  readonly #framework: string;
  #events: SourceEvent[] = [];
  #answer: Answer | undefined;
  #count = 0;
  /** Names of the calls that have no result, by ID. */
  readonly #calls = new Map<string, string>();
  /** Key of the node run around the answers. */
  parent: string | undefined;

  constructor(framework: string) {
    this.#framework = framework;
  }

  /** Number of answers that have begun. */
  get count(): number {
    return this.#count;
  }

  /** True while the model writes an answer. */
  get isOpen(): boolean {
    return this.#answer?.isEnded === false;
  }

  /** True if the current answer has text. */
  get hasText(): boolean {
    return this.#answer?.hasText === true;
  }

  /** True if the current answer has text or reasoning. */
  get hasContent(): boolean {
    return this.#answer?.hasText === true || this.#answer?.hasReasoning === true;
  }

  /** Returns the events since the last call. */
  drain(): readonly SourceEvent[] {
    const events = this.#events;
    if (events.length > 0) this.#events = [];
    return events;
  }

  push(event: SourceEvent): void {
    this.#events.push(event);
  }

  /** Begins an answer. An earlier one ends. */
  begin(model?: unknown): void {
    this.close();
    const node = `answer-${++this.#count}`;
    const name = typeof model === "string" && model !== "" ? model : undefined;
    this.#answer = {
      node,
      callId: crypto.randomUUID(),
      model: name,
      isReasoning: false,
      isEnded: false,
      hasUsage: false,
      hasText: false,
      hasReasoning: false,
      hasCalls: false,
    };
    const { parent } = this;
    this.push({ type: "node_enter", id: "answer", node, ...(parent === undefined ? {} : { parent }) });
    const { callId } = this.#answer;
    this.push({ type: "llm_start", llm_call_id: callId, ...(name === undefined ? {} : { model: name }), node });
  }

  say(text: unknown): void {
    if (typeof text !== "string" || text === "") return;
    const answer = this.#open();
    this.endReasoning();
    answer.hasText = true;
    this.push({ type: "message_chunk", content: text, id: "answer", node: answer.node });
  }

  reason(text: unknown): void {
    if (typeof text !== "string" || text === "") return;
    const answer = this.#open();
    answer.isReasoning = true;
    answer.hasReasoning = true;
    this.push({ type: "reasoning_chunk", content: text, node: answer.node });
  }

  endReasoning(): void {
    const answer = this.#answer;
    if (answer?.isReasoning !== true) return;
    answer.isReasoning = false;
    this.push({ type: "reasoning_end", node: answer.node });
  }

  /** Adds a piece of the arguments of a call. */
  addArguments(callId: string, name: string, delta: unknown): void {
    if (typeof delta !== "string" || delta === "") return;
    const { node } = this.#open();
    this.endReasoning();
    this.push({
      type: "tool_call_chunk",
      call_id: callId,
      ...(name === "" ? {} : { name }),
      arguments_delta: delta,
      node,
    });
  }

  /** Adds a call with its complete arguments, as JSON text. */
  call(callId: string, name: string, text: string): void {
    const answer = this.#answer ?? this.#open();
    this.endReasoning();
    answer.hasCalls = true;
    this.#calls.set(callId, name);
    const input = readToolInput(text);
    this.push({
      type: "tool_call",
      call_id: callId,
      name,
      arguments: input ?? {},
      ...(input === undefined ? { raw_arguments: text } : {}),
      node: answer.node,
    });
  }

  /** Adds what the decoder of a dialect has read. `frame` is kept where no event has its content. */
  addEvents(events: readonly AnyEvent[], frame: JsonObject): void {
    for (const event of events as readonly LoomEvent[]) {
      switch (event.type) {
        case "message_chunk":
          this.say(event.content);
          break;
        case "reasoning_chunk":
          this.reason(event.content);
          break;
        case "reasoning_end":
          this.endReasoning();
          break;
        case "tool_call_chunk":
          this.addArguments(event.call_id ?? "", event.name ?? "", event.arguments_delta);
          break;
        case "tool_call":
          this.call(event.call_id ?? "", event.name, event.raw_arguments ?? JSON.stringify(event.arguments));
          break;
        case "tool_end":
          this.endCall(event.call_id ?? "", event.result, { isError: event.is_error });
          break;
        case "foreign":
          this.keep(frame);
          break;
        // The run adds the starts of calls.
        default:
      }
    }
  }

  /** True if the call was made and has no result. */
  isCalled(callId: string): boolean {
    return this.#calls.has(callId);
  }

  /** Ends a call with its result. A result of an unknown call is kept as a frame. */
  endCall(callId: string, result: string, { isError = false, code }: CallEnd = {}): void {
    const name = this.#calls.get(callId);
    this.#calls.delete(callId);
    if (name === undefined) {
      this.keep({ type: "function_call_output", call_id: callId, output: result });
      return;
    }
    const error = code === undefined ? {} : { error_code: code };
    this.add({ type: "tool_end", call_id: callId, name, result, is_error: isError, ...error });
  }

  /** Keeps a frame that has no event. */
  keep(frame: unknown): void {
    this.add({ type: "foreign", dialect: this.#framework, frame: toFrame(frame) });
  }

  /** Adds the tokens of the current answer, once. */
  addUsage(tokens: AnswerTokens): void {
    const answer = this.#answer;
    if (answer === undefined || answer.hasUsage) return;
    const prompt = toCount(tokens.prompt);
    const completion = toCount(tokens.completion);
    if (prompt === undefined || completion === undefined) return;
    answer.hasUsage = true;
    this.push({
      type: "usage",
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: toCount(tokens.total) ?? prompt + completion,
      llm_call_id: answer.callId,
      node: answer.node,
    });
  }

  /** Ends the answer. Its node run stays open for the results of its calls. */
  end(reason?: string): void {
    const answer = this.#answer;
    if (answer === undefined || answer.isEnded) return;
    this.endReasoning();
    answer.isEnded = true;
    const finish = reason === undefined || reason === "stop" ? (answer.hasCalls ? "tool_calls" : "stop") : reason;
    const { callId, model, node } = answer;
    const named = model === undefined ? {} : { model };
    this.push({ type: "llm_end", llm_call_id: callId, ...named, finish_reason: finish, node });
  }

  /** Ends the answer and its node run. */
  close(): void {
    this.end();
    const answer = this.#answer;
    this.#answer = undefined;
    if (answer !== undefined) this.push({ type: "node_exit", id: "answer", result: "Ok", node: answer.node });
  }

  /** Adds an event to the current node run. */
  add(event: SourceEvent): void {
    const { node = this.parent } = this.#answer ?? {};
    this.push(node === undefined ? event : { ...event, node });
  }

  /** Returns the answer that is being written; begins one if there is none. */
  #open(): Answer {
    if (!this.isOpen) this.begin();
    return this.#answer as Answer;
  }
}

/** Objects of the framework may have fields that are not JSON. */
function toFrame(value: unknown): Json {
  try {
    return copyJson(value ?? null) as Json;
  } catch {
    return { omitted: "not JSON" };
  }
}

function toCount(value: unknown): number | undefined {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : undefined;
}
