/**
 * Counts the tokens of a prompt: texts, tool calls, results, tools, and the overhead of each message. Counts are cached
 * per message, so a conversation that grows by one message costs one count.
 */
import { createLoopYield } from "../../log/follow-records.ts";
import { Buffer } from "node:buffer";
import { isTextType } from "../../models/describe-file.ts";
import type { AssistantPart, ModelMessage, ModelRequest, ToolResultPart, UserPart } from "../../models/model.ts";
import { BoundedMap } from "../../protocol/bounded-map.ts";
import type { TokenCounter } from "./token-counter.ts";

/** The parts of a model request that count towards its size. `settings.maxOutputTokens` is kept free for the answer. */
export type Prompt = Pick<ModelRequest, "messages" | "tools" | "responseFormat" | "settings">;

/** Tokens that providers add around a message, around a tool call or result, and around a tool. */
const PER_MESSAGE = 4;
const PER_CALL = 8;
const PER_TOOL = 12;
/** Tokens that start every answer. */
const PER_PROMPT = 3;

/** Tool lists whose counts are cached. */
const MAX_TOOL_TEXTS = 32;

/** Size of a message in bytes. A token has at least one byte, so this is an upper bound that needs no tokenizer. */
const bytesOf = new WeakMap<ModelMessage, number>();

export class PromptTokens {
  readonly #counter: TokenCounter;
  readonly #counts = new WeakMap<ModelMessage, number>();
  readonly #toolCounts = new BoundedMap<number>(MAX_TOOL_TEXTS);

  constructor(counter: TokenCounter) {
    this.#counter = counter;
  }

  get margin(): number {
    return this.#counter.margin;
  }

  get missing(): string | undefined {
    return this.#counter.missing;
  }

  countText(text: string): number {
    return this.#counter.countText(text);
  }

  /** Cuts a text to a token limit. Models do not always respect the requested length. */
  shortenText(text: string, maxTokens: number): string {
    let kept = text;
    for (;;) {
      const size = this.countText(kept);
      if (size <= maxTokens || kept.length <= 1) return kept;
      // Tokens per character vary: aim slightly lower and count again.
      kept = `${kept
        .slice(0, Math.floor((kept.length - 1) * Math.min(0.9, (maxTokens / size) * 0.95)))
        .toWellFormed()
        .trimEnd()}…`;
      if (kept === "…") return kept;
    }
  }

  countMessage(message: ModelMessage): number {
    let count = this.#counts.get(message);
    if (count === undefined) {
      count = measureMessage(message, (text) => this.#counter.countText(text));
      this.#counts.set(message, count);
    }
    return count;
  }

  countMessages(messages: Iterable<ModelMessage>): number {
    let count = 0;
    for (const message of messages) count += this.countMessage(message);
    return count;
  }

  /** Counts new messages and yields to the event loop in between. */
  async prepare(messages: readonly ModelMessage[], signal: AbortSignal): Promise<void> {
    const pause = createLoopYield();
    for (const message of messages) {
      if (this.#counts.has(message)) continue;
      this.countMessage(message);
      await pause();
      if (signal.aborted) return;
    }
  }

  /** Counts everything except the messages. */
  countRest(prompt: Omit<Prompt, "messages">): number {
    const text = describeRest(prompt);
    if (text === "") return PER_PROMPT;
    const known = this.#toolCounts.getOrCreate(text, () => this.#counter.countText(text));
    return PER_PROMPT + PER_TOOL * (prompt.tools?.length ?? 0) + known;
  }
}

/** Returns an upper bound of the prompt's tokens for any tokenizer. */
export function boundTokens(prompt: Prompt): number {
  const { messages, tools = [] } = prompt;
  let bytes = PER_PROMPT + PER_TOOL * tools.length + Buffer.byteLength(describeRest(prompt));
  for (const message of messages) {
    let size = bytesOf.get(message);
    if (size === undefined) bytesOf.set(message, (size = measureMessage(message, (text) => Buffer.byteLength(text))));
    bytes += size;
  }
  return bytes;
}

function measureMessage(message: ModelMessage, measureText: (text: string) => number): number {
  let size = PER_MESSAGE + PER_CALL * countCalls(message) + countFiles(message);
  for (const text of listTexts(message)) size += measureText(text);
  return size;
}

function describeRest({ tools = [], responseFormat }: Omit<Prompt, "messages">): string {
  const format = responseFormat?.schema === undefined ? "" : JSON.stringify(responseFormat.schema);
  return tools.length === 0 ? format : JSON.stringify(tools) + format;
}

function* listTexts(message: ModelMessage): Generator<string, void, undefined> {
  if (message.role === "system") yield message.content;
  else for (const part of message.content) yield* textsOfPart(part);
}

function* textsOfPart(part: AssistantPart | UserPart | ToolResultPart): Generator<string, void, undefined> {
  if (part.type === "file" || part.type === "attachment") return;
  if (part.type === "tool-result") {
    yield part.toolName;
    yield readOutput(part);
    return;
  }
  if (part.type === "tool-call") {
    yield part.toolName;
    yield JSON.stringify(part.input);
  } else yield part.text;
  // Signatures and encrypted reasoning.
  if (part.providerOptions !== undefined) yield JSON.stringify(part.providerOptions);
}

export function readOutput({ output }: ToolResultPart): string {
  return output.type === "json" ? JSON.stringify(output.value) : output.value;
}

/** Upper bound of what most providers charge for an image, and the length to which text files are cut. */
const PER_FILE = 1600;
const MAX_FILE_TEXT = 100_000;

/** A high guess, because the file content is not available here. */
function countFiles(message: ModelMessage): number {
  if (message.role !== "user") return 0;
  let count = 0;
  for (const part of message.content)
    if (part.type === "attachment")
      count += isTextType(part.mediaType) ? Math.ceil(Math.min(part.bytes, MAX_FILE_TEXT) / 2) : PER_FILE;
  return count;
}

function countCalls(message: ModelMessage): number {
  if (message.role === "system" || message.role === "user") return 0;
  let calls = 0;
  for (const { type } of message.content) if (type === "tool-call" || type === "tool-result") calls++;
  return calls;
}
