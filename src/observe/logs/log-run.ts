/**
 * Creates the log lines of one run from its records. Past records produce no lines, because the process that wrote them
 * has logged them. It does not know the logger.
 *
 * Invariant: every value of a line has passed the redactor.
 */
import { type EventOf, isKnownEvent, type LoomEvent, type StampedRecord } from "../../protocol/index.ts";
import { BoundedMap } from "../../protocol/bounded-map.ts";
import { isForkNotice } from "../../protocol/record.ts";
import type { ObservedRun, RunObserver } from "../observer.ts";
import type { RedactLimits, Redactor } from "./create-redactor.ts";
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

/** Limits for IDs, names and error messages. */
const TEXT_LIMITS: RedactLimits = { maxCharacters: 500 };
const CONTEXT_LIMITS: RedactLimits = { maxCharacters: 4000 };
const CONTENT_FIELDS: ReadonlySet<string> = new Set(["message", "result", "reply", "query", "summary", "arguments"]);
/** Maximum open model calls and approvals that are remembered. */
const MAX_OPEN = 1000;

type CallTokens = Pick<EventOf<"usage">, "prompt_tokens" | "completion_tokens" | "total_tokens">;

export class LogRun implements RunObserver {
  readonly #run: ObservedRun;
  readonly #options: LogRunOptions;
  #start: EventOf<"run_start"> | undefined;
  #startedAt: number | undefined;
  #now: number | undefined;
  #hasPast = false;
  #isOpen = false;
  #isOver = false;
  readonly #askedAt = new BoundedMap<number>(MAX_OPEN);
  readonly #usage = new BoundedMap<CallTokens>(MAX_OPEN);
  readonly #calls = new BoundedMap<EventOf<"llm_start">>(MAX_OPEN);

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
    if (isPast) {
      this.#hasPast = true;
      this.#remember(event);
      return;
    }
    if (!this.#isOpen) {
      this.#isOpen = true;
      if (this.#hasPast) this.#write("info", "run resumed", record, this.#describeStart());
    }
    this.#logEvent(event, record);
    this.#remember(event);
  }

  close(isUnfinished: boolean): void {
    if (this.#isOver || !this.#isOpen) return;
    this.#isOver = true;
    if (!isUnfinished) return;
    const waiting = this.#askedAt.size === 0 ? {} : { open_approvals: this.#askedAt.size };
    this.#write("info", "run left unfinished", undefined, { event: "run_left", ...this.#sinceStart(), ...waiting });
  }

  /** Remembers what later lines need. */
  #remember(event: LoomEvent): void {
    switch (event.type) {
      case "llm_start":
        this.#calls.set(event.llm_call_id, event);
        return;
      case "usage":
        // Usage without a call ID is reported only with the end of the run.
        if (event.llm_call_id !== undefined) this.#usage.set(event.llm_call_id, event);
        return;
      case "llm_end":
        this.#usage.delete(event.llm_call_id);
        this.#calls.delete(event.llm_call_id);
        return;
      case "tool_approval":
        this.#askedAt.set(keyOfCall(event), this.#now ?? 0);
        return;
      case "tool_approval_result":
      case "tool_end":
        this.#askedAt.delete(keyOfCall(event));
        return;
      default:
    }
  }

  #logEvent(event: LoomEvent, record: StampedRecord): void {
    switch (event.type) {
      case "run_start":
        return this.#write("info", "run started", record, {
          ...this.#describeStart(),
          context: event.context,
          message: this.#content(event.message),
        });
      case "llm_end":
        return this.#logModelCall(event, record);
      case "tool_approval":
        return this.#write("info", "approval requested", record, {
          call_id: event.call_id,
          tool: event.name,
          arguments: this.#content(event.arguments),
        });
      case "tool_approval_result": {
        const askedAt = this.#askedAt.get(keyOfCall(event));
        return this.#write("info", "approval answered", record, {
          call_id: event.call_id,
          tool: event.name,
          decision: event.decision,
          wait_ms: askedAt === undefined || this.#now === undefined ? undefined : Math.max(0, this.#now - askedAt),
          reason: this.#content(event.reason),
        });
      }
      case "tool_call":
        // Arguments are contents, and without them the line says nothing new.
        if (!this.#options.contents) return;
        return this.#write("info", "tool called", record, {
          call_id: event.call_id,
          tool: event.name,
          arguments: event.arguments,
        });
      case "tool_end":
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
    const { llm_call_id } = event;
    const tokens = this.#usage.get(llm_call_id);
    const begun = this.#calls.get(llm_call_id);
    const isFailed = event.error !== undefined || event.finish_reason === "error";
    this.#write(isFailed ? "warn" : "info", isFailed ? "model call failed" : "model call ended", record, {
      llm_call_id,
      model: event.model ?? begun?.model,
      purpose: event.purpose ?? begun?.purpose,
      attempt: begun?.attempt,
      finish_reason: event.finish_reason,
      duration_ms: event.duration_ms,
      prompt_tokens: tokens?.prompt_tokens,
      completion_tokens: tokens?.completion_tokens,
      total_tokens: tokens?.total_tokens,
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
    const { sessionId, runId } = this.#run;
    const fields: LogFields = {};
    const put = (name: string, value: unknown): void => {
      if (value !== undefined) fields[name] = this.#options.redactor.cleanValue(value, this.#limitsOf(name));
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

  #limitsOf(name: string): RedactLimits {
    if (CONTENT_FIELDS.has(name)) return { maxCharacters: this.#options.maxContentCharacters };
    return name === "context" ? CONTEXT_LIMITS : TEXT_LIMITS;
  }
}

function keyOfCall({ call_id, name = "" }: { readonly call_id?: string; readonly name?: string }): string {
  return call_id ?? `\u0000${name}`;
}
