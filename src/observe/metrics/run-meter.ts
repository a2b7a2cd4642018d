/**
 * Finds what can be measured in the records of one run. It keeps no numbers, only what is open.
 *
 * Invariants:
 * - Each record is measured by the process that wrote it: what is past is followed, and not counted again.
 * - A token costs a look at its type, unless a call waits for its first.
 * - What is remembered has a limit, whatever the records say; a call without a beginning or an end is counted once.
 */
import { type AnyEvent, BoundedMap, CallKeys, type EventOf, type StampedRecord } from "../../protocol/index.ts";
import type { RunObserver } from "../observer.ts";
import { type ApprovalDecision, type Measures, readCount, readElapsed, readSpan, type RunOutcome } from "./measures.ts";

/** Calls of one run that are remembered, models' and tools' each. */
export const MAX_OPEN_CALLS = 1000;

/** For what has no name. */
const UNNAMED = "unknown";

interface ModelCall {
  readonly model: string;
  readonly since: number | undefined;
  /** Undefined where what it says is in no record: a summary. */
  readonly node: string | undefined;
  readonly isRound: boolean;
  isOpen: boolean;
}

interface ToolCall {
  readonly name: string;
  since: number | undefined;
  askedAt: number | undefined;
  isAsked: boolean;
  isOpen: boolean;
}

/** Types that come by the thousand and tell nothing here. */
export const NOT_MEASURED: ReadonlySet<string> = new Set([
  "values",
  "updates",
  "checkpoint",
  "custom",
  "node_enter",
  "tool_output",
  "tool_progress",
]);

export class RunMeter implements RunObserver {
  readonly #measures: Measures;
  #agent = UNNAMED;
  #since: number | undefined;
  #isOver = false;
  #hasAnswer = false;
  #showsModelCalls = false;
  readonly #models: BoundedMap<ModelCall>;
  /** Calls that have said nothing yet, by node run; none where two are open in one, and nobody can tell who speaks. */
  readonly #waiting: BoundedMap<ModelCall>;
  /** How many calls are open, by node run. */
  readonly #speaking: BoundedMap<number>;
  readonly #tools: BoundedMap<ToolCall>;
  /** Calls of which only pieces of the arguments have come. */
  readonly #begun: BoundedMap<true>;
  readonly #keys = new CallKeys();

  constructor(measures: Measures, maxOpenCalls: number = MAX_OPEN_CALLS) {
    this.#measures = measures;
    const forget = (call: ModelCall | ToolCall): void => {
      if (call.isOpen) measures.loseCall();
    };
    this.#models = new BoundedMap<ModelCall>(maxOpenCalls, forget);
    this.#waiting = new BoundedMap(maxOpenCalls);
    this.#speaking = new BoundedMap(maxOpenCalls);
    this.#tools = new BoundedMap<ToolCall>(maxOpenCalls, forget);
    this.#begun = new BoundedMap(maxOpenCalls);
  }

