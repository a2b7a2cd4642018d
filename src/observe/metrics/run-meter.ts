/**
 * Finds measurements in the records of one run. It stores no numbers, only what is open.
 *
 * Invariants:
 * - Each record is counted by the process that wrote it. Past records are followed but not counted again.
 * - A text chunk costs one type check, unless a call waits for its first token.
 * - Memory is limited whatever the records contain. A call without a start or an end is counted once.
 */
import { type EventOf, isKnownEvent, type LoomEvent, type StampedRecord } from "../../protocol/index.ts";
import { isAnswerChannel } from "../../protocol/record.ts";
import { type ObservedRun, type RunObserver, UNOBSERVED } from "../observer.ts";
import { ModelCalls, ToolCalls, type ToolEvent } from "../open-calls.ts";
import type { MetricSink } from "./metric-table.ts";

/** Longer times count as this. */
export const MAX_ELAPSED_MS: number = 30 * 24 * 3600 * 1000;
/** Largest count that one event can add. */
const MAX_COUNT = 1e12;

/** Label for missing names. */
const UNKNOWN = "unknown";

export const NOT_MEASURED: ReadonlySet<string> = new Set(UNOBSERVED);

const NOWHERE: MetricSink = { add: () => undefined, adder: () => () => undefined, time: () => undefined };

export class RunMeter implements RunObserver {
  readonly #run: ObservedRun;
  readonly #sink: MetricSink;
  /** Where the current record is counted: nowhere if it is past. */
  #out: MetricSink;
  #agent = UNKNOWN;
  #since: number | undefined;
  #isOver = false;
  #hasAnswer = false;
  #showsModelCalls = false;
  readonly #models: ModelCalls;
  readonly #tools: ToolCalls;

  /** `maxOpenCalls` are remembered, separately for models and tools. */
  constructor(sink: MetricSink, run: ObservedRun, maxOpenCalls: number) {
    this.#run = run;
    this.#sink = this.#out = sink;
    const forget = (): void => sink.add("untracked", {});
    this.#models = new ModelCalls(maxOpenCalls, forget);
    this.#tools = new ToolCalls(maxOpenCalls, forget);
    if (run.runId !== undefined) sink.add("runsInProgress", {});
  }

  take({ envelope: { ts, node_id: node = "" }, event }: StampedRecord, isPast: boolean): void {
    this.#out = isPast ? NOWHERE : this.#sink;
    switch (event.type) {
      case "message_chunk":
        if (!this.#hasAnswer) this.#takeAnswer(event as EventOf<"message_chunk">, ts);
        return this.#takeOutput(node, ts);
      case "reasoning_chunk":
        return this.#takeOutput(node, ts);
      default:
        if (isKnownEvent(event)) this.#takeEvent(event, node, ts);
    }
  }

  /** Open calls have not ended, so there is nothing more to count. */
  close(): void {
    if (this.#run.runId !== undefined) this.#sink.add("runsInProgress", {}, -1);
  }

  #takeEvent(event: LoomEvent, node: string, ts: number | undefined): void {
    switch (event.type) {
      case "run_start":
        this.#agent = event.agent ?? UNKNOWN;
        this.#since = ts;
        return this.#out.add("runsStarted", { agent: this.#agent });
      case "run_end":
        return this.#endRun(event, ts);
      case "llm_start":
        return this.#startModelCall(event, node, ts);
      case "llm_end":
        return this.#endModelCall(event, ts);
      case "tool_call_chunk":
      case "tool_call":
        this.#takeOutput(node, ts);
        return this.#takeToolEvent(event, ts);
      case "tool_approval":
      case "tool_approval_result":
      case "tool_start":
      case "tool_end":
        return this.#takeToolEvent(event, ts);
      case "usage":
        return this.#addTokens(event);
      case "error":
        return this.#out.add("errors", { stage: event.stage ?? UNKNOWN, code: event.code ?? UNKNOWN });
      case "retrieval_complete":
        this.#out.add("retrievals", {});
        return this.#out.add("documents", {}, readCount(event.doc_count));
      case "compression_applied":
        this.#out.add("compressions", {});
        return this.#out.add(
          "savedTokens",
          {},
          Math.max(0, readCount(event.before_tokens) - readCount(event.after_tokens)),
        );
      case "node_exit":
        // An iteration is one model call, or one run of the node `think` if model calls are not recorded.
        if (!this.#showsModelCalls && event.id === "think") this.#out.add("iterations", {});
        return;
      default:
    }
  }

  #endRun({ status, summary }: EventOf<"run_end">, ts: number | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const agent = this.#agent;
    const known = status === "completed" || status === "cancelled" ? status : "error";
    this.#out.add("runs", { agent, status: known });
    this.#out.time("runDuration", { agent }, readElapsed(summary?.duration_ms) ?? readSpan(this.#since, ts));
  }

