/**
 * Translates the parts of an AI SDK stream into events. It accepts the parts of `streamText` and UI message chunks; most
 * differ only in the names of their fields. A step of the framework is a node run with one model call.
 */
import { ChunkReader } from "../dialects/ai-sdk/chunk-reader.ts";
import { isCount } from "../dialects/frame-traits.ts";
import { type Json, type JsonObject, LoomError } from "../protocol/index.ts";
import { isJsonObject } from "../protocol/json.ts";
import { describeFailure } from "../tools/describe-failure.ts";
import { toJson } from "../tools/to-json.ts";
import type { SourceCall, SourceEvent } from "./source.ts";

/** A part as the framework sends it: its values need not be JSON. */
export interface AISDKPart {
  readonly type?: unknown;
  readonly [field: string]: unknown;
}

const NO_EVENTS: readonly SourceEvent[] = [];
/** Parts that say nothing about the run. */
const IGNORED: ReadonlySet<unknown> = new Set(["ping", "tool-input-end", "tool-approval-response"]);

/** Parts after which a call does not need the client. */
const HAS_RESULT: ReadonlySet<unknown> = new Set([
  "tool-result",
  "tool-error",
  "tool-output-available",
  "tool-output-error",
  "tool-output-denied",
]);

const FINISH_REASONS: { readonly [reason: string]: string } = {
  "tool-calls": "tool_calls",
  "content-filter": "content_filter",
};

/** The parts of one run, also over several streams if the run waits for approvals. */
export class AISDKParts {
  readonly #chunks = new ChunkReader();
  /** Makes the IDs of model calls unique within a session. */
  readonly #prefix = crypto.randomUUID().slice(0, 8);
  #steps = 0;
  /** Key of the open node run. */
  #node: string | undefined;
  /** ID of the running model call. */
  #call: string | undefined;
  /** Open approvals by the ID of their call. */
  readonly approvals = new Map<string, string>();
  /** Tools of the calls without a result, by call ID. If the stream ends with one, the client carries it out. */
  readonly #open = new Map<string, string>();

  /** Returns the events of a part. Throws the error of an `error` part, and when the framework aborts the run. */
  read(part: AISDKPart): readonly SourceEvent[] {
    const { type } = part;
    switch (type) {
      case "start":
        return part["messageMetadata"] == null ? NO_EVENTS : this.#keep(part);
      case "start-step":
        return this.#startStep();
      case "finish-step":
        return this.#finishStep(part);
      case "finish":
        if (part["finishReason"] === "error") throw new LoomError("model_failed", "The model stopped with an error");
        return [...(part["messageMetadata"] == null ? NO_EVENTS : this.#keep(part)), ...this.end()];
      case "error":
        // A UI message stream has a text for users; the text of an error is not for them.
        if (typeof part["errorText"] === "string") throw new LoomError("model_failed", part["errorText"]);
        throw part["error"];
      case "abort":
        throw new LoomError("run_failed", "The framework aborted the run");
      case "tool-approval-request":
        this.#noteApproval(part);
        break;
      default:
        if (IGNORED.has(type)) return NO_EVENTS;
    }
    this.#noteCall(part);
    return this.#place(this.#chunks.read(toChunk(part)));
  }

  /** Returns the approval request of a call that an earlier process of the run has made. */
  askAgain({ callId, name, arguments: input = {} }: SourceCall): readonly SourceEvent[] {
    this.approvals.set(callId, callId);
    const request = { type: "tool-approval-request", approvalId: callId, toolCallId: callId, toolName: name, input };
    return this.#chunks.read(request).filter(({ type }) => type !== "tool_call");
  }

  /** Returns the start of an approved call, which the framework runs without saying so. */
  start(call_id: string, name: string): readonly SourceEvent[] {
    return this.#place([{ type: "tool_start", call_id, name }]);
  }

  /** The event of a piece of text: the short way for what most parts are. */
  createText(content: string): SourceEvent {
    const node = this.#node;
    const event = { type: "message_chunk", content, id: "" };
    return node === undefined ? event : { ...event, node };
  }

  /** Returns the events that end the open step. It stays open while calls wait for approval or for the client. */
  end(): readonly SourceEvent[] {
    const handed = [...this.#open].map(([call_id, name]) => ({
      type: "tool_start",
      call_id,
      name,
      executor: "client",
    }));
    const events = [...this.#place(this.#chunks.takeSources()), ...this.#endCall({}), ...this.#place(handed)];
    this.#open.clear();
    return this.approvals.size > 0 || handed.length > 0 ? events : [...events, ...this.#exit()];
  }

  /** A call that the provider carries out has its result in the same stream, and so has one with `execute`. */
  #noteCall({ type, id, toolCallId = id, toolName, invalid, providerExecuted }: AISDKPart): void {
    const callId = String(toolCallId);
    const isMade = type === "tool-call" || type === "tool-input-available";
    if (isMade && invalid !== true && providerExecuted !== true) this.#open.set(callId, String(toolName));
    else if (HAS_RESULT.has(type)) this.#open.delete(callId);
  }

  #startStep(): readonly SourceEvent[] {
    this.approvals.clear();
    this.#open.clear();
    const closing = this.end();
    const step = `${this.#prefix}-${++this.#steps}`;
    this.#node = step;
    this.#call = step;
    return [
      ...closing,
      { type: "node_enter", id: "step", node: step },
      { type: "llm_start", llm_call_id: step, node: step },
    ];
  }

