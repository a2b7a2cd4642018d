/**
 * Reads the events of OpenAI's Responses API, one by one. The reader of the dialect knows what each item means; it
 * accepts any order and any fields, as compatible servers send them. What has no event in this protocol is kept as a
 * frame.
 */
import { BoundedMap } from "../protocol/bounded-map.ts";
import { type JsonObject, LoomError } from "../protocol/index.ts";
import { keepFields, toJsonObject, toJsonObjects } from "../protocol/json.ts";
import { readText } from "../dialects/frame-traits.ts";
import { ItemReader } from "../dialects/openai-responses/item-reader.ts";
import { describeOutput, isRepeatedEvent, toText } from "../dialects/openai-responses/output-items.ts";
import type { ModelAnswers } from "./model-answers.ts";

const ITEM_ADDED = "response.output_item.added";
const ITEM_DONE = "response.output_item.done";
const TEXT_DELTA = /^response\.(output_text|refusal|reasoning\w*_text)\.delta$/;
const MAX_ITEMS = 10_000;
/** Events that another reader reports. */
const REPORTED =
  /^response\.(created|completed|incomplete|failed|output_text\.delta|output_item\.done|function_call_arguments\.done|mcp_call_arguments\..*)$/;

/** An item of the current answer. */
interface PlacedItem {
  /** Unique in the stream. */
  readonly position: number;
  id: string | undefined;
  callId: string | undefined;
  isDone: boolean;
}

export class ResponseReader {
  readonly #answers: ModelAnswers;
  /** True if another reader reports text, calls and ends. */
  readonly #isPartial: boolean;
  /** Reads the current answer. */
  #items = new ItemReader();
  /** The latest item at each position or ID of the server. */
  #placed = new BoundedMap<PlacedItem>(MAX_ITEMS);
  /** Number of items of the stream. */
  #count = 0;
  /** True once the current answer is complete: another may follow without `response.created`. */
  #isComplete = false;

  constructor(answers: ModelAnswers, { isPartial = false }: { readonly isPartial?: boolean } = {}) {
    this.#answers = answers;
    this.#isPartial = isPartial;
  }

  /** Reads an event. Throws `model_failed` if the model failed. */
  take(event: JsonObject): void {
    const type = toText(event["type"]);
    if (type === "response.created" || this.#isComplete) this.#reset();
    if (!this.#isPartial) this.#take(type, event);
    else if (!REPORTED.test(type)) this.#takePiece(type, event);
  }

  /** Reads an item that the caller's loop adds to the input of the next answer. */
  takeItem(item: JsonObject): void {
    this.#readItem(this.#count++, item);
  }

  #reset(): void {
    this.#items = new ItemReader();
    this.#placed = new BoundedMap<PlacedItem>(MAX_ITEMS);
    this.#isComplete = false;
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
    const item = withoutLoom(toJsonObject(event["item"]));
    const events = this.#items.read(type, { ...withoutLoom(event), item, output_index: this.#locate(type, event) });
    if (events !== undefined) this.#answers.addEvents(events, event);
    else if (!isRepeatedEvent(type)) this.#answers.keep(event);
  }

  #takeItem(event: JsonObject): void {
    this.#readItem(this.#locate(ITEM_DONE, event), toJsonObject(event["item"]));
  }

  #readItem(output_index: number | string, item: JsonObject): void {
    const { type, call_id: callId, output, is_error: isError, status } = item;
    if (toText(type).endsWith("_output") && typeof callId === "string")
      this.#answers.endCall(callId, describeOutput(output), { isError: isError === true });
    // The caller's loop answers it.
    else if (type === "mcp_approval_request") this.#answers.keep(item);
    else {
      const known = { ...withoutLoom(item), status: status ?? "completed" };
      this.#answers.addEvents(this.#items.read(ITEM_DONE, { output_index, item: known }) ?? [], item);
    }
  }

  /** Returns the position of the item of an event: servers repeat positions, or leave them out. Empty if unknown. */
  #locate(type: string, event: JsonObject): number | string {
    const { output_index: index, item_id: itemId } = event;
    const item = toJsonObject(event["item"]);
    const key = toText(index ?? itemId ?? item["id"]);
    const known = this.#placed.get(key);
    const isItem = type === ITEM_ADDED || type === ITEM_DONE;
    if (!isItem && !TEXT_DELTA.test(type)) return known?.position ?? "";
    const id = readText(item["id"] ?? itemId);
    const callId = readText(item["call_id"]);
    const isNew = known === undefined || isOther(known, { type, id, callId });
    const placed = isNew ? { position: this.#count++, id: undefined, callId: undefined, isDone: false } : known;
    if (isNew) this.#placed.set(key, placed);
    if (isItem)
      Object.assign(placed, {
        id: id ?? placed.id,
        callId: callId ?? placed.callId,
        isDone: type === ITEM_DONE || placed.isDone,
      });
    return placed.position;
  }

  #finish(response: JsonObject): void {
    const answers = this.#answers;
    if (!answers.isOpen) answers.begin(response["model"]);
    // Compatible servers send items only in the final output.
    if (this.#placed.size === 0)
      for (const [output_index, item] of toJsonObjects(response["output"]).entries())
        this.#takeItem({ output_index, item });
    this.#isComplete = true;
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

/**
 * True if an event begins another item at the position of this one. Some servers change the ID of an item before it is
 * done.
 */
function isOther(
  known: PlacedItem,
  { type, id, callId }: Pick<PlacedItem, "id" | "callId"> & { readonly type: string },
): boolean {
  const differs = (before: string | undefined, now: string | undefined): boolean =>
    before !== undefined && now !== undefined && before !== now;
  if (differs(known.callId, callId) || (type === ITEM_ADDED && differs(known.id, id))) return true;
  const isSame = (id !== undefined && id === known.id) || (callId !== undefined && callId === known.callId);
  return known.isDone && !isSame;
}

/** Another server may send fields with the name of those of this package. */
function withoutLoom(fields: JsonObject): JsonObject {
  return keepFields(fields, (name) => name !== "loom");
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
