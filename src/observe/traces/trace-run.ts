/**
 * Creates the spans of one run from its records: one for the run, one for each model call and each tool that ran. Other
 * events become events on the span of the run. It does not know the log or the exporter.
 *
 * Invariant: every started span ends exactly once, at the latest when the run ends or `close` is called. Past records
 * start no spans, because the process that wrote them has traced them.
 */
import type { Attributes, Context, Link, Span, SpanContext, Tracer } from "@opentelemetry/api";
import { type EventOf, isKnownEvent, type LoomEvent, type StampedRecord } from "../../protocol/index.ts";
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import { isTerminal } from "../../protocol/record.ts";
import { mayQuoteContent } from "../logs/may-quote-content.ts";
import { callAll } from "../shield.ts";
import type { ObservedRun, RunObserver } from "../observer.ts";
import { ChatSpans } from "./chat-spans.ts";
import type { ContentWriter } from "./content-writer.ts";
import { GEN_AI, LOOM, OTHER_ERROR, readModelName, readTraceParent, toHrTime } from "./gen-ai.ts";
import { ToolSpans } from "./tool-spans.ts";
import { type SpanHost, TraceSpan } from "./trace-span.ts";

/** Values of `SpanKind`. */
const INTERNAL = 0;
const CLIENT = 2;
/** Maximum events on the span of a run. Further ones are counted in `loom.dropped.events`. */
const MAX_EVENTS = 100;

/** The tracer, the limits and the contexts of one run. */
export interface TraceRunOptions {
  readonly tracer: Tracer;
  readonly maxOpenSpans: number;
  readonly agentName: string | undefined;
  /** Undefined unless content capture is enabled. */
  readonly content: ContentWriter | undefined;
  cleanMessage(message: string): string;
  /** Returns and removes the context in which the run was started. */
  takeExpectedContext(): Context | undefined;
  /** Returns and removes the span of the run from before this process released it. */
  takePreviousSpan(): SpanContext | undefined;
  keepPreviousSpan(span: SpanContext): void;
  /** Returns a context with the span as parent. */
  enter(context: Context, span: Span): Context;
  enterRemote(parent: SpanContext): Context;
  readonly root: Context;
}

export class TraceRun implements RunObserver, SpanHost {
  readonly #run: ObservedRun;
  readonly #options: TraceRunOptions;
  #root: TraceSpan | undefined;
  /** Also set if there is no SDK or the run is not sampled; records are then ignored. */
  #isOver = false;
  #context: Context | undefined;
  #start: EventOf<"run_start"> | undefined;
  #hasPast = false;
  #now = 0;
  #end: { readonly event: EventOf<"run_end">; readonly at: number } | undefined;
  readonly #chats = new ChatSpans(this);
  readonly #tools = new ToolSpans(this);
  readonly #usage = { input: 0, output: 0, isKnown: false };
  #model: string | undefined;
  #isCompacted = false;
  #events = 0;
  #droppedSpans = 0;

  constructor(run: ObservedRun, options: TraceRunOptions) {
    this.#run = run;
    this.#options = options;
  }

  get now(): number {
    return this.#now;
  }

  get sessionId(): string {
    return this.#run.sessionId;
  }

  get content(): ContentWriter | undefined {
    return this.#options.content;
  }

