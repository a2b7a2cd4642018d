/**
 * A source from the AI SDK: a result of `streamText` or of an agent, or a UI message stream. Nothing of the framework is
 * imported: results and messages are read by their fields.
 */
import { type JsonObject, LoomError } from "../protocol/index.ts";
import { describeValue } from "../protocol/fault.ts";
import type { AISDKMessage } from "./ai-sdk-messages.ts";
import { AISDKParts, type AISDKPart } from "./ai-sdk-parts.ts";
import type { ForeignSource, SourceAnswer, SourceCall, SourceContext, SourceItem, SourceResult } from "./source.ts";

/** A stream of parts: the full stream of a result, or UI message chunks. */
export type AISDKStream = ReadableStream<unknown> | AsyncIterable<unknown>;

/** What `streamText` and agents return; only these fields are read. */
export interface AISDKResult {
  /** All parts. */
  readonly stream?: AISDKStream;
  /** The same under its name in earlier versions. */
  readonly fullStream?: AISDKStream;
}

/** A result, a stream, or a promise of one. */
export type AISDKOutput = AISDKResult | AISDKStream | PromiseLike<AISDKResult | AISDKStream>;

/** What a function that calls the AI SDK receives. */
export interface AISDKContext extends SourceContext {
  /**
   * Model messages to append to the prompt. Empty at first. After approvals, and after calls that the client carried out,
   * they are the messages of this run so far and the answers, so that the framework continues where it stopped. If an
   * earlier process of the run has asked, they are its calls and the answers.
   */
  readonly messages: readonly AISDKMessage[];
}

/** What to record: the output of the AI SDK, or a function that calls it. */
export type AISDKInput = AISDKOutput | ((context: AISDKContext) => AISDKOutput);

/**
 * Creates a source from the AI SDK. Pass a function if the run should stop with its source, if its tools need approvals,
 * and if the client carries out its tools without `execute`: the function receives the signal of the run, and is called
 * again with the answers.
 *
 * ```ts
 * fromAISDK(({ signal, messages }) =>
 *   streamText({ model, tools, abortSignal: signal, messages: [...history, ...messages] }),
 * );
 * ```
 */
export function fromAISDK(input: AISDKInput): ForeignSource {
  return new AISDKSource(input);
}

class AISDKSource implements ForeignSource {
  readonly framework = "ai-sdk";
  readonly #input: AISDKInput;
  readonly #parts = new AISDKParts();
  /** Messages of the run up to its last approvals. */
  #messages: readonly AISDKMessage[] = [];
  #output: unknown;
  /** Calls that an earlier process of the run has asked the user about. They are asked again before anything else. */
  #asked: readonly SourceCall[] = [];

  constructor(input: AISDKInput) {
    this.#input = input;
    // The rejection is handled when the source starts.
    if ("then" in Object(input)) (input as PromiseLike<unknown>).then(undefined, () => undefined);
  }

