/**
 * Finds measurements in the records of one run. It stores no numbers, only what is open.
 *
 * Invariants:
 * - Each record is counted by the process that wrote it. Past records are followed but not counted again.
 * - A text chunk costs one type check, unless a call waits for its first token.
 * - Memory is limited whatever the records contain. A call without a start or an end is counted once.
 */
import { type EventOf, isKnownEvent, type LoomEvent, type StampedRecord } from "../../protocol/index.ts";
import { BoundedMap } from "../../protocol/bounded-map.ts";
import { CallKeys } from "../../protocol/call-keys.ts";
import { isAnswerChannel } from "../../protocol/record.ts";
import { type RunObserver, UNOBSERVED } from "../observer.ts";

export type RunEndStatus = "completed" | "error" | "cancelled";
export type MeasuredDecision = "approved" | "rejected" | "expired";

/** Longer times count as this. */
export const MAX_ELAPSED_MS: number = 30 * 24 * 3600 * 1000;
/** Largest count that one event can add. */
const MAX_COUNT = 1e12;

export interface TokenCounts {
  readonly prompt: number;
  readonly completion: number;
  readonly total: number;
}

/**
 * Receives the measurements of runs: `MetricsCollector` and the Prometheus observer store them. Names can have any length
 * and number: the receiver must limit them. Counts are non-negative integers; times are milliseconds from 0 to
 * `MAX_ELAPSED_MS`, or undefined if unknown.
 */
export interface Measures {
  startRun(agent: string): void;
  endRun(agent: string, outcome: RunEndStatus, elapsedMs: number | undefined): void;
  /** Time from the start of the run to the first part of its answer. */
  recordFirstAnswer(agent: string, elapsedMs: number): void;
  addIteration(): void;
  startModelCall(model: string): void;
  endModelCall(model: string, isError: boolean, elapsedMs: number | undefined): void;
  /** Time from the start of the call to its first output: text, reasoning or a tool call. */
  recordFirstToken(model: string, elapsedMs: number): void;
  addTokens(model: string, tokens: TokenCounts): void;
  startToolCall(tool: string): void;
  endToolCall(tool: string, isError: boolean, elapsedMs: number | undefined): void;
  addError(stage: string, code: string): void;
  addRetrieval(documents: number): void;
  addCompression(savedTokens: number): void;
  askApproval(): void;
  answerApproval(decision: MeasuredDecision, waitMs: number | undefined): void;
  /** A call was forgotten before it ended because too many were open. Its time may be missing. */
  countUntrackedCall(): void;
}

/** Default for the open calls remembered per run, separately for models and tools. */
export const MAX_OPEN_CALLS = 1000;

/** Label for missing names. */
const UNKNOWN = "unknown";

interface MeteredModelCall {
  readonly model: string;
  readonly since: number | undefined;
  /** The node run that records the output; undefined for a summary, whose output is not recorded. */
  readonly node: string | undefined;
  readonly isIteration: boolean;
  isOpen: boolean;
}

interface MeteredToolCall {
  readonly name: string;
  since: number | undefined;
  askedAt: number | undefined;
  isAsked: boolean;
  isOpen: boolean;
}

export const NOT_MEASURED: ReadonlySet<string> = new Set(UNOBSERVED);

export class RunMeter implements RunObserver {
  readonly #measures: Measures;
  #agent = UNKNOWN;
  #since: number | undefined;
  #isOver = false;
  #hasAnswer = false;
  #showsModelCalls = false;
  readonly #models: BoundedMap<MeteredModelCall>;
  /**
   * Calls without output so far, by node run. None if two calls are open in a node run, because output does not name
   * its call.
   */
  readonly #waiting: BoundedMap<MeteredModelCall>;
  /** Number of open calls by node run. */
  readonly #openCallCounts: BoundedMap<number>;
  readonly #tools: BoundedMap<MeteredToolCall>;
  /** Tool calls of which only argument chunks have arrived. */
  readonly #partialCalls: BoundedMap<true>;
  readonly #keys = new CallKeys();

  constructor(measures: Measures, maxOpenCalls: number = MAX_OPEN_CALLS) {
    this.#measures = measures;
    const forget = (call: MeteredModelCall | MeteredToolCall): void => {
      if (call.isOpen) measures.countUntrackedCall();
    };
    this.#models = new BoundedMap<MeteredModelCall>(maxOpenCalls, forget);
    this.#waiting = new BoundedMap(maxOpenCalls);
    this.#openCallCounts = new BoundedMap(maxOpenCalls);
    this.#tools = new BoundedMap<MeteredToolCall>(maxOpenCalls, forget);
    this.#partialCalls = new BoundedMap(maxOpenCalls);
  }

