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
import { GEN_AI, LOOM, OTHER_ERROR, readModelName, readTraceParent, toHrTime } from "./gen-ai.ts";
import { type TracedModelCall, TracedModelCalls, keyOfModelCall } from "./traced-model-calls.ts";
import { TraceSpan } from "./trace-span.ts";
import { type SpanHost, ToolSpans } from "./tool-spans.ts";
import type { ContentWriter } from "./content-writer.ts";

/** Values of `SpanKind`. */
const INTERNAL = 0;
const CLIENT = 2;

/** The tracer, the limits and the contexts of one run. */
export interface TraceRunOptions {
  readonly tracer: Tracer;
  readonly maxOpenSpans: number;
  readonly maxEvents: number;
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
  readonly #models = new TracedModelCalls();
  readonly #tools: ToolSpans;
  readonly #usage = { input: 0, output: 0, isKnown: false };
  #model: string | undefined;
  #isCompacted = false;
  #events = 0;
  #droppedSpans = 0;

  constructor(run: ObservedRun, options: TraceRunOptions) {
    this.#run = run;
    this.#options = options;
    this.#tools = new ToolSpans(this, options.maxOpenSpans);
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
        return this.#startModelCall(root, record, event);
      case "message_chunk":
      case "reasoning_chunk":
      case "tool_call_chunk":
        return this.#takePiece(record, event);
      case "usage":
        return this.#takeUsage(record, event);
      case "llm_end":
        return this.#endModelCall(event);
      case "node_exit":
        callAll(this.#models.listFailed(record.envelope.node_id ?? ""), (call) => this.#closeModelCall(call));
        return;
      case "tool_call":
        return this.#tools.takeCall(event, this.#models.findOnly(record));
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
      default:
        this.#addSpanEvent(event);
    }
  }

  #addSpanEvent(event: LoomEvent): void {
    if (event.type === "compression_applied") this.#isCompacted = true;
    const formed = createSpanEvent(event, this.#options);
    if (formed !== undefined) this.addEvent(formed.name, formed.attributes);
  }

  #startModelCall(root: TraceSpan, { envelope }: StampedRecord, event: EventOf<"llm_start">): void {
    const key = keyOfModelCall(event);
    const known = this.#models.find(key);
    if (known?.failed !== undefined && (event.attempt ?? 0) > 0) {
      known.span.addEvent("loom.retry", { "loom.error.message": known.failed.message }, this.#now);
      known.attempts++;
      known.failed = undefined;
      known.output = [];
      known.characters = 0;
      return;
    }
    if (known !== undefined) this.#closeModelCall(known);
    const { provider, name } = readModelName(event.model ?? "");
    const isSilent = event.purpose === "summary";
    if (!isSilent) {
      this.#model ??= name === "" ? undefined : name;
      root.set(GEN_AI.provider, provider);
      root.set(GEN_AI.requestModel, this.#model);
    }
    const span = this.startSpan(name === "" ? "chat" : `chat ${name}`, true, {
      [GEN_AI.operation]: "chat",
      [GEN_AI.conversation]: this.#run.sessionId,
      ...(provider === undefined ? {} : { [GEN_AI.provider]: provider }),
      ...(name === "" ? {} : { [GEN_AI.requestModel]: name }),
      ...(envelope.node_id === undefined ? {} : { [LOOM.nodeId]: envelope.node_id }),
      ...(event.purpose === undefined ? {} : { [LOOM.purpose]: event.purpose }),
      ...(this.#isCompacted ? { [GEN_AI.isCompacted]: true } : {}),
    });
    if (span === undefined) return;
    this.#models.add({
      key,
      span,
      nodeId: envelope.node_id ?? "",
      startedAt: this.#now,
      isSilent,
      attempts: 1,
      firstChunkAt: undefined,
      inputTokens: 0,
      outputTokens: 0,
      hasUsage: false,
      failed: undefined,
      output: [],
      characters: 0,
    });
  }