  start(context: SourceContext): AsyncIterable<SourceItem> {
    this.#asked = typeof this.#input === "function" ? context.openCalls.filter(({ arguments: input }) => input) : [];
    if (this.#asked.length > 0) return this.#askAgain();
    return { [Symbol.asyncIterator]: () => new PartIterator(() => this.#open(context), this.#parts) };
  }

  /** Defined if the framework can be called again, with the messages of the run so far. */
  get resume(): ForeignSource["resume"] {
    if (typeof this.#input !== "function") return undefined;
    if (this.#asked.length === 0 && !hasMessages(this.#output)) return undefined;
    return (answers, context, results) => ({
      [Symbol.asyncIterator]: () => {
        const approved = answers.filter(({ decision }) => decision === "approved");
        const starts = approved.flatMap(({ callId, name }) => this.#parts.start(callId, name));
        const open = async (): Promise<AsyncIterator<unknown>> => {
          await this.#addAnswers(answers, results);
          return this.#open(context);
        };
        return new PartIterator(open, this.#parts, starts);
      },
    });
  }

  /** The recorder keeps answers that were given meanwhile. */
  async *#askAgain(): AsyncGenerator<SourceItem> {
    for (const call of this.#asked) yield* this.#parts.askAgain(call);
  }

  async #open(context: SourceContext): Promise<AsyncIterator<unknown>> {
    const input = this.#input;
    const output = await (typeof input === "function" ? input({ ...context, messages: this.#messages }) : input);
    this.#output = output;
    // Read one of the two only: each access splits the stream.
    const result = Object(output) as AISDKResult;
    return readStream(result.stream ?? result.fullStream ?? output);
  }

  /** Adds what the framework said since the last answers, with edited arguments, and the answers. */
  async #addAnswers(answers: readonly SourceAnswer[], results: readonly SourceResult[]): Promise<void> {
    const said = this.#asked.length > 0 ? [createCallMessage(this.#asked)] : await readMessages(this.#output);
    this.#asked = [];
    const inputs = new Map(answers.map((answer) => [answer.callId, answer.arguments]));
    const approvals = answers.map(({ callId, decision, reason }) => ({
      type: "tool-approval-response" as const,
      approvalId: this.#parts.approvals.get(callId) ?? "",
      approved: decision === "approved",
      ...(reason === undefined ? {} : { reason }),
    }));
    const edited = said.map((message) => replaceInputs(message, inputs));
    this.#messages = [
      ...this.#messages,
      ...edited,
      { role: "tool", content: [...results.map(toResult), ...approvals] },
    ];
  }
}

const NOTHING: readonly SourceItem[] = [];

/** Reads parts one by one, and returns their events. Written out, because a generator costs twice as much per piece. */
class PartIterator implements AsyncIterator<SourceItem> {
  readonly #open: () => Promise<AsyncIterator<unknown>>;
  readonly #parts: AISDKParts;
  #iterator: AsyncIterator<unknown> | undefined;
  #waiting: readonly SourceItem[];
  #at = 0;
  #isOver = false;

  /** `first` comes before the events of the stream, which is opened afterwards. */
  constructor(open: () => Promise<AsyncIterator<unknown>>, parts: AISDKParts, first = NOTHING) {
    this.#open = open;
    this.#parts = parts;
    this.#waiting = first;
  }

  async next(): Promise<IteratorResult<SourceItem>> {
    for (;;) {
      const value = this.#waiting[this.#at++];
      if (value !== undefined) return { done: false, value };
      if (this.#isOver) return { done: true, value: undefined };
      this.#iterator ??= await this.#open();
      const read = await this.#iterator.next();
      this.#at = 0;
      if (read.done === true) {
        this.#isOver = true;
        this.#waiting = this.#parts.end();
        continue;
      }
      const part = Object(read.value) as AISDKPart;
      const text = part.type === "text-delta" ? (part["text"] ?? part["delta"]) : undefined;
      if (typeof text === "string") {
        this.#waiting = NOTHING;
        return { done: false, value: this.#parts.createText(text) };
      }
      this.#waiting = this.#parts.read(part);
    }
  }

  async return(): Promise<IteratorResult<SourceItem>> {
    this.#isOver = true;
    await this.#iterator?.return?.();
    return { done: true, value: undefined };
  }
}

function readStream(stream: unknown): AsyncIterator<unknown> {
  const { getReader, [Symbol.asyncIterator]: iterate } = Object(stream) as Partial<ReadableStream<unknown>>;
  if (typeof getReader === "function") {
    const reader = (stream as ReadableStream<unknown>).getReader();
    return {
      next: () => reader.read() as Promise<IteratorResult<unknown>>,
      async return() {
        await reader.cancel();
        return { done: true, value: undefined };
      },
    };
  }
  if (typeof iterate === "function") return (stream as AsyncIterable<unknown>)[Symbol.asyncIterator]();
  throw new LoomError(
    "invalid_arguments",
    `\`fromAISDK\` needs a result of the AI SDK or a stream, not ${describeValue(stream)}`,
  );
}

/** What a result has added to the conversation. To read the fields before the stream has ended would empty the stream. */
interface ResultMessages {
  readonly responseMessages?: PromiseLike<readonly AISDKMessage[]>;
  /** In earlier versions. */
  readonly response?: PromiseLike<{ readonly messages?: readonly AISDKMessage[] }>;
}

/** False for a bare stream. */
function hasMessages(output: unknown): output is ResultMessages {
  return "responseMessages" in Object(output) || "response" in Object(output);
}

async function readMessages(output: unknown): Promise<readonly AISDKMessage[]> {
  if (!hasMessages(output)) return [];
  return (await output.responseMessages) ?? (await output.response)?.messages ?? [];
}

function toResult({ callId: toolCallId, name: toolName, end: { result, is_error } }: SourceResult) {
  const type = is_error ? ("error-text" as const) : ("text" as const);
  return { type: "tool-result" as const, toolCallId, toolName, output: { type, value: result } };
}

/** The message of the model that made the calls, as far as it is known. */
function createCallMessage(calls: readonly SourceCall[]): AISDKMessage {
  const content = calls.flatMap(({ callId: toolCallId, name: toolName, arguments: input }) => [
    { type: "tool-call" as const, toolCallId, toolName, input },
    { type: "tool-approval-request" as const, approvalId: toolCallId, toolCallId },
  ]);
  return { role: "assistant", content };
}

/** Returns the message with the arguments that the user approved. */
function replaceInputs(message: AISDKMessage, inputs: ReadonlyMap<string, JsonObject>): AISDKMessage {
  if (message.role !== "assistant" || !Array.isArray(message.content)) return message;
  const content = message.content.map((part) => {
    const input = "toolCallId" in part ? inputs.get(part.toolCallId) : undefined;
    if (input === undefined) return part;
    if (part.type === "tool-call") return { ...part, input };
    // The framework compares this copy with the arguments.
    return "inputSchemaInput" in part ? { ...part, inputSchemaInput: input } : part;
  });
  return { ...message, content };
}
