/**
 * Reads the events of OpenAI's Responses API, one by one. It accepts any order and any fields, as compatible servers
 * send them; what has no event in this protocol is kept as a frame.
 */
import { type JsonObject, LoomError } from "../protocol/index.ts";
import { toJsonObject } from "../protocol/json.ts";
import {
  describeOutput,
  isRepeatedEvent,
  listTexts,
  readCallName,
  readHostedCall,
  toText,
} from "../dialects/openai-responses/output-items.ts";
import type { ModelAnswers } from "./model-answers.ts";

export class ResponseReader {
  readonly #answers: ModelAnswers;
  /** True if another reader reports text, calls and ends. */
  readonly #isPartial: boolean;
  /** Calls of the current answer by their place in it. */
  readonly #calls = new Map<string, { readonly callId: string; readonly name: string }>();
  /** Places of texts that were streamed. */
  readonly #streamed = new Set<string>();

  constructor(answers: ModelAnswers, { isPartial = false }: { readonly isPartial?: boolean } = {}) {
    this.#answers = answers;
    this.#isPartial = isPartial;
  }

  /** Reads an event. Throws `model_failed` if the model failed. */
  take(event: JsonObject): void {
    const answers = this.#answers;
    const type = toText(event["type"]);
    switch (type) {
      case "response.output_text.delta":
        this.#streamed.add(placeOf(event));
        if (!this.#isPartial) answers.say(event["delta"]);
        return;
      case "response.refusal.delta":
        this.#streamed.add(placeOf(event));
        answers.say(event["delta"]);
        return;
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        this.#streamed.add(placeOf(event));
        answers.reason(event["delta"]);
        return;
      case "response.reasoning_summary_part.added":
        if (this.#streamed.has(placeOf(event))) answers.reason("\n\n");
        return;
      case "response.function_call_arguments.delta": {
        const call = this.#calls.get(placeOf(event));
        if (call === undefined) answers.keep(event);
        else answers.addArguments(call.callId, call.name, event["delta"]);
        return;
      }
      case "response.output_item.added":
        this.#addItem(toJsonObject(event["item"]), placeOf(event));
        return;
      default:
        if (isRepeatedEvent(type)) return;
        if (!this.#isPartial) this.#takeWhole(type, event);
        else if (!/^response\.(created|completed|incomplete|failed|output_item\.done)$/.test(type)) answers.keep(event);
    }
  }

  /** Reads the events that begin or end an answer or one of its items. */
  #takeWhole(type: string, event: JsonObject): void {
    const answers = this.#answers;
    const response = toJsonObject(event["response"]);
    switch (type) {
      case "response.created":
        if (answers.isOpen) throw createCut();
        this.#calls.clear();
        this.#streamed.clear();
        answers.begin(response["model"]);
        return;
      case "response.output_item.done":
        this.#takeItem(toJsonObject(event["item"]), placeOf(event));
        return;
      case "response.completed":
      case "response.incomplete":
        this.#finish(response);
        return;
      case "response.failed":
      case "response.cancelled":
        throw createFailure(toJsonObject(response["error"])["code"]);
      case "error":
        throw createFailure(event["code"] ?? toJsonObject(event["error"])["code"]);
      default:
        answers.keep(event);
    }
  }

  /** Reads an output item, or an item that the caller's loop adds to the input of the next answer. */
  takeItem(item: JsonObject): void {
    this.#takeItem(item, "");
  }

  #addItem(item: JsonObject, place: string): void {
    const { type, call_id: callId, name } = item;
    if (type === "function_call" && typeof callId === "string" && typeof name === "string")
      this.#calls.set(place, { callId, name });
  }

  #takeItem(item: JsonObject, place: string): void {
    const answers = this.#answers;
    const type = toText(item["type"]);
    switch (type) {
      case "message":
        if (!this.#streamed.has(place)) for (const part of listTexts(item["content"])) answers.say(part);
        return;
      case "reasoning":
        if (!this.#streamed.has(place)) for (const part of listTexts(item["summary"])) answers.reason(part);
        answers.endReasoning();
        // Only the provider can read it. Without it, the answer is complete all the same.
        if (typeof item["encrypted_content"] === "string") answers.keep(item);
        return;
      case "function_call":
        answers.call(readId(item), readCallName(item), toText(item["arguments"]));
        return;
      case "custom_tool_call":
        answers.call(readId(item), readCallName(item), JSON.stringify({ input: item["input"] ?? "" }));
        return;
      default:
        if (type.endsWith("_output") && typeof item["call_id"] === "string")
          answers.endCall(item["call_id"], describeOutput(item["output"]), { isError: item["is_error"] === true });
        else if (type.endsWith("_call")) this.#takeHosted(item);
        else answers.keep(item);
    }
  }

  /** A call of a tool of the provider. */
  #takeHosted(item: JsonObject): void {
    const answers = this.#answers;
    const callId = readId(item);
    const { name, input, end } = readHostedCall(item);
    answers.call(callId, name, input);
    if (typeof item["result"] === "string") answers.keep(item);
    if (end !== undefined) answers.endCall(callId, end.result, { isError: end.isError });
  }

  #finish(response: JsonObject): void {
    const answers = this.#answers;
    if (!answers.isOpen) answers.begin(response["model"]);
    const usage = toJsonObject(response["usage"]);
    answers.addUsage({
      prompt: usage["input_tokens"],
      completion: usage["output_tokens"],
      total: usage["total_tokens"],
    });
    const { reason } = toJsonObject(response["incomplete_details"]);
    answers.end(reason === "max_output_tokens" ? "length" : typeof reason === "string" ? reason : "stop");
  }
}

/** The error of a stream that ended before its answer. */
export function createCut(cause?: unknown): LoomError {
  return new LoomError("model_stream_cut", "The stream of OpenAI ended before the answer was complete", {}, { cause });
}

/** The error of an answer that failed. It has the code of the provider, but not its message, which may repeat secrets. */
export function createFailure(code: unknown, cause?: unknown): LoomError {
  const known = typeof code === "string" && /^[\w.-]{1,64}$/.test(code) ? `: ${code}` : "";
  return new LoomError("model_failed", `OpenAI ended the answer with an error${known}`, {}, { cause });
}

function placeOf(event: JsonObject): string {
  return toText(event["output_index"] ?? event["item_id"] ?? toJsonObject(event["item"])["id"]);
}

function readId({ call_id: callId, id }: JsonObject): string {
  return typeof callId === "string" ? callId : typeof id === "string" ? id : `call_${crypto.randomUUID()}`;
}
