/**
 * The language model contract: the part of the AI SDK provider specification (versions 2 to 4) that this package uses.
 * Declared here so that no AI SDK package has to be installed for its types; `model-types.test.ts` checks it against
 * the real ones.
 */
import type { Json, JsonObject, LoomError } from "../protocol/index.ts";

/** A message of a conversation. Plain JSON, so that it can be part of a graph's state. */
export type ModelMessage =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: "user"; readonly content: readonly UserPart[] }
  | { readonly role: "assistant"; readonly content: readonly AssistantPart[] }
  | { readonly role: "tool"; readonly content: readonly ToolResultPart[] };

/** Opaque data a provider wants back with a part, such as reasoning signatures and item IDs. */
export interface ProviderOptions {
  readonly [provider: string]: JsonObject;
}

/** A piece of text. */
export interface ModelTextPart {
  readonly type: "text";
  readonly text: string;
  readonly providerOptions?: ProviderOptions;
}

/** A file with its bytes. Used only in requests to a provider. */
export interface FilePart {
  readonly type: "file";
  readonly mediaType: string;
  readonly filename?: string;
  readonly data: Uint8Array;
}

/**
 * A reference to a stored file, as conversations and graph state contain it. Replaced with a `FilePart` before a model
 * is called.
 */
export interface AttachmentPart {
  readonly type: "attachment";
  readonly blobId: string;
  readonly mediaType: string;
  readonly bytes: number;
  readonly name?: string;
}

export type UserPart = ModelTextPart | FilePart | AttachmentPart;

/** Reasoning of the model before its answer. */
export interface ReasoningPart {
  readonly type: "reasoning";
  readonly text: string;
  readonly providerOptions?: ProviderOptions;
}

/** A tool call of the model. */
export interface ToolCallPart {
  readonly type: "tool-call";
  readonly toolCallId: string;
  readonly toolName: string;
  /** The arguments. `{}` if the model did not write a JSON object. */
  readonly input: JsonObject;
  readonly providerOptions?: ProviderOptions;
}

/** A part of an assistant message. */
export type AssistantPart = ModelTextPart | ReasoningPart | ToolCallPart;

/** The result of a tool call. */
export interface ToolResultPart {
  readonly type: "tool-result";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly output:
    | { readonly type: "text"; readonly value: string }
    | { readonly type: "error-text"; readonly value: string }
    | { readonly type: "json"; readonly value: Json };
}

/** A tool the model may call. */
export interface ModelTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly inputSchema: JsonObject;
}

/** The request of one model call. */
export interface ModelRequest {
  readonly messages: readonly ModelMessage[];
  readonly tools?: readonly ModelTool[];
  /** Whether the model may, must not or must call a tool, or the one tool it must call. Default: `auto`. */
  readonly toolChoice?: "auto" | "none" | "required" | { readonly toolName: string };
  /** Requests JSON output, matching the schema if there is one. */
  readonly responseFormat?: { readonly schema?: JsonObject; readonly name?: string };
  readonly settings?: ModelSettings;
  /** True if the provider refuses the reasoning level at present, so that it is left out. @internal */
  readonly isReasoningRefused?: boolean;
}

/** Sampling settings. Except for the levels of `reasoning` and for `caching`, they are passed to the provider unchanged. */
export interface ModelSettings {
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly stopSequences?: readonly string[];
  readonly seed?: number;
  /**
   * How much the model reasons: `auto`, `off`, `low`, `medium` or `high`, in the form that the provider expects. A
   * provider that refuses is asked again without it. Other values are passed on unchanged. Default: nothing is
   * requested.
   */
  readonly reasoning?: string;
  /**
   * Marks tools, system prompt and earlier messages for the prompt cache of Anthropic. Other providers need no marks.
   * Default: false.
   */
  readonly caching?: boolean;
  readonly providerOptions?: ProviderOptions;
}

/** A model of an AI SDK provider, or any object with the same interface. */
export interface LanguageModel {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
  // The versions differ only in fields this package does not use; `stream-part.ts` reads the parts defensively.
  // oxlint-disable-next-line typescript/no-explicit-any
  doStream(options: any): PromiseLike<{ readonly stream: ReadableStream }>;
}

/**
 * Receives the output of a model while it is streamed, in order. If a method returns a promise, the stream pauses until
 * it settles (back-pressure). If a method throws, the call ends with that error.
 */
