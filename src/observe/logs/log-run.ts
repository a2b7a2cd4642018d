/**
 * Creates the log lines of one run from its records. Past records produce no lines, because the process that wrote them
 * has logged them. It does not know the logger.
 *
 * Invariant: every value of a line has passed the redactor.
 */
import { type EventOf, isKnownEvent, type LoomEvent, type StampedRecord } from "../../protocol/index.ts";
import { isForkNotice } from "../../protocol/record.ts";
import type { ObservedRun, RunObserver } from "../observer.ts";
import { ModelCalls, ToolCalls } from "../open-calls.ts";
import type { Redactor } from "./create-redactor.ts";
import { mayQuoteContent } from "./may-quote-content.ts";

/** One log line before it is written. */
export interface LogLine {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly message: string;
  readonly fields: LogFields;
}

export interface LogFields {
  [name: string]: unknown;
}

export interface LogRunOptions {
  readonly redactor: Redactor;
  readonly contents: boolean;
  readonly maxContentCharacters: number;
  write(line: LogLine): void;
}

/** Maximum characters of IDs, names and error messages, and of the context. */
const MAX_TEXT = 500;
const MAX_CONTEXT = 4000;
const CONTENT_FIELDS: ReadonlySet<string> = new Set(["message", "result", "reply", "query", "summary", "arguments"]);

export class LogRun implements RunObserver {
  readonly #run: ObservedRun;
  readonly #options: LogRunOptions;
  #start: EventOf<"run_start"> | undefined;
  #startedAt: number | undefined;
  #now: number | undefined;
  #hasPast = false;
  /** The current record is past: it is followed, and no line is written. */
  #isPast = false;
  #isOpen = false;
  #isOver = false;
  readonly #models = new ModelCalls();
  readonly #tools = new ToolCalls();

  constructor(run: ObservedRun, options: LogRunOptions) {
    this.#run = run;
    this.#options = options;
  }

