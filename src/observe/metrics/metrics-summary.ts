/** The result of `MetricsCollector.summary()`: plain numbers that can be written as JSON. */
import type { StreamEnd } from "./server-meter.ts";
import type { TimingSummary } from "./timing.ts";

/** Tokens used by model calls. */
export interface TokenSummary {
  readonly prompt: number;
  readonly completion: number;
  /** As reported by the provider; can be more than `prompt` plus `completion`. */
  readonly total: number;
}

/** Calls of one model, or of all models. */
export interface ModelSummary {
  /** Number of calls; every attempt counts. */
  readonly calls: number;
  readonly failed: number;
  readonly tokens: TokenSummary;
  readonly duration: TimingSummary;
  /** Time from the start of a call to its first output: text, reasoning or a tool call. */
  readonly timeToFirstToken: TimingSummary;
}

/** Calls of one tool, or of all tools. */
export interface ToolSummary {
  /** Calls requested by the model, including those that the user rejected. */
  readonly calls: number;
  readonly failed: number;
  /** Time of the calls that ran. */
  readonly duration: TimingSummary;
}

/** All metrics of a collector. */
export interface MetricsSummary {
  readonly runs: {
    readonly started: number;
    readonly completed: number;
    readonly error: number;
    readonly cancelled: number;
    readonly duration: TimingSummary;
    /** Time from the start of a run to the first part of its answer. */
    readonly timeToFirstAnswer: TimingSummary;
  };
  /** Successful model calls of the agent, like `iteration` in callbacks. */
  readonly iterations: number;
  readonly llm: ModelSummary & { readonly byModel: { readonly [model: string]: ModelSummary } };
  readonly tools: ToolSummary & { readonly byTool: { readonly [tool: string]: ToolSummary } };
  /** Errors reported by runs. A run can continue after an error. */
  readonly errors: {
    readonly total: number;
    readonly byStage: { readonly [stage: string]: number };
    readonly byCode: { readonly [code: string]: number };
  };
  readonly retrievals: { readonly total: number; readonly documents: number };
  readonly compressions: { readonly total: number; readonly savedTokens: number };
  readonly approvals: {
    readonly asked: number;
    readonly approved: number;
    readonly rejected: number;
    readonly expired: number;
    /** Time from the request to the decision. */
    readonly wait: TimingSummary;
  };
  /** Streams of servers that use this collector as `meter`. */
  readonly streams: {
    readonly opened: number;
    /** Opened streams that continue at a cursor of the client. */
    readonly resumed: number;
    /** Opened streams that fetch a range of missed frames. */
    readonly gaps: number;
    /** Streams open now. */
    readonly open: number;
    readonly closed: { readonly [end in StreamEnd]: number };
    readonly refused: number;
    /** Connections closed because the client did not read. */
    readonly slowReadersClosed: number;
    readonly frames: number;
    readonly bytes: number;
    /** The part of `bytes` that was already in the log when the stream was opened. */
    readonly replayedBytes: number;
  };
  /** Calls forgotten before they ended because too many were open in one run. */
  readonly untracked: number;
}