export interface ModelListener {
  /**
   * Called before each attempt with the request that is sent; `attempt` is 0 for the first. There are no retries once
   * another method was called.
   */
  onStart?(info: { readonly attempt: number; readonly request: ModelRequest }): void | Promise<void>;
  /**
   * Called after an answer without a feature that the provider refused, such as a reasoning level. Later calls leave it
   * out for `refusalMs`.
   */
  onRefusal?(refusal: { readonly feature: string; readonly error: LoomError }): void;
  onText(delta: string): void | Promise<void>;
  onReasoning(delta: string): void | Promise<void>;
  /** Called when reasoning ends, before other output. */
  onReasoningEnd?(): void;
  /**
   * A piece of the arguments of a tool call. `index` numbers the calls of one answer, from 0 in the order they began.
   */
  onToolInput(
    call: { readonly callId: string; readonly name: string; readonly index: number },
    delta: string,
  ): void | Promise<void>;
  /** A tool call with complete arguments. `input` is undefined if `rawInput` is not a JSON object. */
  onToolCall(call: ModelToolCall): void | Promise<void>;
}

/** A tool call with its arguments. */
export interface ModelToolCall {
  readonly callId: string;
  readonly name: string;
  readonly index: number;
  readonly input: JsonObject | undefined;
  readonly rawInput: string;
}

/** Token counts reported by the provider; undefined if it did not report them. */
export interface ModelUsage {
  readonly promptTokens: number | undefined;
  readonly completionTokens: number | undefined;
  readonly totalTokens: number | undefined;
  /** Tokens of the prompt that the provider read from its cache. */
  readonly cachedTokens?: number | undefined;
}

/** Why the answer ended. */
export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter" | "other";

/** A complete answer. */
export interface ModelResult {
  /** The parts to append to the conversation: text, reasoning and tool calls in order. */
  readonly content: readonly AssistantPart[];
  readonly text: string;
  readonly calls: readonly ModelToolCall[];
  readonly finishReason: FinishReason;
  readonly usage: ModelUsage;
  /** The model that answered, as the provider names it. */
  readonly modelId: string;
}

/** Options of a model call. Invalid values throw `invalid_arguments`. */
export interface ModelCallOptions {
  /** Cancels the call. The call rejects with `cancelled`, or with the reason if it is a LoomError. */
  readonly signal?: AbortSignal;
  /**
   * Retries after the first attempt, on status 408, 409, 429 and 5xx, on connection errors and on broken streams, as
   * long as the listener has received nothing. Default: 3.
   */
  readonly maxRetries?: number;
  /**
   * Delay before the first retry in milliseconds; doubles with each retry. A `retry-after` header of the provider takes
   * precedence. Default: 500.
   */
  readonly retryMs?: number;
  /**
   * Longest delay before a retry in milliseconds. The call fails if the provider asks for a longer one. Default:
   * 60,000.
   */
  readonly maxRetryMs?: number;
  /**
   * Time until the provider responds, in milliseconds; `Infinity` for no limit. Throws `model_timeout`. Default:
   * 120,000.
   */
  readonly connectTimeoutMs?: number;
  /**
   * Time between two parts of the stream, in milliseconds; `Infinity` for no limit. Throws `model_timeout`. Default:
   * 120,000.
   */
  readonly idleTimeoutMs?: number;
  /**
   * Limit for the characters of text, reasoning, arguments and provider metadata. Throws `model_output_too_large`.
   * Default: 4,000,000.
   */
  readonly maxOutputCharacters?: number;
  /**
   * How long a reasoning level or structured output that the provider refused is left out of requests to the model, in
   * milliseconds. Default: 600,000.
   */
  readonly refusalMs?: number;
  /** Limit for the tool calls of one answer. Throws `model_output_too_large`. Default: 128. */
  readonly maxToolCalls?: number;
}

/** Names a model: `{ provider: "openai", model: "gpt-5" }`. The string form is `"openai/gpt-5"`. */
export interface ModelName {
  /** `openai`, `anthropic`, `ollama`, `offline`, or any other name of an OpenAI-compatible server with a `baseURL`. */
  readonly provider: string;
  /** Model name. Default: the default model of the provider, if it has one. */
  readonly model?: string;
  /** API address. Default: the environment variable, such as `OPENAI_BASE_URL`, or the usual address of the provider. */
  readonly baseURL?: string;
  /** API key. Default: the provider's environment variable, such as `OPENAI_API_KEY`. */
  readonly apiKey?: string;
  /**
   * The API of an `openai` server: `responses` or `chat`. Default: the variable `OPENAI_API`; without it, `responses`
   * for `api.openai.com` and `chat` for any other address.
   */
  readonly api?: string;
  /** Extra HTTP headers of every request. */
  readonly headers?: { readonly [name: string]: string };
}

/** A model, or the name of one. */
export type ModelChoice = LanguageModel | ModelName | string;
