/**
 * What can be measured of runs, one method each. `RunMeter` finds it in the records; `MetricsCollector` and the
 * Prometheus observer keep it. It knows neither records nor how numbers are shown.
 *
 * Names come as they were written, of any length and number: whoever keeps them has a limit. Numbers are sane: counts are
 * whole and not negative, times are milliseconds from 0 to `MAX_ELAPSED_MS`, or undefined where nobody knows.
 */
export type RunOutcome = "completed" | "error" | "cancelled";
export type ApprovalDecision = "approved" | "rejected" | "expired";

/** The longest time that is told; more counts as this. */
export const MAX_ELAPSED_MS: number = 30 * 24 * 3600 * 1000;
/** The largest count that one event adds. */
const MAX_COUNT = 1e12;

export interface Tokens {
  readonly prompt: number;
  readonly completion: number;
  readonly total: number;
}

export interface Measures {
  startRun(agent: string): void;
  endRun(agent: string, outcome: RunOutcome, elapsedMs: number | undefined): void;
  /** From the start of the run to the first piece of its answer. */
  beginAnswer(agent: string, elapsedMs: number): void;
  addIteration(): void;
  startModelCall(model: string): void;
  endModelCall(model: string, isError: boolean, elapsedMs: number | undefined): void;
  /** From the start of the call to the first piece of anything it says, thinks or calls. */
  takeFirstToken(model: string, elapsedMs: number): void;
  addTokens(model: string, tokens: Tokens): void;
  startToolCall(tool: string): void;
  endToolCall(tool: string, isError: boolean, elapsedMs: number | undefined): void;
  addError(stage: string, code: string): void;
  addRetrieval(documents: number): void;
  addCompression(savedTokens: number): void;
  askApproval(): void;
  answerApproval(decision: ApprovalDecision, waitMs: number | undefined): void;
  /** A call was forgotten before it ended, since too many were open: its time may be missing. */
  loseCall(): void;
}

export function readCount(value: unknown): number {
  if (typeof value !== "number" || !(value > 0)) return 0;
  return Math.min(Math.trunc(value), MAX_COUNT);
}

/** Undefined for what is no time. */
export function readElapsed(value: unknown): number | undefined {
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) return undefined;
  // Not the zero that has a sign: it would not come back from JSON.
  return value === 0 ? 0 : Math.min(value, MAX_ELAPSED_MS);
}

/** A clock that was set back must not make times negative. */
export function readSpan(since: number | undefined, until: number | undefined): number | undefined {
  if (since === undefined || until === undefined) return undefined;
  return readElapsed(Math.max(0, until - since));
}
