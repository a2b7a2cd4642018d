/**
 * The tool calls of a run: their approvals, and a span for each call that ran. A call that was rejected, or whose start
 * was not seen here, has no span; it becomes an event on the span of the run.
 */
import type { EventOf, StampedRecord } from "../../protocol/index.ts";
import { type ToolChange, ToolCalls, type ToolEvent } from "../open-calls.ts";
import { callAll } from "../shield.ts";
import type { RecordedOutput } from "./content-writer.ts";
import { GEN_AI, LOOM, OTHER_ERROR } from "./gen-ai.ts";
import type { SpanHost, TraceSpan } from "./trace-span.ts";

export class ToolSpans {
  readonly #host: SpanHost;
  readonly #tools = new ToolCalls();
  /** By key of the call. */
  readonly #spans = new Map<string, TraceSpan>();

  constructor(host: SpanHost) {
    this.#host = host;
  }

  get size(): number {
    return this.#spans.size;
  }

  /** Number of approvals without a decision. */
  get waiting(): number {
    return this.#tools.waiting;
  }

  /** `madeBy` is the output of the model that made the call. */
  takeCall(event: EventOf<"tool_call">, madeBy: RecordedOutput | undefined): void {
    const call = this.#take(event)?.call;
    if (call !== undefined) this.#host.content?.takeCall(call.key, event, madeBy);
  }

  takeApproval(event: EventOf<"tool_approval" | "tool_approval_result">): void {
    const call = this.#take(event)?.call;
    if (event.type === "tool_approval") return;
    if (call !== undefined) this.#host.content?.takeAnswer(call.key, event);
    this.#host.addEvent("loom.approval", {
      [LOOM.approvalDecision]: event.decision,
      ...(event.call_id === undefined ? {} : { [GEN_AI.callId]: event.call_id }),
      ...(event.name === undefined ? {} : { [GEN_AI.toolName]: event.name }),
      ...(call?.waitMs === undefined ? {} : { [LOOM.approvalWait]: call.waitMs }),
    });
  }

  start({ envelope }: StampedRecord, event: EventOf<"tool_start">): void {
    const call = this.#take(event)?.call;
    if (call === undefined) return;
    const { key, waitMs, decision } = call;
    const { name, call_id } = event;
    const before = this.#spans.get(key);
    if (before !== undefined) this.#cut(key, before);
    const span = this.#host.startSpan(`execute_tool ${name}`, false, {
      [GEN_AI.operation]: "execute_tool",
      [GEN_AI.toolName]: name,
      [GEN_AI.toolType]: "function",
      [GEN_AI.conversation]: this.#host.sessionId,
      ...(call_id === undefined ? {} : { [GEN_AI.callId]: call_id }),
      ...(envelope.node_id === undefined ? {} : { [LOOM.nodeId]: envelope.node_id }),
      ...(waitMs === undefined ? {} : { [LOOM.approvalWait]: waitMs }),
      ...(decision === undefined ? {} : { [LOOM.approvalDecision]: decision }),
    });
    if (span === undefined) return;
    this.#spans.set(key, span);
    span.set(GEN_AI.callArguments, this.#host.content?.getArguments(key));
  }

  end(event: EventOf<"tool_end">): void {
    const change = this.#take(event);
    if (change === undefined) return;
    const { call, isRepeated = false } = change;
    const { is_error, error_code, result } = event;
    const { content, now } = this.#host;
    const span = this.#spans.get(call.key);
    if (span === undefined) {
      if (isRepeated) return;
      this.#host.addEvent("loom.tool.not_run", {
        [GEN_AI.toolName]: event.name,
        ...(event.call_id === undefined ? {} : { [GEN_AI.callId]: event.call_id }),
        ...(is_error ? { [GEN_AI.errorType]: error_code ?? OTHER_ERROR } : {}),
      });
      return;
    }
    if (is_error && error_code === "cancelled") span.set(LOOM.isCancelled, true);
    else if (is_error) {
      span.set(GEN_AI.errorType, error_code ?? OTHER_ERROR);
      // The error message of a tool is its result, which is content.
      span.fail(content === undefined ? (error_code ?? "the tool failed") : content.cleanText(result));
    }
    span.set(GEN_AI.callResult, content?.cleanText(result));
    this.#spans.delete(call.key);
    span.end(now);
  }

  /** Takes an event that another process has traced, only to match later events. */
  takePast(event: EventOf<"tool_start" | "tool_end">): void {
    this.#take(event);
  }

  closeAll(): void {
    callAll([...this.#spans], ([key, span]) => this.#cut(key, span));
  }

  #take(event: ToolEvent): ToolChange | undefined {
    const change = this.#tools.take(event, this.#host.now);
    if (event.type === "tool_end" && change !== undefined) this.#host.content?.forgetCall(change.call.key);
    return change;
  }

  #cut(key: string, span: TraceSpan): void {
    span.set(LOOM.isIncomplete, true);
    this.#spans.delete(key);
    span.end(this.#host.now);
  }
}
