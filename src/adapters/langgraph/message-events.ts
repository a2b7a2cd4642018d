/**
 * Turns the messages of a LangGraph run into events: text, reasoning, tool calls with their arguments as they stream,
 * model calls and tokens. A message is complete when its node ends, when its next step begins, or when a later message
 * of the node proves it.
 */
import { readToolInput } from "../../models/answer-calls.ts";
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import { cutText } from "../../protocol/cut-text.ts";
import type { SourceEvent } from "../source.ts";
import type { GraphCalls } from "./graph-calls.ts";
import { callsOf, isChunk, type MessageFields, toFields } from "./langchain-message.ts";

/** Where a message comes from. */
export interface MessageOrigin {
  /** Key of its node run. */
  readonly node: string | undefined;
  /** Metadata of the `messages` mode. */
  readonly metadata: { readonly [name: string]: unknown };
}

interface StreamedCall {
  readonly id: string | undefined;
  readonly callId: string;
  readonly index: number;
  name: string;
  text: string;
}

interface StreamedMessage {
  readonly id: string;
  readonly node: string | undefined;
  /** True if a model wrote it. */
  readonly isModel: boolean;
  readonly calls: StreamedCall[];
  /** Tokens of the prompt and of the answer, if they are known. */
  tokens: { prompt: number; completion: number; total: number } | undefined;
  model: string | undefined;
  finishReason: string | undefined;
  isReasoning: boolean;
}

/** Characters of a piece of text. */
const MAX_PIECE_LENGTH = 128 * 1024;

/** Blocks that repeat `tool_call_chunks` in the form of a provider. */
const CALL_BLOCKS: ReadonlySet<unknown> = new Set([
  "tool_use",
  "tool_call",
  "tool_call_chunk",
  "input_json_delta",
  "function_call",
  "functionCall",
]);

const FINISH_REASONS: { readonly [reason: string]: string } = {
  end_turn: "stop",
  stop_sequence: "stop",
  max_tokens: "length",
  tool_use: "tool_calls",
  function_call: "tool_calls",
  refusal: "content_filter",
  safety: "content_filter",
};

export class MessageEvents {
  readonly #emit: (event: SourceEvent, node: string | undefined) => void;
  readonly #keep: (frame: unknown, node: string | undefined) => void;
  readonly #calls: GraphCalls;
  readonly #open = new Map<string, StreamedMessage>();
  /** Node runs that have sent text. */
  readonly #spoken = new Set<string | undefined>();
  /** IDs of complete messages, and messages without an ID. */
  readonly #seenIds = new Set<string>();
  readonly #seen = new WeakSet<object>();

  constructor(
    emit: (event: SourceEvent, node: string | undefined) => void,
    keep: (frame: unknown, node: string | undefined) => void,
    calls: GraphCalls,
  ) {
    this.#emit = emit;
    this.#keep = keep;
    this.#calls = calls;
  }

  /** Marks a message that was part of the input. */
  see(message: MessageFields): void {
    if (typeof message.id === "string") this.#seenIds.add(message.id);
    this.#seen.add(message);
  }

  hasSeen(message: MessageFields): boolean {
    const { id } = message;
    return this.#seen.has(message) || (typeof id === "string" && (this.#seenIds.has(id) || this.#open.has(id)));
  }

  /** True if the node run has sent text. */
  hasSpoken(node: string): boolean {
    return this.#spoken.has(node);
  }

  /** Adds a message of a model, or a piece of one. A complete message that was streamed is ignored. */
  add(message: MessageFields, { node, metadata }: MessageOrigin): void {
    const isWhole = !isChunk(message);
    if (isWhole && this.hasSeen(message)) return;
    const id = typeof message.id === "string" ? message.id : crypto.randomUUID();
    const open = this.#open.get(id) ?? this.#begin(id, node, metadata);
    this.#seen.add(message);
    this.#addContent(message, open);
    this.#addCalls(message, open);
    this.#addMetadata(message, open);
    if (isWhole) this.#end(open);
  }

  /** Completes the messages of a node run. */
  endIn(node: string): void {
    this.#spoken.delete(node);
    for (const message of this.#open.values()) if (message.node === node) this.#end(message);
  }

  /** Completes the message that makes this call. */
  endWith(callId: unknown): void {
    for (const message of this.#open.values()) if (message.calls.some(({ id }) => id === callId)) this.#end(message);
  }

  endAll(): void {
    for (const message of this.#open.values()) this.#end(message);
  }

  #begin(id: string, node: string | undefined, metadata: MessageOrigin["metadata"]): StreamedMessage {
    // Parallel calls of one node interleave, so only a message with its last piece is complete.
    for (const other of this.#open.values())
      if (other.node === node && (other.finishReason !== undefined || other.tokens !== undefined)) this.#end(other);
    const { ls_model_type, ls_provider, ls_model_name } = metadata;
    const model = typeof ls_model_name === "string" ? ls_model_name : undefined;
    const message: StreamedMessage = {
      id,
      node,
      isModel: ls_model_type !== undefined || ls_provider !== undefined,
      calls: [],
      tokens: undefined,
      model,
      finishReason: undefined,
      isReasoning: false,
    };
    this.#open.set(id, message);
    if (message.isModel) this.#emit(dropUndefined({ type: "llm_start", llm_call_id: id, model }), node);
    return message;
  }

  #addContent({ content, additional_kwargs }: MessageFields, open: StreamedMessage): void {
    const { reasoning_content, reasoning } = toFields(additional_kwargs);
    this.#reason(reasoning_content, open);
    this.#reason(joinSummary(toFields(reasoning)["summary"]), open);
    if (typeof content === "string") this.#say(content, open);
    else if (Array.isArray(content)) for (const block of content as unknown[]) this.#addBlock(block, open);
  }

  #addBlock(block: unknown, open: StreamedMessage): void {
    const { type, text, reasoning, thinking, summary } = toFields(block);
    if (typeof block === "string" || type === "text") this.#say(typeof block === "string" ? block : text, open);
    else if (type === "reasoning" || type === "thinking") {
      const said = reasoning ?? thinking ?? joinSummary(summary);
      if (typeof said === "string" && said !== "") this.#reason(said, open);
      else this.#keep({ mode: "messages", block }, open.node);
    } else if (!CALL_BLOCKS.has(type)) this.#keep({ mode: "messages", block }, open.node);
  }

  #say(text: unknown, open: StreamedMessage): void {
    if (typeof text !== "string" || text === "") return;
    this.#endReasoning(open);
    this.#spoken.add(open.node);
    // A message without streaming may be larger than an event.
    for (let rest = text; rest !== "";) {
      const content = cutText(rest, MAX_PIECE_LENGTH);
      this.#emit({ type: "message_chunk", content, id: "" }, open.node);
      rest = rest.slice(content.length);
    }
  }