  #takeAnswer({ channel }: EventOf<"message_chunk">, ts: number | undefined): void {
    if (!isAnswerChannel(channel)) return;
    this.#hasAnswer = true;
    this.#out.time("firstAnswer", { agent: this.#agent }, readSpan(this.#since, ts));
  }

  /** Called for every token. */
  #takeOutput(node: string, ts: number | undefined): void {
    const call = this.#models.takeFirstOutput(node);
    if (call === undefined) return;
    this.#out.time("firstToken", { model: call.model ?? UNKNOWN }, readSpan(call.startedAt, ts));
  }

  #startModelCall(event: EventOf<"llm_start">, node: string, ts: number | undefined): void {
    if (event.purpose !== "summary") this.#showsModelCalls = true;
    if (this.#models.start(event, node, ts) === undefined) return;
    this.#out.add("llmCalls", { model: event.model ?? UNKNOWN });
  }

  #endModelCall(event: EventOf<"llm_end">, ts: number | undefined): void {
    const { hasForgotten } = this.#models;
    const call = this.#models.end(event);
    if (call === undefined) return;
    const { finish_reason, error, duration_ms, purpose } = event;
    const model = call.model ?? UNKNOWN;
    // A forgotten call was counted when it started.
    if (call.start === undefined && !hasForgotten) this.#out.add("llmCalls", { model });
    const isError = finish_reason === "error" || (error !== undefined && finish_reason !== "cancelled");
    if (isError) this.#out.add("llmErrors", { model });
    this.#out.time("llmDuration", { model }, readElapsed(duration_ms) ?? readSpan(call.startedAt, ts));
    // As for `iteration` of callbacks: failed attempts and summaries are not iterations.
    const isRound = !call.isSummary && purpose !== "summary";
    if (isRound && !isError && finish_reason !== "cancelled") this.#out.add("iterations", {});
  }

  #addTokens(event: EventOf<"usage">): void {
    const model = this.#models.takeUsage(event)?.model ?? UNKNOWN;
    this.#out.add("llmTokens", { model, direction: "prompt" }, readCount(event.prompt_tokens));
    this.#out.add("llmTokens", { model, direction: "completion" }, readCount(event.completion_tokens));
    this.#out.add("llmReportedTokens", { model }, readCount(event.total_tokens));
  }

  #takeToolEvent(event: ToolEvent, ts: number | undefined): void {
    const change = this.#tools.take(event, ts);
    if (event.type === "tool_approval_result") {
      this.#out.add("approvals", { decision: readDecision(event.decision) });
      this.#out.time("approvalWait", {}, readElapsed(change?.call.waitMs));
    }
    if (change === undefined || change.isRepeated === true) return;
    const { call, isNew } = change;
    const tool = call.name ?? UNKNOWN;
    if (isNew) this.#out.add("toolCalls", { tool });
    if (event.type === "tool_approval") this.#out.add("approvalsAsked", {});
    // A call that was never made is not counted, as in the summary of the run.
    if (event.type !== "tool_end" || !call.isMade) return;
    if (event.is_error) this.#out.add("toolErrors", { tool });
    // A call that never ran has no duration.
    this.#out.time("toolDuration", { tool }, readElapsed(event.duration_ms) ?? readSpan(call.startedAt, ts));
  }
}

/** Unknown decisions count as rejections. */
function readDecision(decision: string): "approved" | "rejected" | "expired" {
  return decision === "approved" || decision === "expired" ? decision : "rejected";
}

/** Returns a safe count: 0 if the value is not a positive number, limited to `MAX_COUNT`. */
function readCount(value: unknown): number {
  if (typeof value !== "number" || !(value > 0)) return 0;
  return Math.min(Math.trunc(value), MAX_COUNT);
}

/** Returns undefined if the value is not a valid time. */
function readElapsed(value: unknown): number | undefined {
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) return undefined;
  // Avoids -0, which JSON does not preserve.
  return value === 0 ? 0 : Math.min(value, MAX_ELAPSED_MS);
}

/** Returns 0 if the clock was set back. */
function readSpan(since: number | undefined, until: number | undefined): number | undefined {
  if (since === undefined || until === undefined) return undefined;
  return readElapsed(Math.max(0, until - since));
}
