/** What `MetricsCollector.summary()` gives: plain numbers that can be written as JSON. Names and meanings stay. */
import type { StreamEnd } from "./stream-meter.ts";
import type { TimingSummary } from "./timing.ts";

export interface TokenSummary {
  readonly prompt: number;
  readonly completion: number;
  /** As the providers tell it: it may hold more than both. */
  readonly total: number;
}

export interface ModelSummary {
  /** Every try counts. */
  readonly calls: number;
  readonly failed: number;
  readonly tokens: TokenSummary;
  readonly duration: TimingSummary;
  /** From the start of a call to the first piece it says, thinks or calls a tool with. */
  readonly timeToFirstToken: TimingSummary;
}

export interface ToolSummary {
  /** Those the model asked for, also where the user refused. */
  readonly calls: number;
  readonly failed: number;
  /** Of those that ran. */
  readonly duration: TimingSummary;
}

export interface MetricsSummary {
  readonly runs: {
    readonly started: number;
    readonly completed: number;
    readonly error: number;
    readonly cancelled: number;
    readonly duration: TimingSummary;
    /** From the start of a run to the first piece of its answer. */
    readonly timeToFirstAnswer: TimingSummary;
  };
  /** Rounds: what the `iteration` of callbacks counts. */
  readonly iterations: number;
  readonly llm: ModelSummary & { readonly byModel: { readonly [model: string]: ModelSummary } };
  readonly tools: ToolSummary & { readonly byTool: { readonly [tool: string]: ToolSummary } };
  /** Errors that were told; by themselves they end no run. */
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
    /** From the question to the answer. */
    readonly wait: TimingSummary;
  };
  /** Of servers that have this collector as their `meter`. */
  readonly streams: {
    readonly opened: number;
    /** Of those opened: from a place the reader had come to. */
    readonly resumed: number;
    /** Of those opened: to fetch frames that were missed. */
    readonly gaps: number;
    /** Now. */
    readonly open: number;
    readonly closed: { readonly [end in StreamEnd]: number };
    readonly refused: number;
    /** Connections closed since nobody read what was sent. */
    readonly slowReadersClosed: number;
    readonly frames: number;
    readonly bytes: number;
    /** Of `bytes`: what was in the log already when the stream was opened. */
    readonly replayedBytes: number;
  };
  /** Calls forgotten before they ended, since too many were open in one run. */
  readonly untracked: number;
}
