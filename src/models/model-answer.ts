/**
 * Builds a model's answer from the parts of its stream: notifies the listener of each part and collects what the
 * conversation needs. It does not read the stream and has no timers.
 *
 * Invariants:
 * - The listener receives exactly what is collected: `text` is the concatenation of all `onText` deltas.
 * - `onToolCall` runs once per call, with the complete arguments; each call has a unique ID.
 * - A delta costs one array entry; texts are joined only at the end.
 */
import { isLoomError, LoomError } from "../protocol/index.ts";
import { AnswerCalls, type StreamedToolCall } from "./answer-calls.ts";
import { ProviderMetadata } from "./provider-metadata.ts";
import type {
  AssistantPart,
  FinishReason,
  LanguageModel,
  ModelListener,
  ModelRequest,
  ModelResult,
  ModelUsage,
} from "./model.ts";
import { classifyFault, createStreamCut, describeModel, formatModel, type ModelFault } from "./model-fault.ts";
import { readFinishReason, readUsage, type StreamPart } from "./stream-part.ts";

export interface AnswerLimits {
  readonly maxOutputCharacters: number;
  readonly maxToolCalls: number;
}

/** A block of text or reasoning. */
interface AnswerBlock {
  readonly type: "text" | "reasoning";
  readonly id: string | undefined;
  /** The deltas, grouped: a new group begins when another block came in between. */
  readonly rows: string[][];
  readonly metadata: ProviderMetadata;
}

/** A provider error found in the stream. `take` throws it. */
export class AnswerFault extends Error {
  readonly fault: ModelFault;

  constructor(fault: ModelFault) {
    super(fault.error.message);
    this.fault = fault;
  }
}

