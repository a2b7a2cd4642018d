/**
 * The log lines of one run, from its records. It writes nothing for what is past: the process that wrote it has told it.
 * It knows no logger.
 *
 * Invariant: every value of a line has passed the redactor.
 */
import { BoundedMap, type EventOf, isKnownEvent, type LoomEvent, type StampedRecord } from "../../protocol/index.ts";
import type { ObservedRun, RunObserver } from "../observer.ts";
import type { RedactLimits, Redactor } from "./create-redactor.ts";
import { mayQuoteContent } from "./may-quote-content.ts";

export interface LogLine {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly message: string;
  readonly fields: Fields;
}

export interface Fields {
  [name: string]: unknown;
}

export interface LogStage {
  readonly redactor: Redactor;
  readonly contents: boolean;
  readonly maxContentCharacters: number;
  write(line: LogLine): void;
}

/** Of ids, names and messages about errors. */
const TEXT_LIMITS: RedactLimits = { maxCharacters: 500 };
const CONTEXT_LIMITS: RedactLimits = { maxCharacters: 4000 };
const CONTENT_FIELDS: ReadonlySet<string> = new Set(["message", "result", "reply", "query", "summary", "arguments"]);
/** Model calls and questions that are open at once. */
const MAX_OPEN = 1000;

type Tokens = Pick<EventOf<"usage">, "prompt_tokens" | "completion_tokens" | "total_tokens">;

export class LogRun implements RunObserver {
  readonly #run: ObservedRun;
  readonly #stage: LogStage;
  #start: EventOf<"run_start"> | undefined;
  #startedAt: number | undefined;
  #now: number | undefined;
  #hasPast = false;
  #isOpen = false;
  #isOver = false;
  readonly #askedAt = new BoundedMap<number>(MAX_OPEN);
  readonly #usage = new BoundedMap<Tokens>(MAX_OPEN);
  readonly #calls = new BoundedMap<EventOf<"llm_start">>(MAX_OPEN);

  constructor(run: ObservedRun, stage: LogStage) {
    this.#run = run;
    this.#stage = stage;
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
    this.#tell(event, record);
    this.#remember(event);
  }

  close(isLeft: boolean): void {
    if (this.#isOver || !this.#isOpen) return;
    this.#isOver = true;
    if (!isLeft) return;
    const waiting = this.#askedAt.size === 0 ? {} : { open_approvals: this.#askedAt.size };
    this.#write("info", "run left", undefined, { event: "run_left", ...this.#sinceStart(), ...waiting });
  }

  /** What later lines are made of. */
  #remember(event: LoomEvent): void {
    switch (event.type) {
      case "llm_start":
        this.#calls.set(event.llm_call_id, event);
        return;
      case "usage":
        // One that names no call may be of any: it is told with the run's end alone.
        if (event.llm_call_id !== undefined) this.#usage.set(event.llm_call_id, event);
        return;
      case "llm_end":
        this.#usage.delete(event.llm_call_id);
        this.#calls.delete(event.llm_call_id);
        return;
      case "tool_approval":
        this.#askedAt.set(nameCall(event), this.#now ?? 0);
        return;
      case "tool_approval_result":
      case "tool_end":
        this.#askedAt.delete(nameCall(event));
        return;
      default:
    }
  }

  #tell(event: LoomEvent, record: StampedRecord): void {
    switch (event.type) {
      case "run_start":
        return this.#write("info", "run started", record, {
          ...this.#describeStart(),
          context: event.context,
          message: this.#content(event.message),
        });
      case "llm_end":
        return this.#tellModelCall(event, record);
      case "tool_approval":
        return this.#write("info", "approval asked", record, {
          call_id: event.call_id,
          tool: event.name,
          arguments: this.#content(event.arguments),
        });
      case "tool_approval_result": {
        const askedAt = this.#askedAt.get(nameCall(event));
        return this.#write("info", "approval answered", record, {
          call_id: event.call_id,
          tool: event.name,
          decision: event.decision,
          wait_ms: askedAt === undefined || this.#now === undefined ? undefined : Math.max(0, this.#now - askedAt),
          reason: this.#content(event.reason),
        });
      }
      case "tool_call":
        // The arguments are told where contents are, and only there.
        if (this.#stage.contents) this.#tellCall(event, record);
        return;
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
        return this.#write(event.recoverable === true ? "warn" : "error", "error", record, {
          code: event.code,
          stage: event.stage,
          error_type: event.error_type,
          call_id: event.call_id,
          error: this.#message(event.message, event.code, event.stage),
          error_id: event.details?.["error_id"],
        });
      case "run_end":
        return this.#tellEnd(event, record);
      case "reply":
        if (this.#stage.contents) this.#write("info", "reply", record, { reply: this.#content(event.reply) });
        return;
      default:
    }
  }

  #describeStart(): Fields {
    return { agent: this.#start?.agent, source: this.#start?.source };
  }

  #tellCall(event: EventOf<"tool_call">, record: StampedRecord): void {
    this.#write("info", "tool called", record, {
      call_id: event.call_id,
      tool: event.name,
      arguments: this.#content(event.arguments),
    });
  }

  #tellModelCall(event: EventOf<"llm_end">, record: StampedRecord): void {
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

  #tellEnd(event: EventOf<"run_end">, record: StampedRecord): void {
    const { status, summary = {}, code, reason } = event;
    this.#write(status === "error" ? "error" : "info", "run ended", record, {
      status,
      // Only what is known: a summary may hold anything.
      duration_ms: summary.duration_ms ?? this.#sinceStart()["duration_ms"],
      prompt_tokens: summary.prompt_tokens,
      completion_tokens: summary.completion_tokens,
      total_tokens: summary.total_tokens,
      tool_calls: summary.tool_calls,
      code,
      reason: this.#message(reason, code),
    });
  }

  #sinceStart(): Fields {
    if (this.#startedAt === undefined || this.#now === undefined) return {};
    return { duration_ms: Math.max(0, this.#now - this.#startedAt) };
  }

  #content(value: unknown): unknown {
    return this.#stage.contents ? value : undefined;
  }

  #message(message: string | undefined, code: string | undefined, stage?: string): unknown {
    return mayQuoteContent(code, stage) ? this.#content(message) : message;
  }

  #write(level: LogLine["level"], message: string, record: StampedRecord | undefined, own: Fields): void {
    const { sessionId, runId } = this.#run;
    const fields: Fields = {};
    const put = (name: string, value: unknown): void => {
      if (value !== undefined) fields[name] = this.#stage.redactor.cleanValue(value, this.#limitsOf(name));
    };
    put("event", record?.event.type);
    put("request_id", this.#start?.request_id);
    put("session_id", sessionId);
    put("run_id", runId);
    put("node_id", record?.envelope.node_id);
    put("event_id", record?.envelope.event_id);
    put("ts", record?.envelope.ts);
    for (const name in own) put(name, own[name]);
    this.#stage.write({ level, message, fields });
  }

  #limitsOf(name: string): RedactLimits {
    if (CONTENT_FIELDS.has(name)) return { maxCharacters: this.#stage.maxContentCharacters };
    return name === "context" ? CONTEXT_LIMITS : TEXT_LIMITS;
  }
}

function nameCall({ call_id, name = "" }: { readonly call_id?: string; readonly name?: string }): string {
  return call_id ?? `\u0000${name}`;
}