  take(record: StampedRecord, isPast: boolean): void {
    if (this.#isOver) return;
    const { event, envelope } = record;
    this.#now = envelope.ts ?? this.#now;
    if (!isKnownEvent(event)) return;
    if (event.type === "run_start") {
      this.#start = event;
      this.#startedAt = envelope.ts;
    }
    this.#isPast = isPast;
    this.#hasPast ||= isPast;
    if (!isPast && !this.#isOpen) {
      this.#isOpen = true;
      if (this.#hasPast) this.#write("info", "run resumed", record, this.#describeStart());
    }
    this.#takeEvent(event, record);
  }

  close(isUnfinished: boolean): void {
    if (this.#isOver || !this.#isOpen) return;
    this.#isOver = true;
    if (!isUnfinished) return;
    const { waiting } = this.#tools;
    this.#write("info", "run left unfinished", undefined, {
      event: "run_left",
      ...this.#sinceStart(),
      open_approvals: waiting === 0 ? undefined : waiting,
    });
  }

  #takeEvent(event: LoomEvent, record: StampedRecord): void {
    switch (event.type) {
      case "run_start":
        return this.#write("info", "run started", record, {
          ...this.#describeStart(),
          context: event.context,
          message: this.#content(event.message),
        });
      case "llm_start":
        this.#models.start(event, record.envelope.node_id ?? "", this.#now);
        return;
      case "usage":
        // Usage without a call ID is reported only with the end of the run.
        this.#models.takeUsage(event);
        return;
      case "llm_end":
        return this.#logModelCall(event, record);
      case "tool_approval":
        this.#tools.take(event, this.#now);
        return this.#write("info", "approval requested", record, {
          call_id: event.call_id,
          tool: event.name,
          arguments: this.#content(event.arguments),
        });
      case "tool_approval_result": {
        const change = this.#tools.take(event, this.#now);
        return this.#write("info", "approval answered", record, {
          call_id: event.call_id,
          tool: event.name,
          decision: event.decision,
          wait_ms: change?.call.waitMs,
          reason: this.#content(event.reason),
        });
      }
      case "tool_call":
        this.#tools.take(event, this.#now);
        // Arguments are contents, and without them the line says nothing new.
        if (!this.#options.contents) return;
        return this.#write("info", "tool called", record, {
          call_id: event.call_id,
          tool: event.name,
          arguments: event.arguments,
        });
      case "tool_start":
        this.#tools.take(event, this.#now);
        return;
      case "tool_end":
        this.#tools.take(event, this.#now);
        return this.#write(event.is_error ? "warn" : "info", event.is_error ? "tool failed" : "tool ended", record, {
          call_id: event.call_id,
          tool: event.name,
          is_error: event.is_error,
          code: event.error_code,
          duration_ms: event.duration_ms,
          result: this.#content(event.result),
        });
      case "retrieval_complete":
        return this.#write("info", "documents retrieved", record, {
          doc_count: event.doc_count,
          query: this.#content(event.query),
        });
      case "compression_applied":
        return this.#write("info", "prompt compressed", record, {
          before_tokens: event.before_tokens,
          after_tokens: event.after_tokens,
          method: event.method,
          covered_messages: event.covered_messages,
          summary: this.#content(event.summary),
        });
      case "error":
        if (isForkNotice(event))
          return this.#write("info", "run continued from a checkpoint", record, {
            state_edited: event.details?.["state_edited"],
          });
        return this.#write(event.recoverable === true ? "warn" : "error", "error", record, {
          code: event.code,
          stage: event.stage,
          error_type: event.error_type,
          call_id: event.call_id,
          error: this.#message(event.message, event.code, event.stage),
          error_id: event.details?.["error_id"],
        });
      case "run_end":
        return this.#logRunEnd(event, record);
      case "reply":
        if (this.#options.contents) this.#write("info", "reply", record, { reply: this.#content(event.reply) });
        return;
      default:
    }
  }

  #describeStart(): LogFields {
    return { agent: this.#start?.agent, source: this.#start?.source };
  }

  #logModelCall(event: EventOf<"llm_end">, record: StampedRecord): void {
    const { start, usage } = this.#models.end(event) ?? {};
    const isFailed = event.error !== undefined || event.finish_reason === "error";
    this.#write(isFailed ? "warn" : "info", isFailed ? "model call failed" : "model call ended", record, {
      llm_call_id: event.llm_call_id,
      model: event.model ?? start?.model,
      purpose: event.purpose ?? start?.purpose,
      attempt: start?.attempt,
      finish_reason: event.finish_reason,
      duration_ms: event.duration_ms,
      prompt_tokens: usage?.prompt_tokens,
      completion_tokens: usage?.completion_tokens,
      total_tokens: usage?.total_tokens,
      code: event.error_code,
      error: this.#message(event.error, event.error_code),
    });
  }

  #logRunEnd(event: EventOf<"run_end">, record: StampedRecord): void {
    const { status, summary = {}, code, reason } = event;
    this.#write(status === "error" ? "error" : "info", "run ended", record, {
      status,
      // Only known fields: a summary may contain anything.
      duration_ms: summary.duration_ms ?? this.#sinceStart()["duration_ms"],
      prompt_tokens: summary.prompt_tokens,
      completion_tokens: summary.completion_tokens,
      total_tokens: summary.total_tokens,
      tool_calls: summary.tool_calls,
      code,
      reason: this.#message(reason, code),
    });
  }

  #sinceStart(): LogFields {
    if (this.#startedAt === undefined || this.#now === undefined) return {};
    return { duration_ms: Math.max(0, this.#now - this.#startedAt) };
  }

  #content(value: unknown): unknown {
    return this.#options.contents ? value : undefined;
  }

  #message(message: string | undefined, code: string | undefined, stage?: string): unknown {
    return mayQuoteContent(code, stage) ? this.#content(message) : message;
  }

  #write(level: LogLine["level"], message: string, record: StampedRecord | undefined, own: LogFields): void {
    if (this.#isPast) return;
    const { sessionId, runId } = this.#run;
    const fields: LogFields = {};
    const put = (name: string, value: unknown): void => {
      if (value !== undefined) fields[name] = this.#options.redactor.cleanValue(value, this.#findLimit(name));
    };
    put("event", record?.event.type);
    put("request_id", this.#start?.request_id);
    put("session_id", sessionId);
    put("run_id", runId);
    put("node_id", record?.envelope.node_id);
    put("event_id", record?.envelope.event_id);
    put("ts", record?.envelope.ts);
    for (const name in own) put(name, own[name]);
    this.#options.write({ level, message, fields });
  }

  #findLimit(name: string): number {
    if (CONTENT_FIELDS.has(name)) return this.#options.maxContentCharacters;
    return name === "context" ? MAX_CONTEXT : MAX_TEXT;
  }
}
