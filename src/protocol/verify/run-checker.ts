/** Checks the frames of one run. */
import { BoundedMap } from "../bounded-map.ts";
import type {
  CheckpointEvent,
  Envelope,
  LoomEvent,
  RunEndEvent,
  UpdatesEvent,
  ValuesEvent,
} from "../events.generated.ts";
import { type EventRecord, isAnswerChannel, isKnownEvent, isNextAttempt, isTerminal } from "../record.ts";
import type { IssueReporter } from "./lifecycle-rules.ts";
import { SpanChecker } from "./span-checker.ts";
import { ThoughtChecker } from "./thought-checker.ts";
import { ThoughtGraphChecker } from "./thought-graph-checker.ts";
import { ToolCallChecker } from "./tool-call-checker.ts";

const MAX_ANSWERS = 10_000;

function isTimestamp(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/.test(text) && !Number.isNaN(Date.parse(text));
}

const MAX_MODEL_CALLS = 10_000;

const LINE_END = 10;

/** Returns the length of the text without the line ends at its end. */
function findTextEnd(text: string): number {
  let end = text.length;
  while (text.charCodeAt(end - 1) === LINE_END) end--;
  return end;
}

/**
 * Length and hash of a text, so that long answers can be compared without storing them. Line ends at its end do not
 * count: a blank line before a tool call is not part of the answer, and in strict form no channel says so.
 */
class Digest {
  length = 0;
  #lineEnds = 0;
  #hash = 0x811c9dc5;

  add(text: string): void {
    const end = findTextEnd(text);
    if (end > 0) {
      this.length += this.#lineEnds + end;
      let h = this.#hash;
      for (let i = -this.#lineEnds; i < end; i++)
        h = Math.imul(h ^ (i < 0 ? LINE_END : text.charCodeAt(i)), 0x01000193);
      this.#hash = h;
      this.#lineEnds = 0;
    }
    this.#lineEnds += text.length - end;
  }

  copy(): Digest {
    const copy = new Digest();
    copy.length = this.length;
    copy.#hash = this.#hash;
    copy.#lineEnds = this.#lineEnds;
    return copy;
  }

  matches(text: string): boolean {
    if (findTextEnd(text) !== this.length) return false;
    const other = new Digest();
    other.add(text);
    return other.#hash === this.#hash;
  }
}

export class RunChecker {
  readonly id: string | undefined;
  readonly spans = new SpanChecker();
  readonly tools: ToolCallChecker;
  readonly #thoughts = new ThoughtChecker();
  readonly #graph = new ThoughtGraphChecker();
  readonly #answers = new BoundedMap<Digest>(MAX_ANSWERS);
  #all = new Digest();
  /** The answer text up to the last tool call. */
  #untilTools = new Digest();
  /** The answer text since the last tool call. */
  #lastPart = new Digest();
  readonly #models = new BoundedMap<true>(MAX_MODEL_CALLS);
  readonly #steps = new BoundedMap<number>(MAX_ANSWERS);
  /** Subgraphs whose full state was received. */
  readonly #whole = new BoundedMap<true>(MAX_ANSWERS);
  #started: boolean;
  #firstId: number | undefined;
  #frames = 0;
  #filtered = false;
  #end: RunEndEvent | undefined;
  tokens = 0;

  constructor(id: string | undefined, started: boolean, expectsToolStart: boolean) {
    this.id = id;
    this.#started = started;
    this.tools = new ToolCallChecker(expectsToolStart);
  }

  get started(): boolean {
    return this.#started;
  }

