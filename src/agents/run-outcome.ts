/**
 * What came of a run, gathered from its records for whoever asked for it: a fold that keeps what a result has and
 * nothing else. It knows no session.
 */
import type { RunEnd } from "../engine/index.ts";
import {
  ERROR_CODES,
  type ErrorCode,
  type ErrorEvent,
  isLoomError,
  type JsonObject,
  LoomError,
  type ReplyEvent,
  type RetrievalCompleteEvent,
  type RunEndEvent,
  type StampedRecord,
} from "../protocol/index.ts";

export type RunSource = NonNullable<RetrievalCompleteEvent["sources"]>[number];

/** Of all model calls of a run, as far as the provider counts them. */
export interface RunUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly totalTokens: number;
}

export interface RunIds {
  readonly sessionId: string;
  readonly runId: string;
  readonly requestId: string;
}

export interface RunResult extends RunIds {
  readonly status: "completed";
  readonly reply: string;
  readonly usage: RunUsage;
  readonly toolCalls: number;
  readonly durationMs: number;
  /** What was found for the question; the answer refers to them by their `ref`. Absent where nothing was looked for. */
  readonly sources?: readonly RunSource[];
  /** What went wrong on the way without ending it: a search that failed, iterations that were used up. The first 100. */
  readonly errors: readonly RunProblem[];
}

export interface RunProblem {
  readonly message: string;
  readonly code?: string;
  readonly stage?: string;
}

/** Sources of one run that are given back; the log has all of them. */
const MAX_SOURCES = 1000;
const MAX_ERRORS = 100;

export class RunOutcome {
  #reply = "";
  #summary: RunEndEvent["summary"];
  #sources: RunSource[] | undefined;
  readonly #errors: RunProblem[] = [];
  #error: ErrorEvent | undefined;

  take({ event }: StampedRecord): void {
    switch (event.type) {
      case "reply":
        this.#reply = (event as ReplyEvent).reply;
        break;
      case "run_end":
        this.#summary = (event as RunEndEvent).summary;
        break;
      case "error":
        this.#error = event as ErrorEvent;
        if (this.#errors.length < MAX_ERRORS) this.#errors.push(describeProblem(this.#error));
        break;
      case "retrieval_complete": {
        const { sources = [] } = event as RetrievalCompleteEvent;
        this.#sources = [...(this.#sources ?? []), ...sources].slice(0, MAX_SOURCES);
        break;
      }
    }
  }

  /** Of a run that completed. */
  toResult(ids: RunIds): RunResult {
    const summary = this.#summary ?? {};
    const { prompt_tokens: promptTokens = 0, completion_tokens: completionTokens = 0 } = summary;
    const { total_tokens: totalTokens = 0, tool_calls: toolCalls = 0, duration_ms: durationMs = 0 } = summary;
    const sources = this.#sources;
    return {
      ...ids,
      status: "completed",
      reply: this.#reply,
      usage: { promptTokens, completionTokens, totalTokens },
      toolCalls,
      durationMs,
      ...(sources === undefined ? {} : { sources }),
      errors: this.#errors,
    };
  }

  /** Of one that did not; `thrown` is what made it fail, where that is known. */
  toError({ status, code, reason }: RunEnd, thrown: unknown): LoomError {
    // What went wrong before somebody cancelled it is not why it ended.
    const { stage, details } = (status === "error" ? this.#error : undefined) ?? {};
    const more: JsonObject = { ...details, ...(stage === undefined ? {} : { stage }) };
    const cause = status === "error" ? thrown : undefined;
    return new LoomError(readCode(status, code), reason ?? `the run ended: ${status}`, more, { cause });
  }
}

/** What is behind an error that was only given more details on its way. */
export function findCause({ code, cause }: LoomError): unknown {
  let found = cause;
  while (isLoomError(found, code)) found = found.cause;
  return found;
}

function describeProblem({ message, code, stage }: ErrorEvent): RunProblem {
  return { message, ...(code === undefined ? {} : { code }), ...(stage === undefined ? {} : { stage }) };
}

export function describeIds({ sessionId, runId, requestId }: RunIds): JsonObject {
  return { session_id: sessionId, run_id: runId, request_id: requestId };
}

/** Codes of others are for people: ours are a closed set. */
function readCode(status: RunEnd["status"], code = ""): ErrorCode {
  if (Object.hasOwn(ERROR_CODES, code)) return code as ErrorCode;
  return status === "cancelled" ? "cancelled" : "run_failed";
}
