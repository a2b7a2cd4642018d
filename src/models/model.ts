/**
 * The contract of a language model: that of the AI SDK's providers (versions 2 to 4), as far as we use it, and called
 * directly. Every provider package of that ecosystem fits. Written down here so that no package has to be installed for
 * its types; `model-types.test.ts` holds it against the real ones.
 */
import type { Json, JsonObject } from "../protocol/index.ts";

/** A message as models are given it; plain JSON, so that it can be part of a graph's state. */
export type ModelMessage =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: "user"; readonly content: readonly UserPart[] }
  | { readonly role: "assistant"; readonly content: readonly AssistantPart[] }
  | { readonly role: "tool"; readonly content: readonly ToolResultPart[] };

/** What a provider wants back unread with the part it came with: signatures of reasoning, ids of items. */
export interface ProviderOptions {
  readonly [provider: string]: JsonObject;
}

export interface TextPart {
  readonly type: "text";
  readonly text: string;
  readonly providerOptions?: ProviderOptions;
}

/** A file, with its bytes: only in what a provider is given. */
export interface FilePart {
  readonly type: "file";
  readonly mediaType: string;
  readonly filename?: string;
  readonly data: Uint8Array;
}

/** A file, by reference: as conversations and states have it. Whoever calls a model puts the file in its place. */
export interface AttachmentPart {
  readonly type: "attachment";
  readonly blobId: string;
  readonly mediaType: string;
  readonly bytes: number;
  readonly name?: string;
}

export type UserPart = TextPart | FilePart | AttachmentPart;

export interface ReasoningPart {
  readonly type: "reasoning";
  readonly text: string;
  readonly providerOptions?: ProviderOptions;
}

export interface ToolCallPart {
  readonly type: "tool-call";
  readonly toolCallId: string;
  readonly toolName: string;
  /** The arguments: an object, as providers' rules ask for. `{}` where the model's text was not one. */
  readonly input: JsonObject;
  readonly providerOptions?: ProviderOptions;
}

export type AssistantPart = TextPart | ReasoningPart | ToolCallPart;

export interface ToolResultPart {
  readonly type: "tool-result";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly output:
    | { readonly type: "text"; readonly value: string }
    | { readonly type: "error-text"; readonly value: string }
    | { readonly type: "json"; readonly value: Json };
}

/** A tool as the model is told of it. */
export interface ModelTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly inputSchema: JsonObject;
}

/** What one call of a model asks for. */
export interface ModelRequest {
  readonly messages: readonly ModelMessage[];
  readonly tools?: readonly ModelTool[];
  readonly toolChoice?: "auto" | "none" | "required" | { readonly toolName: string };
  /** Ask for JSON, of this schema if it is given. */
  readonly responseFormat?: { readonly schema?: JsonObject; readonly name?: string };
  readonly settings?: ModelSettings;
}

/** Passed on to the provider as they are. */
export interface ModelSettings {
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly stopSequences?: readonly string[];
  readonly seed?: number;
  readonly reasoning?: string;
  readonly providerOptions?: ProviderOptions;
}

/** The part of an AI SDK model that is called. */
export interface LanguageModel {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
  // The options and parts of the versions differ in what we do not use; `call-model.ts` reads them with care.
  // oxlint-disable-next-line typescript/no-explicit-any
  doStream(options: any): PromiseLike<{ readonly stream: ReadableStream }>;
}

/**
 * Told what a model says, as it says it, in order. A function that returns a promise holds the stream until it settles:
 * that is the back-pressure. What it throws ends the call.
 */
export interface ModelListener {
  /** Each try is announced; `attempt` is 0 for the first. Nothing is tried again once something else was told. */
  onStart?(info: { readonly attempt: number }): void | Promise<void>;
  onText(delta: string): void | Promise<void>;
  onReasoning(delta: string): void | Promise<void>;
  onReasoningEnd?(): void;
  /** `index` tells calls of one answer apart, from 0 in the order they began. */
  onToolInput(
    call: { readonly callId: string; readonly name: string; readonly index: number },
    delta: string,
  ): void | Promise<void>;
  /** The arguments are whole. `input` is undefined where `rawInput` is not a JSON object. */
  onToolCall(call: ModelToolCall): void | Promise<void>;
}

export interface ModelToolCall {
  readonly callId: string;
  readonly name: string;
  readonly index: number;
  readonly input: JsonObject | undefined;
  readonly rawInput: string;
}

/** Tokens as the provider counted them; undefined where it did not. */
export interface ModelUsage {
  readonly promptTokens: number | undefined;
  readonly completionTokens: number | undefined;
  readonly totalTokens: number | undefined;
}

export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter" | "other";

export interface ModelResult {
  /** What to put into the conversation: text, reasoning and calls in their order. */
  readonly content: readonly AssistantPart[];
  readonly text: string;
  readonly calls: readonly ModelToolCall[];
  readonly finishReason: FinishReason;
  readonly usage: ModelUsage;
  /** The model that answered, by the provider's word for it. */
  readonly modelId: string;
}

/** A number that makes no sense is refused. Code `invalid_arguments`. */
export interface ModelCallOptions {
  readonly signal?: AbortSignal;
  /** Tries after the first, on 408, 409, 429 and 5xx and on a refused connection, before anything was told. */
  readonly maxRetries?: number;
  /** The first pause; each is twice the one before, unless the provider says how long (`retry-after`). */
  readonly retryMs?: number;
  /** The longest pause; a provider that asks for more has failed. */
  readonly maxRetryMs?: number;
  /** Until the provider answers at all; `Infinity` is no limit, here and below. Code `model_timeout`. */
  readonly connectTimeoutMs?: number;
  /** Between two parts of the stream. Code `model_timeout`. */
  readonly idleTimeoutMs?: number;
  /** Characters of text, reasoning, arguments and what the provider wants back. Code `model_output_too_large`. */
  readonly maxOutputCharacters?: number;
  /** Calls in one answer. Code `model_output_too_large`. */
  readonly maxToolCalls?: number;
}

/** How a model is named: `{ provider: "openai", model: "gpt-5" }`, or `"openai/gpt-5"`. */
export interface ModelName {
  /** `openai`, `anthropic`, `offline`, or any name together with `baseURL`: an OpenAI-compatible server. */
  readonly provider: string;
  readonly model?: string;
  readonly baseURL?: string;
  /** From the environment when absent. */
  readonly apiKey?: string;
  readonly headers?: { readonly [name: string]: string };
}

export type ModelChoice = LanguageModel | ModelName | string;
