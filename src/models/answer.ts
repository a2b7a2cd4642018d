/**
 * A model's answer on its way in: takes the parts of a stream in order, tells the listener, and keeps what the
 * conversation needs. It reads no stream and knows no time.
 *
 * Invariants:
 * - What was told and what is kept are the same: `text` is all that `onText` was told, in that order.
 * - Every call that was begun is told as a whole once, and each has an id of its own.
 * - A text costs one entry in a list; nothing is joined before the end.
 */
import { isLoomError, LoomError } from "../protocol/index.ts";
import { AnswerCalls, type OpenCall } from "./answer-calls.ts";
import { KeptMetadata } from "./kept-metadata.ts";
import type {
  AssistantPart,
  FinishReason,
  LanguageModel,
  ModelListener,
  ModelRequest,
  ModelResult,
  ModelUsage,
} from "./model.ts";
import { createCut, judgeFault, type ModelFault } from "./model-fault.ts";
import { readFinishReason, readUsage, type StreamPart } from "./stream-part.ts";

export interface AnswerLimits {
  readonly maxOutputCharacters: number;
  readonly maxToolCalls: number;
}

/** A text or a piece of reasoning. */
interface Block {
  readonly type: "text" | "reasoning";
  readonly id: string | undefined;
  /** Its deltas, in rows: a new row begins where another block has come between. */
  readonly rows: string[][];
  readonly metadata: KeptMetadata;
}

/** A fault that came as a part of the stream; it leaves through `take`. */
export class AnswerFault extends Error {
  readonly fault: ModelFault;

  constructor(fault: ModelFault) {
    super(fault.error.message);
    this.fault = fault;
  }
}

export class Answer {
  readonly #model: LanguageModel;
  readonly #listener: ModelListener;
  readonly #limits: AnswerLimits;
  /** In the order they began: blocks, and places of calls. */
  readonly #order: (Block | number)[] = [];
  readonly #textRows: string[][] = [];
  readonly #calls: AnswerCalls;
  /** Those that have not ended. */
  readonly #open = { text: new Map<string | undefined, Block>(), reasoning: new Map<string | undefined, Block>() };
  #block: Block | undefined;
  #row: string[] = [];
  #characters = 0;
  #isReasoning = false;
  #hasTold = false;
  #isTelling = false;
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

  /** Whether the listener knows anything of it: then it cannot be tried again. */
  get hasTold(): boolean {
    return this.#hasTold;
  }