  #reason(text: unknown, open: StreamedMessage): void {
    if (typeof text !== "string" || text === "") return;
    open.isReasoning = true;
    this.#emit({ type: "reasoning_chunk", content: text }, open.node);
  }

  #endReasoning(open: StreamedMessage): void {
    if (!open.isReasoning) return;
    open.isReasoning = false;
    this.#emit({ type: "reasoning_end" }, open.node);
  }

  #addCalls(message: MessageFields, open: StreamedMessage): void {
    const { tool_call_chunks: pieces } = message;
    if (Array.isArray(pieces) && pieces.length > 0) {
      this.#endReasoning(open);
      for (const piece of pieces as unknown[]) this.#addPiece(piece, open);
      return;
    }
    for (const { id, name, input } of callsOf(message)) {
      this.#endReasoning(open);
      const callId = id ?? crypto.randomUUID();
      open.calls.push({ id, callId, index: open.calls.length, name, text: JSON.stringify(input) });
    }
  }

  #addPiece(piece: unknown, open: StreamedMessage): void {
    const { id, index, name, args } = toFields(piece);
    const text = typeof args === "string" ? args : "";
    const named = typeof name === "string" ? name : "";
    let call = open.calls.find((known) => (typeof index === "number" ? known.index === index : known.id === id));
    // A piece without index and ID belongs to the last call.
    if (call === undefined && typeof index !== "number" && typeof id !== "string") call = open.calls.at(-1);
    if (call === undefined) {
      const own = typeof id === "string" && id !== "" ? id : undefined;
      const at = typeof index === "number" ? index : open.calls.length;
      call = { id: own, callId: own ?? crypto.randomUUID(), index: at, name: named, text };
      open.calls.push(call);
    } else {
      call.name += call.name === "" ? named : "";
      call.text += text;
    }
    const { callId, name: tool } = call;
    if (text !== "")
      this.#emit(
        { type: "tool_call_chunk", call_id: callId, ...(tool === "" ? {} : { name: tool }), arguments_delta: text },
        open.node,
      );
  }

  #addMetadata({ usage_metadata, response_metadata }: MessageFields, open: StreamedMessage): void {
    const { input_tokens, output_tokens, total_tokens } = toFields(usage_metadata);
    if (isCount(input_tokens) || isCount(output_tokens)) {
      const prompt = isCount(input_tokens) ? input_tokens : 0;
      const completion = isCount(output_tokens) ? output_tokens : 0;
      open.tokens ??= { prompt: 0, completion: 0, total: 0 };
      open.tokens.prompt += prompt;
      open.tokens.completion += completion;
      open.tokens.total += isCount(total_tokens) ? total_tokens : prompt + completion;
    }
    const { finish_reason, finishReason, stop_reason, stopReason, done_reason, model_name, model } =
      toFields(response_metadata);
    const reason = finish_reason ?? finishReason ?? stop_reason ?? stopReason ?? done_reason;
    if (typeof reason === "string" && reason !== "") open.finishReason = readReason(reason);
    const used = model_name ?? model;
    if (typeof used === "string" && used !== "") open.model = used;
  }

  #end(open: StreamedMessage): void {
    const { id, node, isModel, tokens, model, finishReason } = open;
    this.#open.delete(id);
    this.#seenIds.add(id);
    this.#endReasoning(open);
    for (const call of open.calls) this.#endCall(call, node);
    if (isModel)
      this.#emit(dropUndefined({ type: "llm_end", llm_call_id: id, model, finish_reason: finishReason }), node);
    if (tokens === undefined) return;
    const { prompt, completion, total } = tokens;
    this.#emit(
      { type: "usage", prompt_tokens: prompt, completion_tokens: completion, total_tokens: total, llm_call_id: id },
      node,
    );
  }

  #endCall({ id, callId, name, text }: StreamedCall, node: string | undefined): void {
    // Pieces without the name of a tool are not a call.
    if (name === "") return this.#keep({ mode: "messages", tool_call: { id: callId, args: text } }, node);
    const input = readToolInput(text);
    this.#calls.add(id ?? callId, {
      callId,
      name,
      input: input ?? {},
      ...(input === undefined ? { rawInput: text } : {}),
      node,
    });
  }
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function readReason(reason: string): string {
  const name = reason.toLowerCase();
  return FINISH_REASONS[name] ?? name;
}

function joinSummary(summary: unknown): string {
  if (!Array.isArray(summary)) return "";
  return summary
    .map((part: unknown) => toFields(part)["text"])
    .filter((text) => typeof text === "string")
    .join("");
}