  check(record: EventRecord, report: IssueReporter): void {
    const { envelope, event } = record;
    this.#frames++;
    this.#firstId ??= envelope.event_id;
    if (envelope.prev_event_id !== undefined) this.#filtered = true;
    this.spans.lenient = this.#filtered || !this.#started;
    if (this.#end !== undefined && event.type !== "reply") report("run-end-last", `\`${event.type}\` follows run_end`);
    if (event.type === "run_start" && this.#frames > 1) {
      report(
        this.#started ? "run-start-twice" : "run-start-late",
        this.#started ? "the run has already started" : "other frames of the run came first",
      );
      this.#started = true;
    }
    this.spans.check(record, report);
    if (isKnownEvent(event)) this.#checkEvent(event, envelope, report);
  }

  /** Skipped if the stream is filtered or its start is missing. */
  #checkState(
    { type, checkpoint_ns: ns = "", delta }: CheckpointEvent | ValuesEvent | UpdatesEvent,
    report: IssueReporter,
  ): void {
    if (delta !== true) {
      if (type !== "updates") this.#whole.set(ns, true);
    } else if (this.#whole.get(ns) === undefined && !this.spans.lenient && !this.#whole.evicted)
      report("delta-unbased", `\`${type}\` has a delta${ns === "" ? "" : ` in ${ns}`}, but no full state precedes it`);
  }

  #checkEvent(event: LoomEvent, envelope: Envelope, report: IssueReporter): void {
    this.tools.check(event, envelope.node_id ?? "", report);
    this.#thoughts.check(event, this.spans, report);
    this.#graph.check(event, envelope.node_id, this.spans, report);
    switch (event.type) {
      case "node_enter":
        // A node_id may be reused for another node run, which starts a new answer.
        if (envelope.node_id !== undefined) this.#answers.delete(envelope.node_id);
        return;
      case "message_chunk":
        if (isAnswerChannel(event.channel)) this.#addAnswer(envelope.node_id ?? "", event.content);
        return;
      case "usage":
        this.tokens += event.total_tokens;
        if (event.total_tokens !== event.prompt_tokens + event.completion_tokens) {
          report(
            "usage-total",
            `${event.prompt_tokens} + ${event.completion_tokens} does not equal ${event.total_tokens}`,
          );
        }
        return;
      case "checkpoint": {
        const ns = event.checkpoint_ns ?? "";
        const last = this.#steps.get(ns);
        const { timestamp, step } = event;
        if (typeof timestamp === "string" && !isTimestamp(timestamp))
          report("checkpoint-time", `\`${timestamp.slice(0, 40)}\` is not an ISO 8601 time`);
        // A subgraph may run again from step 0. Editing a state adds another checkpoint for the same step.
        const runsAgain = ns !== "" && step === 0;
        if (typeof step === "number") {
          if (last !== undefined && step < last && !runsAgain)
            report("checkpoint-step", `step ${step} follows step ${last}`);
          this.#steps.set(ns, step);
        }
        this.#checkState(event, report);
        return;
      }
      case "values":
      case "updates":
        this.#checkState(event, report);
        return;
      case "llm_start":
        if (this.#models.get(event.llm_call_id) !== undefined)
          report("llm-order", `model call ${event.llm_call_id} has already started`);
        this.#models.set(event.llm_call_id, true);
        return;
      case "llm_end":
        if (!this.#models.has(event.llm_call_id) && !this.#models.evicted && !this.spans.lenient)
          report("llm-order", `model call ${event.llm_call_id} was not started`);
        this.#models.delete(event.llm_call_id);
        return;
      case "tool_call":
      case "tool_start":
      case "tool_end":
        this.#lastPart = new Digest();
        this.#untilTools = this.#all.copy();
        return;
      case "error":
        // The text since the last call is sent again.
        if (!isNextAttempt(event)) return;
        this.#lastPart = new Digest();
        this.#all = this.#untilTools.copy();
        return;
      case "run_end":
        this.#end = event;
        // Some dialects report only the total.
        if (this.tokens === 0) this.tokens = event.summary?.total_tokens ?? 0;
        if (isTerminal(event)) this.#close(envelope, report);
        return;
      case "reply":
        this.#checkReply(event.reply, envelope.node_id, report);
        if ((this.#end?.status ?? "completed") === "completed") this.#graph.close(this.spans, report);
        this.#close(envelope, report);
        return;
      default:
    }
  }

  #addAnswer(node: string, text: string): void {
    this.#answers.getOrCreate(node, () => new Digest()).add(text);
    this.#all.add(text);
    this.#lastPart.add(text);
  }

  #checkReply(reply: string, node: string | undefined, report: IssueReporter): void {
    if (node !== undefined && !this.spans.hasEntered(node)) report("reply-node", `there is no node run ${node}`);
    const streamed = node === undefined ? undefined : this.#answers.get(node);
    const candidates = node === undefined ? [this.#all, this.#lastPart] : streamed === undefined ? [] : [streamed];
    if (candidates.length === 0 || this.#all.length === 0) return;
    // In strict form, thoughts look like answers. A run that ended before it answered may have only them.
    if (reply === "" && (this.#end?.status ?? "completed") !== "completed") return;
    if (!candidates.some((digest) => digest.matches(reply))) {
      report(
        "reply-text",
        `the reply (${reply.length} characters) differs from the streamed text (${candidates[0]?.length} characters)`,
      );
    }
  }

  #close({ event_id }: Envelope, report: IssueReporter): void {
    this.spans.close(report);
    this.tools.close(report);
    const end = this.#end;
    if (end === undefined || !this.#started || this.#filtered) return;
    const { frame_count, first_event_id, last_event_id } = end;
    if (frame_count !== undefined && frame_count !== this.#frames) {
      report("run-end-proof", `run_end reports ${frame_count} frames, but ${this.#frames} were received`);
    }
    if (first_event_id !== undefined && this.#firstId !== undefined && first_event_id !== this.#firstId) {
      report("run-end-proof", `run_end reports ${first_event_id} as the first event_id, but it is ${this.#firstId}`);
    }
    if (last_event_id !== undefined && event_id !== undefined && last_event_id !== event_id) {
      report("run-end-proof", `run_end reports ${last_event_id} as the last event_id, but it is ${event_id}`);
    }
  }
}
