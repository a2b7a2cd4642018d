/**
 * The contract of an observer, which receives the committed records of runs and never disturbs them. Callbacks,
 * metrics, traces and logs are observers. Each is a fold over the records of one run, so a live run and a replayed one
 * give the same result.
 *
 * Errors thrown by an observer are reported and otherwise ignored. Observers are called during the commit and must be
 * fast; slow work belongs in a queue.
 */
import type { EventType, StampedRecord } from "../protocol/index.ts";

/** Identifies a run, or the records of a session that belong to no run. */
export interface ObservedRun {
  readonly sessionId: string;
  /** Undefined for records that do not belong to a run. */
  readonly runId: string | undefined;
}

/** Receives runs. Must be fast and must not change records. */
export interface Observer {
  /** Name used in messages. */
  readonly name: string;
  /** Event types that the observer does not receive, such as frequent ones it does not need. Default: none. */
  readonly ignores?: ReadonlySet<string>;
  /** Called before a run is started here, in the asynchronous context of the caller. */
  expectRun?(run: ObservedRun & { readonly runId: string }): void;
  /** Called for the first record of a run, or the first one that this process writes. */
  openRun(run: ObservedRun): RunObserver;
}

/** Receives the records of one run. */
export interface RunObserver {
  /**
   * Called for each record once, in order. `isPast` is true for records written before this process took over the run.
   * They were observed then, and are passed only for context.
   */
  take(record: StampedRecord, isPast: boolean): void;
  /**
   * The last call. `isUnfinished` is true if the run has not ended but this process no longer writes it, for example
   * because it waits for an approval.
   */
  close(isUnfinished: boolean): void;
}

/** Ignores a run. */
export const INERT: RunObserver = { take: () => undefined, close: () => undefined };

/** Events that metrics, traces and logs do not need, many of them frequent. */
export const UNOBSERVED: readonly EventType[] = [
  "values",
  "updates",
  "checkpoint",
  "custom",
  "foreign",
  "node_enter",
  "reasoning_end",
  "tool_output",
  "tool_progress",
  "todo_list",
  "todo_update",
  "llm_content",
  "tool_permission",
  "feedback",
  "data",
  "image",
];

/** Returns a map key for a run. */
export function keyOfRun({ sessionId, runId }: ObservedRun): string {
  return JSON.stringify([sessionId, runId]);
}
