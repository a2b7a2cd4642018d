/** The result of `run`, built from the records of the run. */
import type { RunEnd } from "../engine/index.ts";
import { dropUndefined } from "../protocol/drop-undefined.ts";
import {
  ERROR_CODES,
  type ErrorCode,
  isLoomError,
  type JsonObject,
  LoomError,
  type StampedRecord,
} from "../protocol/index.ts";
import type { ErrorEvent, ReplyEvent, RetrievalCompleteEvent, RunEndEvent } from "../protocol/events.generated.ts";

/** A passage that was found for the question. */
export type RunSource = NonNullable<RetrievalCompleteEvent["sources"]>[number];

/** Tokens of all model calls of a run, as reported by the provider. */
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

/** The result of a completed `run`. */
export interface RunResult extends RunIds {
  readonly status: "completed";
  /** The complete answer. */
  readonly reply: string;
  readonly usage: RunUsage;
  /** Number of tool calls. */
  readonly toolCalls: number;
  readonly durationMs: number;
  /** Passages found for the question; the answer cites them by `ref`. Absent without a search. */
  readonly sources?: readonly RunSource[];
  /** Problems that did not end the run, such as a failed search. At most 100. */
  readonly errors: readonly RunProblem[];
}

/** An error event that did not end the run. */
export interface RunProblem {
  readonly message: string;
  readonly code?: string;
  readonly stage?: string;
}

/** Maximum sources in a result; the log has all of them. */
const MAX_SOURCES = 1000;
const MAX_ERRORS = 100;

/** Folds the records of a run into its result. */
export class RunResultFold {
  #reply = "";
  #summary: RunEndEvent["summary"];
  #sources: RunSource[] | undefined;
  readonly #errors: RunProblem[] = [];
  #error: ErrorEvent | undefined;

  add({ event }: StampedRecord): void {
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

  /** The result of a completed run. */
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

  /** The error of a run that did not complete. `thrown` is the original error, if known. */
  toError({ status, code, reason }: RunEnd, thrown: unknown): LoomError {
    // An earlier error is not the reason of a cancelled run.
    const { stage, details } = (status === "error" ? this.#error : undefined) ?? {};
    const more: JsonObject = { ...details, ...(stage === undefined ? {} : { stage }) };
    const cause = status === "error" ? thrown : undefined;
    return new LoomError(readCode(status, code), reason ?? `The run ended with status ${status}`, more, { cause });
  }
}

/** Skips LoomErrors that were only rethrown with more details, and returns the original cause. */
export function findCause({ code, cause }: LoomError): unknown {
  let found = cause;
  while (isLoomError(found, code)) found = found.cause;
  return found;
}

function describeProblem({ message, code, stage }: ErrorEvent): RunProblem {
  return dropUndefined({ message, code, stage });
}

export function describeIds({ sessionId, runId, requestId }: RunIds): JsonObject {
  return { session_id: sessionId, run_id: runId, request_id: requestId };
}

/** Maps unknown codes, such as those of ingested runs, to the codes of this package. */
function readCode(status: RunEnd["status"], code = ""): ErrorCode {
  if (Object.hasOwn(ERROR_CODES, code)) return code as ErrorCode;
  return status === "cancelled" ? "cancelled" : "run_failed";
}