  /**
   * What was thrown, in the right words: the listener's own as it is, ours as well. All else comes from a part that is
   * not what it should be.
   */
  judge(error: unknown): unknown {
    if (this.#isTelling || error instanceof AnswerFault || isLoomError(error)) return error;
    return this.#createUnreadable(error);
  }

  /** Whether the provider has said that this was all. */
  get isFinished(): boolean {
    return this.#finishReason !== undefined;
  }

  /** A promise when the listener wants to be waited for. */
  take(part: StreamPart | null | undefined): void | Promise<void> {
    this.#isTelling = false;
    if (part == null) throw this.#createUnreadable();
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
        throw new AnswerFault(judgeFault(part.error, "part", this.#model));
      default:
        // Sources, files, warnings, calls and results of the provider's own tools: nothing an agent could use.
        return;
    }
  }

  /** The stream is over: calls whose end was never said are whole now, if the answer is. */
  *endCalls(): Generator<void | Promise<void>, void, undefined> {
    this.#isTelling = false;
    const reason = this.#finishReason;
    if (reason === undefined) throw new AnswerFault(createCut(this.#model, "its stream ended too early"));
    if (reason === "interrupted") throw new AnswerFault(createCut(this.#model, "its stream was interrupted"));
    if (reason === "error") {
      throw new AnswerFault(judgeFault(new Error("the provider ended it with an error"), "part", this.#model));
    }
    this.#endReasoning();
    for (const call of this.#calls.completeAll()) {
      this.#beginTelling();
      yield this.#listener.onToolCall(call);
    }
  }

  /** After `endCalls`. */
  describe(): ModelResult {
    this.#isTelling = false;
    const calls = this.#calls.list();
    return {
      content: this.#listContent(),
      text: this.#textRows.map((row) => row.join("")).join(""),
      calls,
      finishReason: settleReason(this.#finishReason, calls.length),
      usage: this.#usage,
      modelId: this.#modelId,
    };
  }

  #addText(part: StreamPart): void | Promise<void> {
    const delta = this.#addDelta("text", part);
    if (delta === "") return;
    if (this.#isReasoning) this.#endReasoning();
    this.#beginTelling();
    return this.#listener.onText(delta);
  }

  #addReasoning(part: StreamPart): void | Promise<void> {
    const delta = this.#addDelta("reasoning", part);
    if (delta === "") return;
    this.#isReasoning = true;
    this.#beginTelling();
    return this.#listener.onReasoning(delta);
  }

  /** Empty where there is nothing to tell: the delta that brings a signature has no text. */
  #addDelta(type: Block["type"], part: StreamPart): string {
    let block = this.#block;
    if (block === undefined || block.id !== part.id || block.type !== type || part.providerMetadata !== undefined) {
      block = this.#findBlock(type, part);
    }
    const delta = this.#count(part);
    if (delta === "") return delta;
    if (block !== this.#block) this.#beginRow(block);
    this.#row.push(delta);
    return delta;
  }

  #beginRow(block: Block): void {
    this.#block = block;
    this.#row = [];
    block.rows.push(this.#row);
    if (block.type === "text") this.#textRows.push(this.#row);
  }

  #findBlock(type: Block["type"], { id, providerMetadata }: StreamPart): Block {
    const open = this.#open[type];
    let block = open.get(id);
    if (block === undefined) {
      this.#spend(1);
      open.set(id, (block = { type, id, rows: [], metadata: new KeptMetadata() }));
      this.#order.push(block);
    }
    if (providerMetadata !== undefined) this.#spend(block.metadata.add(providerMetadata));
    return block;
  }

  /** Its id may come again, for another. */
  #endBlock(type: Block["type"], part: StreamPart): void {
    const block = this.#findBlock(type, part);
    this.#open[type].delete(part.id);
    if (block === this.#block) this.#block = undefined;
  }

  #endReasoning(): void {
    if (!this.#isReasoning) return;
    this.#isReasoning = false;
    this.#beginTelling();
    this.#listener.onReasoningEnd?.();
    this.#isTelling = false;
  }

  /** From here on to the next part, what is thrown is thrown by the listener. */
  #beginTelling(): void {
    this.#hasTold = true;
    this.#isTelling = true;
  }

  #beginCall(id: string | undefined, { toolName, inputEncoding, providerMetadata }: StreamPart): OpenCall {
    if (this.#isReasoning) this.#endReasoning();
    if (this.#calls.size >= this.#limits.maxToolCalls) {
      throw this.#refuse(`more than ${this.#limits.maxToolCalls} calls of tools`);
    }
    const call = this.#calls.begin(id, toolName ?? "", inputEncoding !== "text");
    this.#spend(call.metadata.add(providerMetadata));
    this.#order.push(call.told.index);
    return call;
  }

  #ignoreCall(id: string | undefined): void {
    this.#spend(1);
    this.#calls.ignore(id);
  }

  #addInput(part: StreamPart): void | Promise<void> {
    const call = this.#calls.find(part.id);
    if (call === undefined || !call.isJson) return;
    const delta = this.#count(part);
    if (delta === "") return;
    call.deltas.push(delta);
    call.characters += delta.length;
    this.#beginTelling();
    return this.#listener.onToolInput(call.told, delta);
  }

  #completeCall(part: StreamPart): void | Promise<void> {
    const { toolCallId, toolName, providerExecuted, input, providerMetadata } = part;
    if (providerExecuted === true || this.#calls.isIgnored(toolCallId)) return;
    const call = this.#calls.findFirst(toolCallId, toolName) ?? this.#beginCall(toolCallId, part);
    this.#spend(call.metadata.add(providerMetadata));
    const text = typeof input === "string" ? input : JSON.stringify(input ?? {});
    this.#spend(Math.max(0, text.length - call.characters));
    if (this.#isReasoning) this.#endReasoning();
    const whole = this.#calls.complete(call, text);
    this.#beginTelling();
    return this.#listener.onToolCall(whole);
  }

  /** The delta, once it is known to fit. */
  #count({ delta }: StreamPart): string {
    if (typeof delta !== "string") throw this.#createUnreadable();
    this.#spend(delta.length);
    return delta;
  }

  #createUnreadable(cause?: unknown): AnswerFault {
    return new AnswerFault(createCut(this.#model, "a part of it could not be read", cause));
  }

  /** Whatever is kept counts, so that nothing grows without a limit. */
  #spend(characters: number): void {
    this.#characters += characters;
    if (this.#characters > this.#limits.maxOutputCharacters) {
      throw this.#refuse(`more than ${this.#limits.maxOutputCharacters} characters`);
    }
  }

  #refuse(what: string): LoomError {
    const { provider, modelId } = this.#model;
    return new LoomError("model_output_too_large", `The answer of ${provider}/${modelId} has ${what}.`, {
      provider,
      model: modelId,
    });
  }

  #listContent(): AssistantPart[] {
    const content: AssistantPart[] = [];
    for (const one of this.#order) {
      if (typeof one === "number") content.push(this.#calls.describe(one));
      else {
        const text = one.rows.map((row) => row.join("")).join("");
        const options = one.metadata.describe();
        // Providers refuse texts of nothing but spaces; reasoning may be all in what comes with it.
        if (text.trim() === "" && (one.type === "text" || options.providerOptions === undefined)) continue;
        content.push({ type: one.type, text, ...options });
      }
    }
    return content;
  }
}

/** Many servers say `stop` where they mean their calls. */
function settleReason(said: ReturnType<typeof readFinishReason> | undefined, calls: number): FinishReason {
  const reason = said === undefined || said === "error" || said === "interrupted" ? "other" : said;
  if (calls > 0) return reason === "stop" || reason === "other" ? "tool_calls" : reason;
  return reason === "tool_calls" ? "stop" : reason;
}