export class ModelAnswer {
  readonly #model: LanguageModel;
  readonly #listener: ModelListener;
  readonly #limits: AnswerLimits;
  /** Blocks and indexes of calls, in the order they began. */
  readonly #order: (AnswerBlock | number)[] = [];
  readonly #textRows: string[][] = [];
  readonly #calls: AnswerCalls;
  /** Blocks that have not ended, by ID. */
  readonly #open = {
    text: new Map<string | undefined, AnswerBlock>(),
    reasoning: new Map<string | undefined, AnswerBlock>(),
  };
  #block: AnswerBlock | undefined;
  #row: string[] = [];
  #characters = 0;
  #isReasoning = false;
  #hasNotified = false;
  #isNotifying = false;
  #finishReason: ReturnType<typeof readFinishReason> | undefined;
  #usage: ModelUsage = readUsage(undefined);
  #modelId: string;

  constructor(model: LanguageModel, request: ModelRequest, listener: ModelListener, limits: AnswerLimits) {
    this.#model = model;
    this.#modelId = model.modelId;
    this.#listener = listener;
    this.#limits = limits;
    this.#calls = new AnswerCalls(request);
  }

  /** Whether the listener has received anything. Then the call cannot be retried. */
  get hasNotified(): boolean {
    return this.#hasNotified;
  }

  /**
   * Returns the error to throw for a caught one. Errors of the listener and errors with a known meaning are returned as
   * they are; all others come from a malformed part.
   */
  classify(error: unknown): unknown {
    if (this.#isNotifying || error instanceof AnswerFault || isLoomError(error)) return error;
    return this.#createMalformed(error);
  }

  /** Whether the provider has sent its finish part. */
  get isFinished(): boolean {
    return this.#finishReason !== undefined;
  }

  /** Processes the next part. Returns a promise if the listener does. */
  take(part: StreamPart | null | undefined): void | Promise<void> {
    this.#isNotifying = false;
    if (part == null) throw this.#createMalformed();
    switch (part.type) {
      case "text-delta":
        return this.#addText(part);
      case "reasoning-delta":
        return this.#addReasoning(part);
      case "tool-input-delta":
        return this.#addInput(part);
      case "text-start":
        this.#findBlock("text", part);
        return;
      case "text-end":
        this.#endBlock("text", part);
        return;
      case "reasoning-start":
        this.#findBlock("reasoning", part);
        return;
      case "reasoning-end":
        this.#endBlock("reasoning", part);
        this.#endReasoning();
        return;
      case "tool-input-start":
        if (part.providerExecuted !== true) this.#beginCall(part.id, part);
        else this.#ignoreCall(part.id);
        return;
      case "tool-call":
        return this.#completeCall(part);
      case "response-metadata":
        if (typeof part.modelId === "string" && part.modelId !== "") this.#modelId = part.modelId;
        return;
      case "finish":
        this.#finishReason = readFinishReason(part.finishReason);
        this.#usage = readUsage(part.usage);
        return;
      case "error":
        throw new AnswerFault(classifyFault(part.error, "part", this.#model));
      default:
        // Sources, files, warnings, and calls and results of the provider's own tools: agents do not use them.
        return;
    }
  }

  /**
   * Completes the calls whose end was not sent. Call it when the stream has ended; throws if the answer is incomplete.
   */
  *endCalls(): Generator<void | Promise<void>, void, undefined> {
    this.#isNotifying = false;
    const reason = this.#finishReason;
    if (reason === undefined)
      throw new AnswerFault(createStreamCut(this.#model, "it ended before the answer was complete"));
    if (reason === "interrupted") throw new AnswerFault(createStreamCut(this.#model, "the provider interrupted it"));
    if (reason === "error") {
      const error = new Error("The provider ended the stream with an error");
      throw new AnswerFault(classifyFault(error, "part", this.#model));
    }
    this.#endReasoning();
    for (const call of this.#calls.completeAll()) {
      this.#beginNotifying();
      yield this.#listener.onToolCall(call);
    }
  }

  /** Returns the complete answer. Call it after `endCalls`. */
  toResult(): ModelResult {
    this.#isNotifying = false;
    const calls = this.#calls.list();
    return {
      content: this.#listContent(),
      text: this.#textRows.map((row) => row.join("")).join(""),
      calls,
      finishReason: resolveFinishReason(this.#finishReason, calls.length),
      usage: this.#usage,
      modelId: this.#modelId,
    };
  }

  #addText(part: StreamPart): void | Promise<void> {
    const delta = this.#addDelta("text", part);
    if (delta === "") return;
    if (this.#isReasoning) this.#endReasoning();
    this.#beginNotifying();
    return this.#listener.onText(delta);
  }

  #addReasoning(part: StreamPart): void | Promise<void> {
    const delta = this.#addDelta("reasoning", part);
    if (delta === "") return;
    this.#isReasoning = true;
    this.#beginNotifying();
    return this.#listener.onReasoning(delta);
  }

  /**
   * Returns the delta, or an empty string if there is nothing to report: a delta that carries a signature has no text.
   */
  #addDelta(type: AnswerBlock["type"], part: StreamPart): string {
    let block = this.#block;
    if (block === undefined || block.id !== part.id || block.type !== type || part.providerMetadata !== undefined) {
      block = this.#findBlock(type, part);
    }
    const delta = this.#readDelta(part);
    if (delta === "") return delta;
    if (block !== this.#block) this.#beginRow(block);
    this.#row.push(delta);
    return delta;
  }

  #beginRow(block: AnswerBlock): void {
    this.#block = block;
    this.#row = [];
    block.rows.push(this.#row);
    if (block.type === "text") this.#textRows.push(this.#row);
  }

  #findBlock(type: AnswerBlock["type"], { id, providerMetadata }: StreamPart): AnswerBlock {
    const open = this.#open[type];
    let block = open.get(id);
    if (block === undefined) {
      this.#addCharacters(1);
      open.set(id, (block = { type, id, rows: [], metadata: new ProviderMetadata() }));
      this.#order.push(block);
    }
    if (providerMetadata !== undefined) this.#addCharacters(block.metadata.add(providerMetadata));
    return block;
  }

  /** A provider may use the ID again for another block. */
  #endBlock(type: AnswerBlock["type"], part: StreamPart): void {
    const block = this.#findBlock(type, part);
    this.#open[type].delete(part.id);
    if (block === this.#block) this.#block = undefined;
  }

  #endReasoning(): void {
    if (!this.#isReasoning) return;
    this.#isReasoning = false;
    this.#beginNotifying();
    this.#listener.onReasoningEnd?.();
    this.#isNotifying = false;
  }

  /** From here until the next part, an exception comes from the listener. */
  #beginNotifying(): void {
    this.#hasNotified = true;
    this.#isNotifying = true;
  }

  #beginCall(id: string | undefined, { toolName, inputEncoding, providerMetadata }: StreamPart): StreamedToolCall {
    if (this.#isReasoning) this.#endReasoning();
    if (this.#calls.size >= this.#limits.maxToolCalls) {
      throw this.#createTooLarge(`more than ${this.#limits.maxToolCalls} tool calls (maxToolCalls)`);
    }
    const call = this.#calls.begin(id, toolName ?? "", inputEncoding !== "text");
    this.#addCharacters(call.metadata.add(providerMetadata));
    this.#order.push(call.info.index);
    return call;
  }

  #ignoreCall(id: string | undefined): void {
    this.#addCharacters(1);
    this.#calls.ignore(id);
  }

  #addInput(part: StreamPart): void | Promise<void> {
    const call = this.#calls.find(part.id);
    if (call === undefined || !call.isJson) return;
    const delta = this.#readDelta(part);
    if (delta === "") return;
    call.deltas.push(delta);
    call.characters += delta.length;
    this.#beginNotifying();
    return this.#listener.onToolInput(call.info, delta);
  }

  #completeCall(part: StreamPart): void | Promise<void> {
    const { toolCallId, toolName, providerExecuted, input, providerMetadata } = part;
    if (providerExecuted === true || this.#calls.isIgnored(toolCallId)) return;
    const call = this.#calls.findFirst(toolCallId, toolName) ?? this.#beginCall(toolCallId, part);
    this.#addCharacters(call.metadata.add(providerMetadata));
    const text = typeof input === "string" ? input : JSON.stringify(input ?? {});
    this.#addCharacters(Math.max(0, text.length - call.characters));
    if (this.#isReasoning) this.#endReasoning();
    const completed = this.#calls.complete(call, text);
    this.#beginNotifying();
    return this.#listener.onToolCall(completed);
  }

  /** Returns the delta after counting it against the limit. */
  #readDelta({ delta }: StreamPart): string {
    if (typeof delta !== "string") throw this.#createMalformed();
    this.#addCharacters(delta.length);
    return delta;
  }

  #createMalformed(cause?: unknown): AnswerFault {
    return new AnswerFault(createStreamCut(this.#model, "malformed response", cause));
  }

  /** Counts collected characters. Everything that is kept counts, so that memory use is bounded. */
  #addCharacters(characters: number): void {
    this.#characters += characters;
    if (this.#characters > this.#limits.maxOutputCharacters) {
      throw this.#createTooLarge(`more than ${this.#limits.maxOutputCharacters} characters (maxOutputCharacters)`);
    }
  }

  #createTooLarge(what: string): LoomError {
    const message = `The answer of ${formatModel(this.#model)} has ${what}`;
    return new LoomError("model_output_too_large", message, describeModel(this.#model));
  }

  #listContent(): AssistantPart[] {
    const content: AssistantPart[] = [];
    for (const one of this.#order) {
      if (typeof one === "number") content.push(this.#calls.toPart(one));
      else {
        const text = one.rows.map((row) => row.join("")).join("");
        const options = one.metadata.toOptions();
        // Providers reject blank texts. Reasoning may consist of metadata alone.
        if (text.trim() === "" && (one.type === "text" || options.providerOptions === undefined)) continue;
        content.push({ type: one.type, text, ...options });
      }
    }
    return content;
  }
}

/** Many servers report `stop` although the answer has tool calls. */
function resolveFinishReason(said: ReturnType<typeof readFinishReason> | undefined, calls: number): FinishReason {
  const reason = said === undefined || said === "error" || said === "interrupted" ? "other" : said;
  if (calls > 0) return reason === "stop" || reason === "other" ? "tool_calls" : reason;
  return reason === "tool_calls" ? "stop" : reason;
}
