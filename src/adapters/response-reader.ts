/**
 * Reads the events of OpenAI's Responses API, one by one. The reader of the dialect knows what each item means; it
 * accepts any order and any fields, as compatible servers send them. What has no event in this protocol is kept as a
 * frame.
 */
import { type JsonObject, LoomError } from "../protocol/index.ts";
import { toJsonObject } from "../protocol/json.ts";
import { ItemReader } from "../dialects/openai-responses/item-reader.ts";
import { describeOutput, isRepeatedEvent, toText } from "../dialects/openai-responses/output-items.ts";
import type { ModelAnswers } from "./model-answers.ts";

const ITEM_DONE = "response.output_item.done";
/** Events that another reader reports. */
const REPORTED =
  /^response\.(created|completed|incomplete|failed|output_text\.delta|output_item\.done|function_call_arguments\.done|mcp_call_arguments\..*)$/;

export class ResponseReader {
  readonly #answers: ModelAnswers;
  /** True if another reader reports text, calls and ends. */
  readonly #isPartial: boolean;
  /** Reads the current answer. */
  #items = new ItemReader();
  /** Number of items outside of answers. */
  #given = 0;

  constructor(answers: ModelAnswers, { isPartial = false }: { readonly isPartial?: boolean } = {}) {
    this.#answers = answers;
    this.#isPartial = isPartial;
  }

  /** Reads an event. Throws `model_failed` if the model failed. */
  take(event: JsonObject): void {
    const type = toText(event["type"]);
    if (type === "response.created") this.#items = new ItemReader();
    if (!this.#isPartial) this.#take(type, event);
    else if (!REPORTED.test(type)) this.#takePiece(type, event);
  }

  /** Reads an item that the caller's loop adds to the input of the next answer. */
  takeItem(item: JsonObject): void {
    this.#takeItem({ type: ITEM_DONE, output_index: `given-${++this.#given}`, item });
  }

  #take(type: string, event: JsonObject): void {
    const answers = this.#answers;
    const response = toJsonObject(event["response"]);
    switch (type) {
      case "response.created":
        if (answers.isOpen) throw createCut();
        answers.begin(response["model"]);
        return;
      case ITEM_DONE:
        this.#takeItem(event);
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
        this.#takePiece(type, event);
    }
  }

  #takePiece(type: string, event: JsonObject): void {
    const events = this.#items.read(type, event);
    if (events !== undefined) this.#answers.addEvents(events);
    else if (!isRepeatedEvent(type)) this.#answers.keep(event);
  }

  #takeItem(event: JsonObject): void {
    const { type, call_id: callId, output, is_error: isError } = toJsonObject(event["item"]);
    if (toText(type).endsWith("_output") && typeof callId === "string")
      this.#answers.endCall(callId, describeOutput(output), { isError: isError === true });
    else this.#takePiece(ITEM_DONE, event);
  }

  #finish(response: JsonObject): void {
    const answers = this.#answers;
    if (!answers.isOpen) answers.begin(response["model"]);
    answers.addEvents(this.#items.readUnsent(response["output"]));
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
