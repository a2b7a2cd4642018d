/**
 * The tool calls of a run: their approvals, and a span for each call that ran. A call that was rejected, or whose start
 * was not seen here, has no span; it becomes an event on the span of the run.
 */
import type { Attributes } from "@opentelemetry/api";
import type { EventOf, StampedRecord } from "../../protocol/index.ts";
import { BoundedMap } from "../../protocol/bounded-map.ts";
import { CallKeys } from "../../protocol/call-keys.ts";
import { callAll } from "../shield.ts";
import type { ContentWriter } from "./content-writer.ts";
import { GEN_AI, LOOM, OTHER_ERROR } from "./gen-ai.ts";
import type { TracedModelCall } from "./traced-model-calls.ts";
import type { TraceSpan } from "./trace-span.ts";

/** What the spans of a run share. */
export interface SpanHost {
  readonly now: number;
  readonly sessionId: string;
  /** Undefined unless content capture is enabled. */
  readonly content: ContentWriter | undefined;
  /** Returns undefined if too many spans are open. */
  startSpan(name: string, isClient: boolean, attributes: Attributes): TraceSpan | undefined;
  /** Adds an event to the span of the run. */
  addEvent(name: string, attributes: Attributes): void;
}

interface ToolApproval {
  readonly askedAt: number;
  waitMs: number | undefined;
  decision: string | undefined;
}

export class ToolSpans {
  readonly #host: SpanHost;
  readonly #spans = new Map<string, TraceSpan>();
  readonly #keys = new CallKeys();
  readonly #approvals: BoundedMap<ToolApproval>;

  constructor(host: SpanHost, maxApprovals: number) {
    this.#host = host;
    this.#approvals = new BoundedMap(maxApprovals);
  }

  get size(): number {
    return this.#spans.size;
  }

  /** Number of approvals without a decision. */
  get waiting(): number {
    let waiting = 0;
    for (const { decision } of this.#approvals.values()) if (decision === undefined) waiting++;
    return waiting;
  }

  takeCall(event: EventOf<"tool_call">, madeBy: TracedModelCall | undefined): void {
    const key = this.#keys.keyOf(event, "call");
    this.#host.content?.takeCall(key, event, madeBy);
  }

  takeApproval(event: EventOf<"tool_approval" | "tool_approval_result">): void {
    const { now, content } = this.#host;
    const key = this.#keys.keyOf(event, "before");
    if (event.type === "tool_approval") {
      this.#approvals.set(key, { askedAt: now, waitMs: undefined, decision: undefined });
      return;
    }
    const approval = this.#approvals.get(key);
    if (approval !== undefined) {
      approval.waitMs = Math.max(0, now - approval.askedAt);
      approval.decision = event.decision;
    }
    content?.takeAnswer(key, event);
    this.#host.addEvent("loom.approval", {
      [LOOM.approvalDecision]: event.decision,
      ...(event.call_id === undefined ? {} : { [GEN_AI.callId]: event.call_id }),
      ...(event.name === undefined ? {} : { [GEN_AI.toolName]: event.name }),
      ...(approval?.waitMs === undefined ? {} : { [LOOM.approvalWait]: approval.waitMs }),
    });
  }

  start({ envelope }: StampedRecord, event: EventOf<"tool_start">): void {
    const { name, call_id } = event;
    const key = this.#keys.keyOf(event, "start");
    const before = this.#spans.get(key);
    if (before !== undefined) this.#cut(key, before);
    const approval = this.#approvals.get(key);
    const span = this.#host.startSpan(`execute_tool ${name}`, false, {
      [GEN_AI.operation]: "execute_tool",
      [GEN_AI.toolName]: name,
      [GEN_AI.toolType]: "function",
      [GEN_AI.conversation]: this.#host.sessionId,
      ...(call_id === undefined ? {} : { [GEN_AI.callId]: call_id }),
      ...(envelope.node_id === undefined ? {} : { [LOOM.nodeId]: envelope.node_id }),
      ...(approval?.waitMs === undefined ? {} : { [LOOM.approvalWait]: approval.waitMs }),
      ...(approval?.decision === undefined ? {} : { [LOOM.approvalDecision]: approval.decision }),
    });
    if (span === undefined) return;
    this.#spans.set(key, span);
    span.set(GEN_AI.callArguments, this.#host.content?.getArguments(key));
  }

  end(event: EventOf<"tool_end">): void {
    const key = this.#forget(event);
    const { is_error, error_code, result } = event;
    const { content, now } = this.#host;
    const span = this.#spans.get(key);
    if (span === undefined) {
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
    this.#spans.delete(key);
    span.end(now);
  }

  /** Takes an event that another process has traced, only to match later events. */
  takePast(event: EventOf<"tool_start" | "tool_end">): void {
    if (event.type === "tool_start") this.#keys.keyOf(event, "start");
    else this.#forget(event);
  }

  closeAll(): void {
    callAll([...this.#spans], ([key, span]) => this.#cut(key, span));
  }

  #forget(event: EventOf<"tool_end">): string {
    const key = this.#keys.keyOf(event, "end");
    this.#approvals.delete(key);
    this.#host.content?.forgetCall(key);
    return key;
  }

  #cut(key: string, span: TraceSpan): void {
    span.set(LOOM.isIncomplete, true);
    this.#spans.delete(key);
    span.end(this.#host.now);
  }
}