  take(record: StampedRecord, isPast: boolean): void {
    if (this.#isOver) return;
    const { envelope, event } = record;
    // A record without a timestamp has the time of the one before it.
    this.#now = Math.max(this.#now, envelope.ts ?? (this.#now === 0 ? Date.now() : 0));
    if (!isKnownEvent(event)) return;
    if (event.type === "run_start") this.#start = event;
    if (isPast) {
      this.#hasPast = true;
      this.#takePast(event);
      return;
    }
    if (this.#root === undefined) this.#open();
    if (this.#root !== undefined) this.#takeLive(this.#root, record, event);
  }

  close(isUnfinished: boolean): void {
    const root = this.#root;
    const isOver = this.#isOver;
    this.#isOver = true;
    if (isOver || root === undefined) return;
    if (isUnfinished && this.#end === undefined) {
      root.set(LOOM.status, "left");
      if (this.#tools.waiting > 0) root.set(LOOM.openApprovals, this.#tools.waiting);
      this.#options.keepPreviousSpan(root.span.spanContext());
    }
    this.#finish(root);
  }

  /** Keeps only what later events refer to. */
  #takePast(event: LoomEvent): void {
    switch (event.type) {
      case "tool_call":
        return this.#tools.takeCall(event, undefined);
      case "tool_approval":
      case "tool_approval_result":
        return this.#tools.takeApproval(event);
      case "tool_start":
      case "tool_end":
        return this.#tools.takePast(event);
      case "compression_applied":
        this.#isCompacted = true;
        return;
      default:
    }
  }

  #open(): void {
    const { sessionId, runId = "" } = this.#run;
    const { tracer, root, agentName } = this.#options;
    const start = this.#start;
    const name = agentName ?? start?.agent;
    const attributes: Attributes = {
      [GEN_AI.operation]: "invoke_agent",
      [GEN_AI.conversation]: sessionId,
      [LOOM.runId]: runId,
      ...(name === undefined ? {} : { [GEN_AI.agent]: name }),
      ...(start?.request_id === undefined ? {} : { [LOOM.requestId]: start.request_id }),
      ...(start?.source === undefined ? {} : { [LOOM.source]: start.source }),
      ...(this.#hasPast ? { [LOOM.isResumed]: true } : {}),
    };
    const previous = this.#options.takePreviousSpan();
    const links: Link[] = previous === undefined ? [] : [{ context: previous }];
    const caller = readTraceParent(start?.context);
    const parent =
      this.#options.takeExpectedContext() ??
      (caller === undefined ? root : this.#options.enterRemote({ ...caller, isRemote: true }));
    const options = { kind: INTERNAL, attributes, links, startTime: toHrTime(this.#now) };
    const span = tracer.startSpan(name === undefined ? "invoke_agent" : `invoke_agent ${name}`, options, parent);
    if (!span.isRecording()) {
      span.end();
      this.#isOver = true;
      return;
    }
    this.#root = new TraceSpan(span, this.#now);
    this.#context = this.#options.enter(parent, span);
    const { content } = this.#options;
    if (content !== undefined && start?.message !== undefined && !this.#hasPast)
      this.#root.set(GEN_AI.inputMessages, content.formatText("user", start.message));
  }

  #takeLive(root: TraceSpan, record: StampedRecord, event: LoomEvent): void {
    switch (event.type) {
      case "llm_start":
        this.#describeModel(root, event);
        return this.#chats.start(record, event, this.#isCompacted);
      case "message_chunk":
      case "reasoning_chunk":
      case "tool_call_chunk":
        return this.#chats.takePiece(record, event);
      case "usage":
        this.#usage.isKnown = true;
        this.#usage.input += event.prompt_tokens;
        this.#usage.output += event.completion_tokens;
        return this.#chats.takeUsage(record, event);
      case "llm_end":
        return this.#chats.end(event);
      case "node_exit":
        return this.#chats.closeFailed(record.envelope.node_id ?? "");
      case "tool_call":
        return this.#tools.takeCall(event, this.#chats.findOutput(record));
      case "tool_approval":
      case "tool_approval_result":
        return this.#tools.takeApproval(event);
      case "tool_start":
        return this.#tools.start(record, event);
      case "tool_end":
        return this.#tools.end(event);
      case "run_end":
        this.#end = { event, at: this.#now };
        if (isTerminal(event)) this.#finish(root);
        return;
      case "reply":
        root.set(GEN_AI.outputMessages, this.#options.content?.formatText("assistant", event.reply));
        return this.#finish(root);
      case "retrieval_complete": {
        const described = this.content?.describeRetrieval(event);
        return this.addEvent("loom.retrieval", { "loom.retrieval.doc_count": event.doc_count, ...described });
      }
      case "compression_applied":
        this.#isCompacted = true;
        return this.addEvent("loom.compression", describeCompression(event));
      case "error":
        return this.addEvent("loom.error", this.#describeError(event));
      default:
    }
  }

  /** The run has the name of its first model. Calls that write summaries do not count. */
  #describeModel(root: TraceSpan, { model = "", purpose }: EventOf<"llm_start">): void {
    if (purpose === "summary") return;
    const { provider, name } = readModelName(model);
    this.#model ??= name === "" ? undefined : name;
    root.set(GEN_AI.provider, provider);
    root.set(GEN_AI.requestModel, this.#model);
  }

  describeFailure(message: string | undefined, code: string | undefined, stage?: string): string | undefined {
    const isHidden = this.content === undefined && mayQuoteContent(code, stage);
    return message === undefined || isHidden ? undefined : this.#options.cleanMessage(message);
  }

  #describeError({ message, code, stage, call_id, details }: EventOf<"error">): Attributes {
    const errorId = details?.["error_id"];
    return dropUndefined({
      [GEN_AI.errorType]: code ?? OTHER_ERROR,
      "loom.error.message": this.describeFailure(message, code, stage),
      ...(typeof errorId === "string" ? { "loom.error.id": this.#options.cleanMessage(errorId) } : {}),
      "loom.error.stage": stage,
      ...(call_id === undefined ? {} : { [GEN_AI.callId]: call_id }),
    });
  }

  startSpan(name: string, isClient: boolean, attributes: Attributes): TraceSpan | undefined {
    if (this.#chats.size + this.#tools.size >= this.#options.maxOpenSpans) {
      this.#droppedSpans++;
      return undefined;
    }
    const options = { kind: isClient ? CLIENT : INTERNAL, attributes, startTime: toHrTime(this.#now) };
    return new TraceSpan(this.#options.tracer.startSpan(name, options, this.#context), this.#now);
  }

  addEvent(name: string, attributes: Attributes): void {
    if (this.#root === undefined) return;
    if (++this.#events <= MAX_EVENTS) this.#root.addEvent(name, attributes, this.#now);
  }

  #finish(root: TraceSpan): void {
    this.#isOver = true;
    if (this.#end !== undefined) this.#now = this.#end.at;
    // If a span processor throws, the other spans still end.
    callAll([() => this.#tools.closeAll(), () => this.#chats.closeAll(), () => this.#endRoot(root)], (end) => end());
  }

  #endRoot(root: TraceSpan): void {
    const end = this.#end;
    if (this.#usage.isKnown) {
      root.set(GEN_AI.inputTokens, this.#usage.input);
      root.set(GEN_AI.outputTokens, this.#usage.output);
    }
    if (end !== undefined) {
      const { status, code, reason } = end.event;
      root.set(LOOM.status, status);
      if (status === "error") {
        root.set(GEN_AI.errorType, code ?? OTHER_ERROR);
        root.fail(this.describeFailure(reason, code) ?? code ?? "the run failed");
      }
    }
    if (this.#droppedSpans > 0) root.set(LOOM.droppedSpans, this.#droppedSpans);
    const droppedEvents = this.#events - MAX_EVENTS;
    if (droppedEvents > 0) root.set(LOOM.droppedEvents, droppedEvents);
    root.end(this.#now);
  }
}

function describeCompression(event: EventOf<"compression_applied">): Attributes {
  return dropUndefined({
    "loom.compression.before_tokens": event.before_tokens,
    "loom.compression.after_tokens": event.after_tokens,
    "loom.compression.method": event.method,
    "loom.compression.messages": event.covered_messages,
  });
}