  /** Called for every token, so it must be cheap. */
  #takePiece(record: StampedRecord, event: EventOf<"message_chunk" | "reasoning_chunk" | "tool_call_chunk">): void {
    const call = this.#models.findOnly(record);
    if (call === undefined) return;
    call.firstChunkAt ??= this.#now;
    this.#options.content?.takePiece(event, call);
  }

  #takeUsage(record: StampedRecord, event: EventOf<"usage">): void {
    this.#usage.isKnown = true;
    this.#usage.input += event.prompt_tokens;
    this.#usage.output += event.completion_tokens;
    const { llm_call_id } = event;
    const call = llm_call_id === undefined ? this.#models.findOnly(record) : this.#models.findEnded(llm_call_id);
    if (call === undefined) return;
    call.hasUsage = true;
    call.inputTokens += event.prompt_tokens;
    call.outputTokens += event.completion_tokens;
  }

  #endModelCall(event: EventOf<"llm_end">): void {
    const call = this.#models.findEnded(event.llm_call_id);
    if (call === undefined) return;
    const { finish_reason, error, error_code: code, model } = event;
    if (finish_reason !== undefined) call.span.set(GEN_AI.finishReasons, [finish_reason]);
    if (error !== undefined || finish_reason === "error") {
      const message = createFailureMessage(this.#options, error, code);
      call.failed = { at: this.#now, message: message ?? code ?? "the model call failed", code: code ?? OTHER_ERROR };
      return;
    }
    if (finish_reason === "cancelled") call.span.set(LOOM.isCancelled, true);
    else call.span.set(GEN_AI.responseModel, model === undefined ? undefined : readModelName(model).name);
    call.span.set(GEN_AI.outputMessages, this.#options.content?.formatOutput(call, finish_reason));
    this.#endCallSpan(call, this.#now);
  }

  /** Ends a call with no further attempt, or one whose end was not seen. */
  #closeModelCall(call: TracedModelCall): void {
    if (call.failed === undefined) call.span.set(LOOM.isIncomplete, true);
    else {
      call.span.set(GEN_AI.errorType, call.failed.code);
      call.span.fail(call.failed.message);
    }
    this.#endCallSpan(call, call.failed?.at ?? this.#now);
  }

  #endCallSpan(call: TracedModelCall, at: number): void {
    const { span, firstChunkAt } = call;
    if (firstChunkAt !== undefined) {
      span.set(GEN_AI.stream, true);
      span.set(GEN_AI.firstChunk, Math.max(0, firstChunkAt - call.startedAt) / 1000);
    }
    if (call.hasUsage) {
      span.set(GEN_AI.inputTokens, call.inputTokens);
      span.set(GEN_AI.outputTokens, call.outputTokens);
    }
    if (call.attempts > 1) span.set(LOOM.attempts, call.attempts);
    this.#models.delete(call);
    span.end(at);
  }

  startSpan(name: string, isClient: boolean, attributes: Attributes): TraceSpan | undefined {
    if (this.#models.size + this.#tools.size >= this.#options.maxOpenSpans) {
      this.#droppedSpans++;
      return undefined;
    }
    const options = { kind: isClient ? CLIENT : INTERNAL, attributes, startTime: toHrTime(this.#now) };
    return new TraceSpan(this.#options.tracer.startSpan(name, options, this.#context), this.#now);
  }

  addEvent(name: string, attributes: Attributes): void {
    if (this.#root === undefined) return;
    if (++this.#events <= this.#options.maxEvents) this.#root.addEvent(name, attributes, this.#now);
  }

  #finish(root: TraceSpan): void {
    this.#isOver = true;
    if (this.#end !== undefined) this.#now = this.#end.at;
    // If a span processor throws, the other spans still end.
    callAll(
      [
        () => this.#tools.closeAll(),
        () => callAll([...this.#models.values()], (call) => this.#closeModelCall(call)),
        () => this.#endRoot(root),
      ],
      (end) => end(),
    );
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
        root.fail(createFailureMessage(this.#options, reason, code) ?? code ?? "the run failed");
      }
    }
    if (this.#droppedSpans > 0) root.set(LOOM.droppedSpans, this.#droppedSpans);
    const droppedEvents = this.#events - this.#options.maxEvents;
    if (droppedEvents > 0) root.set(LOOM.droppedEvents, droppedEvents);
    root.end(this.#now);
  }
}

interface SpanEvent {
  readonly name: string;
  readonly attributes: Attributes;
}

/** Creates the events on the span of a run: retrievals, compressed prompts and errors. */
function createSpanEvent(event: LoomEvent, writer: TraceRunOptions): SpanEvent | undefined {
  switch (event.type) {
    case "retrieval_complete":
      return {
        name: "loom.retrieval",
        attributes: { "loom.retrieval.doc_count": event.doc_count, ...writer.content?.describeRetrieval(event) },
      };
    case "compression_applied":
      return { name: "loom.compression", attributes: describeCompression(event) };
    case "error":
      return { name: "loom.error", attributes: describeError(event, writer) };
    default:
      return undefined;
  }
}

/** Returns the message of a failure; undefined if it may quote contents and content capture is off. */
function createFailureMessage(
  writer: TraceRunOptions,
  message: string | undefined,
  code: string | undefined,
  stage?: string,
): string | undefined {
  if (message === undefined || (writer.content === undefined && mayQuoteContent(code, stage))) return undefined;
  return writer.cleanMessage(message);
}

function describeCompression(event: EventOf<"compression_applied">): Attributes {
  return dropUndefined({
    "loom.compression.before_tokens": event.before_tokens,
    "loom.compression.after_tokens": event.after_tokens,
    "loom.compression.method": event.method,
    "loom.compression.messages": event.covered_messages,
  });
}

function describeError(
  { message, code, stage, call_id, details }: EventOf<"error">,
  writer: TraceRunOptions,
): Attributes {
  const safeMessage = createFailureMessage(writer, message, code, stage);
  const errorId = details?.["error_id"];
  return dropUndefined({
    [GEN_AI.errorType]: code ?? OTHER_ERROR,
    "loom.error.message": safeMessage,
    ...(typeof errorId === "string" ? { "loom.error.id": writer.cleanMessage(errorId) } : {}),
    "loom.error.stage": stage,
    ...(call_id === undefined ? {} : { [GEN_AI.callId]: call_id }),
  });
}