  take({ envelope, event }: StampedRecord, isPast: boolean): void {
    const { ts } = envelope;
    switch (event.type) {
      case "message_chunk":
        if (!this.#hasAnswer) this.#takeAnswer(event as EventOf<"message_chunk">, ts, isPast);
        if (this.#waiting.size > 0) this.#takePiece(envelope.node_id ?? "", ts, isPast);
        return;
      case "tool_call_chunk":
        this.#notePartialCall(event as EventOf<"tool_call_chunk">);
        if (this.#waiting.size > 0) this.#takePiece(envelope.node_id ?? "", ts, isPast);
        return;
      case "reasoning_chunk":
        if (this.#waiting.size > 0) this.#takePiece(envelope.node_id ?? "", ts, isPast);
        return;
      default:
        if (isKnownEvent(event)) this.#takeEvent(event, envelope.node_id ?? "", ts, isPast);
    }
  }

  #takeEvent(event: LoomEvent, node: string, ts: number | undefined, isPast: boolean): void {
    switch (event.type) {
      case "run_start":
        return this.#startRun(event, ts, isPast);
      case "run_end":
        return this.#endRun(event, ts, isPast);
      case "llm_start":
        return this.#startModelCall(event, node, ts, isPast);
      case "llm_end":
        return this.#endModelCall(event, ts, isPast);
      case "tool_call": {
        if (this.#waiting.size > 0) this.#takePiece(node, ts, isPast);
        const key = this.#keys.keyOf(event, "call");
        this.#partialCalls.delete(key);
        if (this.#tools.get(key)?.isOpen !== true) this.#openTool(key, event.name, isPast);
        return;
      }
      case "tool_approval":
        return this.#askApproval(event, ts, isPast);
      case "tool_approval_result":
        return this.#answerApproval(event, ts, isPast);
      case "tool_start":
        this.#findTool(this.#keys.keyOf(event, "start"), event.name, isPast).since ??= ts;
        return;
      case "tool_end":
        return this.#endTool(event, ts, isPast);
      default:
        if (!isPast) this.#count(event);
    }
  }

  close(): void {
    // Open calls have not ended, so there is nothing to count.
  }

  /** Counts events that need no state. */
  #count(event: LoomEvent): void {
    switch (event.type) {
      case "usage": {
        const { llm_call_id, prompt_tokens, completion_tokens, total_tokens } = event;
        const model = llm_call_id === undefined ? undefined : this.#models.get(llm_call_id)?.model;
        const [prompt, completion] = [readCount(prompt_tokens), readCount(completion_tokens)];
        return this.#measures.addTokens(model ?? UNKNOWN, { prompt, completion, total: readCount(total_tokens) });
      }
      case "error":
        return this.#measures.addError(event.stage ?? UNKNOWN, event.code ?? UNKNOWN);
      case "retrieval_complete":
        return this.#measures.addRetrieval(readCount(event.doc_count));
      case "compression_applied":
        return this.#measures.addCompression(
          Math.max(0, readCount(event.before_tokens) - readCount(event.after_tokens)),
        );
      case "node_exit":
        // An iteration is one model call, or one run of the node `think` if model calls are not recorded.
        if (!this.#showsModelCalls && event.id === "think") this.#measures.addIteration();
        return;
      default:
    }
  }

  #startRun({ agent }: EventOf<"run_start">, ts: number | undefined, isPast: boolean): void {
    this.#agent = agent ?? UNKNOWN;
    this.#since = ts;
    if (!isPast) this.#measures.startRun(this.#agent);
  }

  #endRun({ status, summary }: EventOf<"run_end">, ts: number | undefined, isPast: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (isPast) return;
    const outcome: RunEndStatus = status === "completed" || status === "cancelled" ? status : "error";
    this.#measures.endRun(this.#agent, outcome, readElapsed(summary?.duration_ms) ?? readSpan(this.#since, ts));
  }

  #takeAnswer({ channel }: EventOf<"message_chunk">, ts: number | undefined, isPast: boolean): void {
    if (!isAnswerChannel(channel)) return;
    this.#hasAnswer = true;
    const elapsed = readSpan(this.#since, ts);
    if (!isPast && elapsed !== undefined) this.#measures.recordFirstAnswer(this.#agent, elapsed);
  }

  #takePiece(node: string, ts: number | undefined, isPast: boolean): void {
    const call = this.#waiting.get(node);
    if (call === undefined) return;
    this.#waiting.delete(node);
    const elapsed = readSpan(call.since, ts);
    if (!isPast && elapsed !== undefined) this.#measures.recordFirstToken(call.model, elapsed);
  }

  #startModelCall(
    { llm_call_id, model = UNKNOWN, purpose }: EventOf<"llm_start">,
    node: string,
    ts: number | undefined,
    isPast: boolean,
  ): void {
    const isRound = purpose !== "summary";
    if (isRound) this.#showsModelCalls = true;
    if (this.#models.get(llm_call_id)?.isOpen === true) return;
    const call: MeteredModelCall = {
      model,
      since: ts,
      node: isRound ? node : undefined,
      isIteration: isRound,
      isOpen: true,
    };
    this.#models.set(llm_call_id, call);
    if (!isPast) this.#measures.startModelCall(model);
    if (isRound) this.#addOpenCall(node, call);
  }

  #addOpenCall(node: string, call: MeteredModelCall): void {
    const speaking = (this.#openCallCounts.get(node) ?? 0) + 1;
    this.#openCallCounts.set(node, speaking);
    if (speaking === 1) this.#waiting.set(node, call);
    else this.#waiting.delete(node);
  }

  #endModelCall(event: EventOf<"llm_end">, ts: number | undefined, isPast: boolean): void {
    const { llm_call_id, finish_reason, error, duration_ms, purpose } = event;
    const known = this.#models.get(llm_call_id);
    if (known?.isOpen === false) return;
    const { model, since, node } = known ?? { model: event.model ?? UNKNOWN, since: undefined, node: undefined };
    const isRound = known?.isIteration !== false && purpose !== "summary";
    // A forgotten call was counted when it started.
    const isNew = known === undefined && !this.#models.evicted;
    if (known === undefined) this.#models.set(llm_call_id, { model, since, node, isIteration: isRound, isOpen: false });
    else known.isOpen = false;
    if (node !== undefined) this.#removeOpenCall(node);
    if (isPast) return;
    if (isNew) this.#measures.startModelCall(model);
    const isError = finish_reason === "error" || (error !== undefined && finish_reason !== "cancelled");
    this.#measures.endModelCall(model, isError, readElapsed(duration_ms) ?? readSpan(since, ts));
    // As for `iteration` of callbacks: failed attempts and summaries are not iterations.
    if (isRound && !isError && finish_reason !== "cancelled") this.#measures.addIteration();
  }