  #finishStep({ usage, finishReason, response }: AISDKPart): readonly SourceEvent[] {
    const events: SourceEvent[] = [...this.#place(this.#chunks.takeSources())];
    const { inputTokens, outputTokens, totalTokens } = Object(usage) as { readonly [count: string]: unknown };
    if (this.#call !== undefined && (isCount(inputTokens) || isCount(outputTokens))) {
      const prompt_tokens = isCount(inputTokens) ? inputTokens : 0;
      const completion_tokens = isCount(outputTokens) ? outputTokens : 0;
      const total_tokens = isCount(totalTokens) ? totalTokens : prompt_tokens + completion_tokens;
      const counts = { prompt_tokens, completion_tokens, total_tokens, llm_call_id: this.#call };
      events.push(...this.#place([{ type: "usage", ...counts }]));
    }
    const { modelId } = Object(response) as { readonly modelId?: unknown };
    events.push(
      ...this.#endCall({
        ...(typeof modelId === "string" ? { model: modelId } : {}),
        ...(typeof finishReason === "string" ? { finish_reason: FINISH_REASONS[finishReason] ?? finishReason } : {}),
      }),
    );
    return this.approvals.size > 0 || this.#open.size > 0 ? events : [...events, ...this.#exit()];
  }

  #endCall(about: JsonObject): readonly SourceEvent[] {
    const call = this.#call;
    this.#call = undefined;
    return call === undefined ? NO_EVENTS : this.#place([{ type: "llm_end", llm_call_id: call, ...about }]);
  }

  #exit(): readonly SourceEvent[] {
    const node = this.#node;
    this.#node = undefined;
    return node === undefined ? NO_EVENTS : [{ type: "node_exit", id: "step", result: "Ok", node }];
  }

  #noteApproval({
    approvalId,
    toolCall,
    toolCallId = readField(toolCall, "toolCallId"),
    isAutomatic,
  }: AISDKPart): void {
    if (isAutomatic === true) return;
    this.approvals.set(String(toolCallId), String(approvalId));
    this.#open.delete(String(toolCallId));
  }

  #keep(part: AISDKPart): readonly SourceEvent[] {
    return this.#place([{ type: "foreign", dialect: "ai-sdk", frame: part as JsonObject }]);
  }

  #place(events: readonly SourceEvent[]): readonly SourceEvent[] {
    const node = this.#node;
    return node === undefined ? events : events.map((event) => ({ ...event, node }));
  }
}

/** Returns the part of a `streamText` stream with the names of UI message chunks, which are returned unchanged. */
function toChunk(part: AISDKPart): JsonObject {
  const { type, text, id, delta, toolCallId = id, inputTextDelta = delta } = part;
  switch (type) {
    case "text-delta":
    case "reasoning-delta":
      return asJson({ type, delta: text ?? delta });
    case "tool-input-start":
      return asJson({ ...part, toolCallId });
    case "tool-input-delta":
      return asJson({ type, toolCallId, inputTextDelta });
    case "tool-call":
      if (part["invalid"] !== true) return asJson({ ...part, type: "tool-input-available" });
      return asJson({ ...part, type: "tool-input-error", errorText: describeFailure(part["error"]) });
    case "tool-result":
      return asJson({ ...part, type: "tool-output-available", output: toJson(part["output"]).value });
    case "tool-error":
      return asJson({ ...part, type: "tool-output-error", errorText: describeFailure(part["error"]) });
    case "tool-approval-request": {
      const call = part["toolCall"];
      if (call === undefined) return asJson(part);
      const fields = { toolCallId: readField(call, "toolCallId"), toolName: readField(call, "toolName") };
      return asJson({ ...part, ...fields, input: readField(call, "input"), toolCall: undefined });
    }
    case "source": {
      const { sourceType, id: sourceId, ...source } = part;
      return asJson({ ...source, type: `source-${String(sourceType)}`, sourceId });
    }
    case "file":
    case "reasoning-file": {
      const { file, ...rest } = part;
      if (!isJsonObject(file)) return asJson(part);
      const { mediaType, base64 } = file as { readonly mediaType: string; readonly base64: string };
      return asJson({ ...rest, url: `data:${mediaType};base64,${base64}`, mediaType });
    }
    default:
      return asJson(part);
  }
}

/** The recorder writes events as JSON, and rejects what JSON cannot represent. */
function asJson(value: object): JsonObject {
  return value as JsonObject;
}

function readField(value: unknown, name: string): Json | undefined {
  return (Object(value) as { readonly [name: string]: Json | undefined })[name];
}
