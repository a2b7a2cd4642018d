/**
 * Reads UI message chunks of the AI SDK as events. It knows calls, approvals and sources, but no steps, runs and frames:
 * the decoder of the dialect and the adapter for AI SDK results both use it.
 */
import { BoundedMap } from "../../protocol/bounded-map.ts";
import type { RetrievalCompleteEvent, ToolEndEvent } from "../../protocol/events.generated.ts";
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import { isJsonObject, type JsonObject, toJsonObject } from "../../protocol/json.ts";
import type { AnyEvent } from "../../protocol/record.ts";
import { readText, textOf } from "../frame-traits.ts";
import { DEFAULT_NODE_NAME, splitResult } from "../tool-values.ts";

/** Dialect of chunks that are kept unchanged. */
export const AI_SDK = "ai-sdk";
/** Media type of an image without one; the chunk must have it. */
export const ANY_IMAGE = "image/*";
const MAX_CALLS = 10_000;
const MAX_SOURCES = 1000;
/** Result of a call that the user did not allow. */
export const DENIED = "The call was not allowed";
/** Beginning of the ID of a source that a data part of ours has too, with all its fields. */
export const REPEATED_SOURCE = "loom-source-";
const NO_EVENTS: readonly AnyEvent[] = [];

interface KnownCall {
  readonly name: string;
  input: JsonObject;
  /** `called` once its `tool_call` was read, `ended` once it has a result. */
  state: "streaming" | "called" | "ended";
}

type EndOfCall = Pick<ToolEndEvent, "result" | "output" | "error_code">;
type FoundSource = NonNullable<RetrievalCompleteEvent["sources"]>[number];

/** Reads the chunks of one stream. */
export class ChunkReader {
  readonly #calls = new BoundedMap<KnownCall>(MAX_CALLS);
  /** Calls by the ID of their approval. */
  readonly #approvals = new BoundedMap<string>(MAX_CALLS);
  /** Calls whose approval was not answered yet. */
  readonly #waiting = new BoundedMap<true>(MAX_CALLS);
  readonly #infersAnswers: boolean;
  #sources: FoundSource[] = [];

  /** `infersAnswers`: read the answer to an approval from what follows it, because before version 7 no chunk has it. */
  constructor({ infersAnswers = false }: { readonly infersAnswers?: boolean } = {}) {
    this.#infersAnswers = infersAnswers;
  }

  /** Returns the events of a chunk. A chunk without an equivalent is kept as `foreign`. */
  read(chunk: JsonObject): readonly AnyEvent[] {
    const { type } = chunk;
    switch (type) {
      case "text-delta":
        return [{ type: "message_chunk", content: textOf(chunk["delta"]), id: DEFAULT_NODE_NAME }];
      case "reasoning-delta":
        return [{ type: "reasoning_chunk", content: textOf(chunk["delta"]) }];
      case "reasoning-end":
        return [{ type: "reasoning_end" }];
      case "text-start":
      case "text-end":
      case "reasoning-start":
        return NO_EVENTS;
      case "source-url":
      case "source-document":
        this.#addSource(chunk);
        return NO_EVENTS;
      case "file":
        return [readFile(chunk)];
      default:
    }
    const callId = readText(chunk["toolCallId"]) ?? this.#approvals.get(textOf(chunk["approvalId"]));
    if (callId !== undefined) return this.#readCall(textOf(type), callId, chunk) ?? [keep(chunk)];
    if (typeof type === "string" && type.startsWith("data-")) return [{ type: "custom", value: chunk }];
    return [keep(chunk)];
  }

