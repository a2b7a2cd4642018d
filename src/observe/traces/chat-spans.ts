/**
 * The spans of the model calls of a run. All attempts of a call share one span. A failed attempt stays open until it is
 * known whether another one follows; the end of its node run means that none does.
 */
import type { EventOf, StampedRecord } from "../../protocol/index.ts";
import { type ObservedModelCall, ModelCalls } from "../open-calls.ts";
import { callAll } from "../shield.ts";
import type { RecordedOutput } from "./content-writer.ts";
import { GEN_AI, LOOM, OTHER_ERROR, readModelName } from "./gen-ai.ts";
import type { SpanHost, TraceSpan } from "./trace-span.ts";

interface ChatSpan {
  readonly span: TraceSpan;
  readonly node: string;
  readonly startedAt: number;
  attempts: number;
  firstChunkAt: number | undefined;
  inputTokens: number;
  outputTokens: number;
  hasUsage: boolean;
  /** The failure of the latest attempt. */
  failed: { readonly at: number; readonly message: string; readonly code: string } | undefined;
  /** Of the latest attempt, if content capture is enabled. */
  output: RecordedOutput;
}

export class ChatSpans {
  readonly #host: SpanHost;
  readonly #models = new ModelCalls();
  /** By key of the call. */
  readonly #chats = new Map<string, ChatSpan>();

  constructor(host: SpanHost) {
    this.#host = host;
  }

  get size(): number {
    return this.#chats.size;
  }

  start({ envelope }: StampedRecord, event: EventOf<"llm_start">, isCompacted: boolean): void {
    const { node_id } = envelope;
    const { now, sessionId } = this.#host;
    const call = this.#models.start(event, node_id ?? "", now);
    if (call === undefined) return;
    const known = this.#chats.get(call.key);
    if (known?.failed !== undefined && (event.attempt ?? 0) > 0) {
      known.span.addEvent("loom.retry", { "loom.error.message": known.failed.message }, now);
      known.attempts++;
      known.failed = undefined;
      known.output = { parts: [], characters: 0 };
      return;
    }
    if (known !== undefined) this.#close(call.key, known);
    const { provider, name } = readModelName(event.model ?? "");
    const span = this.#host.startSpan(name === "" ? "chat" : `chat ${name}`, true, {
      [GEN_AI.operation]: "chat",
      [GEN_AI.conversation]: sessionId,
      ...(provider === undefined ? {} : { [GEN_AI.provider]: provider }),
      ...(name === "" ? {} : { [GEN_AI.requestModel]: name }),
      ...(node_id === undefined ? {} : { [LOOM.nodeId]: node_id }),
      ...(event.purpose === undefined ? {} : { [LOOM.purpose]: event.purpose }),
      ...(isCompacted ? { [GEN_AI.isCompacted]: true } : {}),
    });
    if (span === undefined) return;
    this.#chats.set(call.key, {
      span,
      node: call.node,
      startedAt: now,
      attempts: 1,
      firstChunkAt: undefined,
      inputTokens: 0,
      outputTokens: 0,
      hasUsage: false,
      failed: undefined,
      output: { parts: [], characters: 0 },
    });
  }

  /** Called for every token, so it must be cheap. */
  takePiece(record: StampedRecord, event: EventOf<"message_chunk" | "reasoning_chunk" | "tool_call_chunk">): void {
    const chat = this.#findSpeaking(record);
    if (chat === undefined) return;
    chat.firstChunkAt ??= this.#host.now;
    this.#host.content?.takePiece(event, chat.output);
  }

  takeUsage(record: StampedRecord, event: EventOf<"usage">): void {
    const chat =
      event.llm_call_id === undefined ? this.#findSpeaking(record) : this.#find(this.#models.takeUsage(event));
    if (chat === undefined) return;
    chat.hasUsage = true;
    chat.inputTokens += event.prompt_tokens;
    chat.outputTokens += event.completion_tokens;
  }

  /** Returns the output of the only open call in the node run of a record; undefined if there are several. */
  findOutput(record: StampedRecord): RecordedOutput | undefined {
    return this.#findSpeaking(record)?.output;
  }

  end(event: EventOf<"llm_end">): void {
    const call = this.#models.end(event);
    const chat = this.#find(call);
    if (call === undefined || chat === undefined) return;
    const { span } = chat;
    const { now, content } = this.#host;
    const { finish_reason, error, error_code: code, model } = event;
    if (finish_reason !== undefined) span.set(GEN_AI.finishReasons, [finish_reason]);
    if (error !== undefined || finish_reason === "error") {
      const message = this.#host.describeFailure(error, code) ?? code ?? "the model call failed";
      chat.failed = { at: now, message, code: code ?? OTHER_ERROR };
      return;
    }
    if (finish_reason === "cancelled") span.set(LOOM.isCancelled, true);
    else span.set(GEN_AI.responseModel, model === undefined ? undefined : readModelName(model).name);
    span.set(GEN_AI.outputMessages, content?.formatOutput(chat.output, finish_reason));
    this.#endSpan(call.key, chat, now);
  }

  /** Ends the failed calls of a node run. */
  closeFailed(node: string): void {
    this.#closeIf((chat) => chat.failed !== undefined && chat.node === node);
  }

  closeAll(): void {
    this.#closeIf(() => true);
  }

  #find(call: ObservedModelCall | undefined): ChatSpan | undefined {
    return call === undefined ? undefined : this.#chats.get(call.key);
  }

  #findSpeaking({ envelope }: StampedRecord): ChatSpan | undefined {
    return this.#find(this.#models.findSpeaking(envelope.node_id ?? ""));
  }

  #closeIf(matches: (chat: ChatSpan) => boolean): void {
    const found = [...this.#chats].filter(([, chat]) => matches(chat));
    callAll(found, ([key, chat]) => this.#close(key, chat));
  }

  /** Ends a call with no further attempt, or one whose end was not seen. */
  #close(key: string, chat: ChatSpan): void {
    const { span, failed } = chat;
    if (failed === undefined) span.set(LOOM.isIncomplete, true);
    else {
      span.set(GEN_AI.errorType, failed.code);
      span.fail(failed.message);
    }
    this.#endSpan(key, chat, failed?.at ?? this.#host.now);
  }

  #endSpan(key: string, chat: ChatSpan, at: number): void {
    const { span, firstChunkAt } = chat;
    if (firstChunkAt !== undefined) {
      span.set(GEN_AI.stream, true);
      span.set(GEN_AI.firstChunk, Math.max(0, firstChunkAt - chat.startedAt) / 1000);
    }
    if (chat.hasUsage) {
      span.set(GEN_AI.inputTokens, chat.inputTokens);
      span.set(GEN_AI.outputTokens, chat.outputTokens);
    }
    if (chat.attempts > 1) span.set(LOOM.attempts, chat.attempts);
    this.#chats.delete(key);
    span.end(at);
  }
}