  #removeOpenCall(node: string): void {
    this.#waiting.delete(node);
    const speaking = (this.#openCallCounts.get(node) ?? 1) - 1;
    if (speaking > 0) this.#openCallCounts.set(node, speaking);
    else this.#openCallCounts.delete(node);
  }

  #askApproval(event: EventOf<"tool_approval">, ts: number | undefined, isPast: boolean): void {
    const call = this.#findTool(this.#keys.keyOf(event, "before"), event.name, isPast);
    if (call.isAsked) return;
    call.isAsked = true;
    call.askedAt = ts;
    if (!isPast) this.#measures.askApproval();
  }

  #answerApproval(event: EventOf<"tool_approval_result">, ts: number | undefined, isPast: boolean): void {
    const call = this.#tools.get(this.#keys.keyOf(event, "before"));
    const askedAt = call?.askedAt;
    if (call !== undefined) {
      call.askedAt = undefined;
      call.isAsked = false;
    }
    if (!isPast) this.#measures.answerApproval(readDecision(event.decision), readSpan(askedAt, ts));
  }

  #endTool(event: EventOf<"tool_end">, ts: number | undefined, isPast: boolean): void {
    const key = this.#keys.keyOf(event, "end");
    const known = this.#tools.get(key);
    // The model stopped within the arguments, so the call was never made. The summary of the run does not count it
    // either.
    if (known?.isOpen === false || (this.#partialCalls.delete(key) && known === undefined)) return;
    const call = this.#findTool(key, event.name, isPast);
    call.isOpen = false;
    if (isPast) return;
    // A call that never ran has no duration.
    const elapsed = readElapsed(event.duration_ms) ?? readSpan(call.since, ts);
    this.#measures.endToolCall(call.name, event.is_error, elapsed);
  }

  #notePartialCall({ call_id }: EventOf<"tool_call_chunk">): void {
    if (call_id === undefined || this.#partialCalls.has(call_id) || this.#tools.has(call_id)) return;
    this.#partialCalls.set(call_id, true);
  }

  #findTool(key: string, name: string | undefined, isPast: boolean): MeteredToolCall {
    // A forgotten call was counted when it started.
    return this.#tools.get(key) ?? this.#openTool(key, name, isPast || this.#tools.evicted);
  }

  #openTool(key: string, name: string = UNKNOWN, isCounted: boolean): MeteredToolCall {
    const call: MeteredToolCall = { name, since: undefined, askedAt: undefined, isAsked: false, isOpen: true };
    this.#tools.set(key, call);
    if (!isCounted) this.#measures.startToolCall(name);
    return call;
  }
}

/** Unknown decisions count as rejections. */
function readDecision(decision: string): MeasuredDecision {
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