  take({ envelope, event }: StampedRecord, isPast: boolean): void {
    const { ts } = envelope;
    switch (event.type) {
      case "message_chunk":
        if (!this.#hasAnswer) this.#takeAnswer(event as EventOf<"message_chunk">, ts, isPast);
        if (this.#waiting.size > 0) this.#takePiece(envelope.node_id ?? "", ts, isPast);
        return;
      case "tool_call_chunk":
        this.#noteBegun(event as EventOf<"tool_call_chunk">);
        if (this.#waiting.size > 0) this.#takePiece(envelope.node_id ?? "", ts, isPast);
        return;
      case "reasoning_chunk":
        if (this.#waiting.size > 0) this.#takePiece(envelope.node_id ?? "", ts, isPast);
        return;
      case "run_start":
        this.#startRun(event as EventOf<"run_start">, ts, isPast);
        return;
      case "run_end":
        this.#endRun(event as EventOf<"run_end">, ts, isPast);
        return;
      case "llm_start":
        this.#startModelCall(event as EventOf<"llm_start">, envelope.node_id ?? "", ts, isPast);
        return;
      case "llm_end":
        this.#endModelCall(event as EventOf<"llm_end">, ts, isPast);
        return;
      case "tool_call":
        if (this.#waiting.size > 0) this.#takePiece(envelope.node_id ?? "", ts, isPast);
        this.#takeToolEvent(event, ts, isPast);
        return;
      case "tool_approval":
      case "tool_approval_result":
      case "tool_start":
      case "tool_end":
        this.#takeToolEvent(event, ts, isPast);
        return;
      default:
        if (!isPast) this.#count(event);
    }
  }

  close(): void {
    // What is still open has not ended: there is nothing to tell.
  }

  /** What stands for itself. */
  #count(event: AnyEvent): void {
    switch (event.type) {
      case "usage": {
        const { llm_call_id, prompt_tokens, completion_tokens, total_tokens } = event as EventOf<"usage">;
        const model = llm_call_id === undefined ? undefined : this.#models.get(llm_call_id)?.model;
        const [prompt, completion] = [readCount(prompt_tokens), readCount(completion_tokens)];
        this.#measures.addTokens(model ?? UNNAMED, { prompt, completion, total: readCount(total_tokens) });
        return;
      }
      case "error": {
        const { stage, code } = event as EventOf<"error">;
        this.#measures.addError(stage ?? UNNAMED, code ?? UNNAMED);
        return;
      }
      case "retrieval_complete":
        this.#measures.addRetrieval(readCount((event as EventOf<"retrieval_complete">).doc_count));
        return;
      case "compression_applied": {
        const { before_tokens, after_tokens } = event as EventOf<"compression_applied">;
        this.#measures.addCompression(Math.max(0, readCount(before_tokens) - readCount(after_tokens)));
        return;
      }
      case "node_exit":
        // A round is one model call; where those are not shown, one run of the node `think`.
        if (!this.#showsModelCalls && (event as EventOf<"node_exit">).id === "think") this.#measures.addIteration();
    }
  }

  #startRun({ agent }: EventOf<"run_start">, ts: number | undefined, isPast: boolean): void {
    this.#agent = agent ?? UNNAMED;
    this.#since = ts;
    if (!isPast) this.#measures.startRun(this.#agent);
  }

  #endRun({ status, summary }: EventOf<"run_end">, ts: number | undefined, isPast: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (isPast) return;
    const outcome: RunOutcome = status === "completed" || status === "cancelled" ? status : "error";
    this.#measures.endRun(this.#agent, outcome, readElapsed(summary?.duration_ms) ?? readSpan(this.#since, ts));
  }

  #takeAnswer({ channel }: EventOf<"message_chunk">, ts: number | undefined, isPast: boolean): void {
    if (channel === "thought") return;
    this.#hasAnswer = true;
    const elapsed = readSpan(this.#since, ts);
    if (!isPast && elapsed !== undefined) this.#measures.beginAnswer(this.#agent, elapsed);
  }

  #takePiece(node: string, ts: number | undefined, isPast: boolean): void {
    const call = this.#waiting.get(node);
    if (call === undefined) return;
    this.#waiting.delete(node);
    const elapsed = readSpan(call.since, ts);
    if (!isPast && elapsed !== undefined) this.#measures.takeFirstToken(call.model, elapsed);
  }

  #startModelCall(
    { llm_call_id, model = UNNAMED, purpose }: EventOf<"llm_start">,
    node: string,
    ts: number | undefined,
    isPast: boolean,
  ): void {
    const isRound = purpose !== "summary";
    if (isRound) this.#showsModelCalls = true;
    if (this.#models.get(llm_call_id)?.isOpen === true) return;
    const call: ModelCall = { model, since: ts, node: isRound ? node : undefined, isRound, isOpen: true };
    this.#models.set(llm_call_id, call);
    if (!isPast) this.#measures.startModelCall(model);
    if (isRound) this.#speak(node, call);
  }

  #speak(node: string, call: ModelCall): void {
    const speaking = (this.#speaking.get(node) ?? 0) + 1;
    this.#speaking.set(node, speaking);
    if (speaking === 1) this.#waiting.set(node, call);
    else this.#waiting.delete(node);
  }

  #endModelCall(event: EventOf<"llm_end">, ts: number | undefined, isPast: boolean): void {
    const { llm_call_id, finish_reason, error, duration_ms, purpose } = event;
    const known = this.#models.get(llm_call_id);
    if (known?.isOpen === false) return;
    const { model, since, node } = known ?? { model: event.model ?? UNNAMED, since: undefined, node: undefined };
    const isRound = known?.isRound !== false && purpose !== "summary";
    // One that was forgotten has been counted when it began.
    const isNew = known === undefined && !this.#models.evicted;
    if (known === undefined) this.#models.set(llm_call_id, { model, since, node, isRound, isOpen: false });
    else known.isOpen = false;
    if (node !== undefined) this.#fallSilent(node);
    if (isPast) return;
    if (isNew) this.#measures.startModelCall(model);
    const isError = finish_reason === "error" || (error !== undefined && finish_reason !== "cancelled");
    this.#measures.endModelCall(model, isError, readElapsed(duration_ms) ?? readSpan(since, ts));
    // As in 002's `iteration`: a try that failed is no round, nor is a summary.
    if (isRound && !isError && finish_reason !== "cancelled") this.#measures.addIteration();
  }

  #fallSilent(node: string): void {
    this.#waiting.delete(node);
    const speaking = (this.#speaking.get(node) ?? 1) - 1;
    if (speaking > 0) this.#speaking.set(node, speaking);
    else this.#speaking.delete(node);
  }

  #takeToolEvent(event: AnyEvent, ts: number | undefined, isPast: boolean): void {
    switch (event.type) {
      case "tool_call": {
        const made = event as EventOf<"tool_call">;
        const key = this.#keys.keyOf(made, "call");
        this.#begun.delete(key);
        if (this.#tools.get(key)?.isOpen !== true) this.#openTool(key, made.name, isPast);
        return;
      }
      case "tool_approval": {
        const asked = event as EventOf<"tool_approval">;
        const call = this.#findTool(this.#keys.keyOf(asked, "before"), asked.name, isPast);
        if (call.isAsked) return;
        call.isAsked = true;
        call.askedAt = ts;
        if (!isPast) this.#measures.askApproval();
        return;
      }
      case "tool_approval_result": {
        const answer = event as EventOf<"tool_approval_result">;
        const call = this.#tools.get(this.#keys.keyOf(answer, "before"));
        const askedAt = call?.askedAt;
        if (call !== undefined) {
          call.askedAt = undefined;
          call.isAsked = false;
        }
        if (!isPast) this.#measures.answerApproval(readDecision(answer.decision), readSpan(askedAt, ts));
        return;
      }
      case "tool_start": {
        const begun = event as EventOf<"tool_start">;
        this.#findTool(this.#keys.keyOf(begun, "start"), begun.name, isPast).since ??= ts;
        return;
      }
      case "tool_end":
        this.#endTool(event as EventOf<"tool_end">, ts, isPast);
    }
  }

  #endTool(event: EventOf<"tool_end">, ts: number | undefined, isPast: boolean): void {
    const key = this.#keys.keyOf(event, "end");
    const known = this.#tools.get(key);
    // The model broke off within its arguments: it was never made. So says the run's own summary.
    if (known?.isOpen === false || (this.#begun.delete(key) && known === undefined)) return;
    const call = this.#findTool(key, event.name, isPast);
    call.isOpen = false;
    if (isPast) return;
    // Where it never ran there is no time it took.
    const elapsed = readElapsed(event.duration_ms) ?? readSpan(call.since, ts);
    this.#measures.endToolCall(call.name, event.is_error, elapsed);
  }

  #noteBegun({ call_id }: EventOf<"tool_call_chunk">): void {
    if (call_id === undefined || this.#begun.has(call_id) || this.#tools.has(call_id)) return;
    this.#begun.set(call_id, true);
  }

  #findTool(key: string, name: string | undefined, isPast: boolean): ToolCall {
    // One that was forgotten has been counted when it began.
    return this.#tools.get(key) ?? this.#openTool(key, name, isPast || this.#tools.evicted);
  }

  #openTool(key: string, name: string = UNNAMED, isCounted: boolean): ToolCall {
    const call: ToolCall = { name, since: undefined, askedAt: undefined, isAsked: false, isOpen: true };
    this.#tools.set(key, call);
    if (!isCounted) this.#measures.startToolCall(name);
    return call;
  }
}

/** What is not known to be consent is none. */
function readDecision(decision: string): ApprovalDecision {
  return decision === "approved" || decision === "expired" ? decision : "rejected";
}
