/**
 * The interface between measuring and storing metrics. `RunMeter` finds measurements in records; `MetricsCollector` and
 * the Prometheus observer store them.
 *
 * Names can have any length and number: the receiver must limit them. Counts are non-negative integers; times are
 * milliseconds from 0 to `MAX_ELAPSED_MS`, or undefined if unknown.
 */

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

/** Receives the measurements of runs. */
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

/** Returns a safe count: 0 if the value is not a positive number, limited to `MAX_COUNT`. */
export function readCount(value: unknown): number {
  if (typeof value !== "number" || !(value > 0)) return 0;
  return Math.min(Math.trunc(value), MAX_COUNT);
}

/** Returns undefined if the value is not a valid time. */
export function readElapsed(value: unknown): number | undefined {
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) return undefined;
  // Avoids -0, which JSON does not preserve.
  return value === 0 ? 0 : Math.min(value, MAX_ELAPSED_MS);
}

/** Returns 0 if the clock was set back. */
export function readSpan(since: number | undefined, until: number | undefined): number | undefined {
  if (since === undefined || until === undefined) return undefined;
  return readElapsed(Math.max(0, until - since));
}
