/** A source from the streams of the `openai` package: Responses events, chat completion chunks, and the caller's tool results. */
import { isLoomError, type JsonObject, LoomError } from "../protocol/index.ts";
import { toJsonObject } from "../protocol/json.ts";
import { describeStatus, isNetworkError } from "../models/model-fault.ts";
import { ChatReader } from "./chat-reader.ts";
import { ModelAnswers } from "./model-answers.ts";
import { describeOutput, toText } from "../dialects/openai-responses/output-items.ts";
import { createCut, createFailure, ResponseReader } from "./response-reader.ts";
import { describeFound, type ForeignSource, type SourceContext, type SourceEvent } from "./source.ts";

/** The result of a function call, as a tool loop passes it to the next request. */
export interface OpenAICallOutput {
  readonly type: "function_call_output";
  readonly call_id: string;
  readonly output: string | readonly object[];
  /** True if the tool failed. OpenAI does not know this field; leave it out of the request. */
  readonly is_error?: boolean;
}

/** The result of a function call, as a message of the chat completions API. */
export interface OpenAIToolMessage {
  readonly role: "tool";
  readonly tool_call_id: string;
  readonly content: string | readonly object[];
  /** True if the tool failed. OpenAI does not know this field; leave it out of the request. */
  readonly is_error?: boolean;
}

/** An event of a Responses stream, a chat completion chunk, or the result of a function call. */
export type OpenAIStreamItem =
  | { readonly type: string }
  | { readonly object: "chat.completion.chunk" }
  | OpenAICallOutput
  | OpenAIToolMessage;

/** A stream of the `openai` package, or a generator that yields the items of several and the results of tools. */
export type OpenAIStream = AsyncIterable<OpenAIStreamItem>;

/** What to record: a stream, its promise, or a function that creates one and receives the signal of the run. */
export type OpenAIInput =
  | OpenAIStream
  | PromiseLike<OpenAIStream>
  | ((context: SourceContext) => OpenAIStream | PromiseLike<OpenAIStream>);

/**
 * Creates a source from a stream of the `openai` package. Both APIs are recognized by their events.
 *
 * ```ts
 * const run = await record(log, { sessionId: "chat-7", message }, fromOpenAI(({ signal }) =>
 *   client.responses.create({ model, input, stream: true }, { signal }),
 * ));
 * ```
 *
 * OpenAI executes no functions: a call without a result is recorded and closed as not executed. A generator that runs
 * tools yields the events of every answer and a `function_call_output` per call. A stream that ends before its answer
 * is complete fails the run with `model_stream_cut`.
 */
export function fromOpenAI(input: OpenAIInput): ForeignSource {
  // The rejection is handled when the source starts.
  if (typeof input !== "function") void Promise.resolve(input).then(undefined, () => undefined);
  return {
    framework: "openai",
    async *start(context) {
      const reader = new OpenAIReader();
      const { signal } = context;
      let stop: (() => void) | undefined;
      try {
        const stream: unknown = await (typeof input === "function" ? input(context) : input);
        assertStream(stream);
        stop = () => abortRequest(stream);
        signal.addEventListener("abort", stop, { once: true });
        for await (const item of stream) {
          reader.take(item);
          yield* reader.drain();
        }
        reader.end();
        yield* reader.drain();
      } catch (error) {
        throw describeFailure(error);
      } finally {
        if (stop !== undefined) signal.removeEventListener("abort", stop);
      }
    },
  };
}

function assertStream(value: unknown): asserts value is AsyncIterable<unknown> {
  const isObject = typeof value === "object" && value !== null;
  if (isObject && (Symbol.asyncIterator in value || Symbol.iterator in value)) return;
  const what = "`fromOpenAI` needs a stream, such as that of `responses.create` with `stream: true`";
  throw new LoomError("invalid_arguments", `${what}, not ${describeFound(value)}`);
}

/** Ends the request of a stream that was created without the signal of the run. */
function abortRequest(stream: object): void {
  const { controller } = stream as { readonly controller?: unknown };
  if (controller instanceof AbortController) controller.abort();
}

class OpenAIReader {
  readonly #answers = new ModelAnswers("openai");
  readonly #responses = new ResponseReader(this.#answers);
  readonly #chat = new ChatReader(this.#answers);

  drain(): readonly SourceEvent[] {
    return this.#answers.drain();
  }

  take(value: unknown): void {
    const item = toJsonObject(value);
    if (Array.isArray(item["choices"]) || (item["error"] != null && item["type"] === undefined)) {
      this.#chat.take(item);
      return;
    }
    this.#chat.flush();
    if (item["role"] === "tool") this.#takeMessage(item);
    else if (isEvent(item)) this.#responses.take(item);
    else if (typeof item["type"] === "string") this.#responses.takeItem(item);
    else this.#answers.keep(value);
  }

  /** Throws `model_stream_cut` unless at least one answer has ended and none is open. */
  end(): void {
    this.#chat.flush();
    if (this.#answers.isOpen || this.#answers.count === 0) throw createCut();
    this.#answers.close();
  }

  #takeMessage(message: JsonObject): void {
    const { tool_call_id: callId, content, is_error: isError } = message;
    this.#answers.endCall(toText(callId), describeOutput(content), { isError: isError === true });
  }
}

function isEvent({ type }: JsonObject): boolean {
  return type === "error" || (typeof type === "string" && type.startsWith("response."));
}

/**
 * Returns the error for a run whose stream failed. The messages of the package may repeat keys and requests, so only
 * status and code are taken.
 */
export function describeFailure(error: unknown): unknown {
  if (isLoomError(error) || !(error instanceof Error)) return error;
  const { status, code, headers } = error as { readonly status?: unknown; readonly code?: unknown; headers?: unknown };
  if (typeof status === "number")
    return new LoomError(
      describeStatus(status).code,
      `OpenAI responded with status ${status}`,
      { status },
      { cause: error },
    );
  if (isNetworkError(error)) return createCut(error);
  return headers === undefined ? error : createFailure(code, error);
}