  /** Returns the sources that were read since the last call, as one event. */
  takeSources(): readonly AnyEvent[] {
    if (this.#sources.length === 0) return NO_EVENTS;
    const sources = this.#sources;
    this.#sources = [];
    return [{ type: "retrieval_complete", doc_count: sources.length, sources }];
  }

  #addSource({ type, url, title, filename, sourceId }: JsonObject): void {
    if (this.#sources.length >= MAX_SOURCES || readText(sourceId)?.startsWith(REPEATED_SOURCE) === true) return;
    const uri = type === "source-url" ? readText(url) : readText(filename);
    const name = readText(title) ?? uri ?? "source";
    this.#sources.push(uri === undefined ? { title: name } : { title: name, uri });
  }

  /** Returns undefined for a chunk of an unknown type. */
  #readCall(type: string, call_id: string, chunk: JsonObject): readonly AnyEvent[] | undefined {
    const known = this.#calls.get(call_id);
    // The framework reports invalid arguments twice.
    if (known?.state === "ended") return NO_EVENTS;
    const name = readText(chunk["toolName"]) ?? known?.name ?? "unknown";
    switch (type) {
      case "tool-input-start":
        this.#calls.set(call_id, { name, input: {}, state: "streaming" });
        return [{ type: "tool_call_chunk", call_id, name, arguments_delta: "" }];
      case "tool-input-delta":
        return [{ type: "tool_call_chunk", call_id, name, arguments_delta: textOf(chunk["inputTextDelta"]) }];
      case "tool-input-available":
        return this.#allow(call_id, name, chunk) ?? this.#call(call_id, name, chunk);
      case "tool-input-error":
        return [
          ...this.#call(call_id, name, chunk),
          this.#end(call_id, name, { result: textOf(chunk["errorText"]), error_code: "invalid_arguments" }),
        ];
      case "tool-approval-request": {
        // A rule of the program answers it at once.
        if (chunk["isAutomatic"] === true) return NO_EVENTS;
        this.#approvals.set(textOf(chunk["approvalId"]), call_id);
        if (this.#infersAnswers) this.#waiting.set(call_id, true);
        return [
          ...this.#ensureCall(call_id, name, chunk),
          {
            type: "tool_approval",
            call_id,
            name,
            arguments: isJsonObject(chunk["input"]) ? chunk["input"] : (known?.input ?? {}),
          },
        ];
      }
      case "tool-approval-response": {
        const reason = readText(chunk["reason"]);
        this.#waiting.delete(call_id);
        return [describeDecision(call_id, name, chunk["approved"] === true, { reason })];
      }
      case "tool-output-available": {
        const output = chunk["output"] ?? null;
        // A call with a result was allowed.
        const opening = this.#allow(call_id, name, {}) ?? this.#ensureCall(call_id, name, chunk);
        if (chunk["preliminary"] === true)
          return [...opening, { type: "tool_output", call_id, name, content: splitResult(output).result }];
        return [...opening, this.#end(call_id, name, splitResult(output), false)];
      }
      case "tool-output-error":
        return [
          ...this.#ensureCall(call_id, name, chunk),
          this.#end(call_id, name, { result: textOf(chunk["errorText"]) }),
        ];
      case "tool-output-denied":
        return [
          ...this.#ensureCall(call_id, name, chunk),
          ...(this.#waiting.delete(call_id) ? [describeDecision(call_id, name, false)] : []),
          this.#end(call_id, name, { result: readText(chunk["reason"]) ?? DENIED, error_code: "tool_rejected" }),
        ];
      default:
        return undefined;
    }
  }

  /**
   * Returns the answer that a chunk shows: an approved call is sent again, with the arguments that the user allowed.
   * Undefined if the call does not wait for an answer.
   */
  #allow(callId: string, name: string, { input }: JsonObject): readonly AnyEvent[] | undefined {
    if (!this.#waiting.delete(callId)) return undefined;
    const known = this.#calls.get(callId)?.input;
    const isEdited = isJsonObject(input) && JSON.stringify(input) !== JSON.stringify(known);
    return [describeDecision(callId, name, true, { arguments: isEdited ? input : undefined })];
  }

  /** Returns the call of a result whose call was not sent, such as one of an earlier turn. */
  #ensureCall(callId: string, name: string, chunk: JsonObject): readonly AnyEvent[] {
    return this.#calls.get(callId)?.state === "called" ? NO_EVENTS : this.#call(callId, name, chunk);
  }

  #end(call_id: string, name: string, about: EndOfCall, is_error = true): AnyEvent {
    const call = this.#calls.get(call_id);
    if (call !== undefined) {
      call.state = "ended";
      call.input = {};
    }
    return { type: "tool_end", call_id, name, is_error, ...about };
  }

  #call(call_id: string, name: string, { input, title }: JsonObject): readonly AnyEvent[] {
    const call: KnownCall = { name, input: toJsonObject(input), state: "called" };
    this.#calls.set(call_id, call);
    const raw_arguments = input === undefined || isJsonObject(input) ? undefined : splitResult(input).result;
    const about = dropUndefined({ raw_arguments, description: readText(title) });
    return [{ type: "tool_call", call_id, name, arguments: call.input, ...about }];
  }
}

function describeDecision(
  call_id: string,
  name: string,
  isApproved: boolean,
  more: { readonly arguments?: JsonObject | undefined; readonly reason?: string | undefined } = {},
): AnyEvent {
  const decision = isApproved ? "approved" : "rejected";
  return dropUndefined({ type: "tool_approval_result", call_id, name, decision, ...more });
}

function keep(frame: JsonObject): AnyEvent {
  return { type: "foreign", dialect: AI_SDK, frame };
}

/** An image is an event; any other file is kept unchanged. */
function readFile(chunk: JsonObject): AnyEvent {
  const { url, mediaType } = chunk;
  if (typeof url !== "string" || typeof mediaType !== "string" || !mediaType.startsWith("image/")) return keep(chunk);
  return { type: "image", url, ...(mediaType === ANY_IMAGE ? {} : { media_type: mediaType }) };
}
