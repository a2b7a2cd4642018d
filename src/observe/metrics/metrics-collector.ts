/**
 * Collects metrics of runs and streams in memory. It is an observer of runs and a meter of streams; it does not know
 * exporters.
 *
 * Invariants:
 * - Merging collectors with the same `maxLabels`, in any order, gives the counts of one collector that saw all runs.
 * - Replaying a recorded session gives the same numbers as observing it live.
 * - Memory use does not grow with the number of runs: names are limited, times are kept in buckets.
 */
import type { ObservedRun, Observer, RunObserver } from "../observer.ts";
import { assertLimit } from "../assert-limit.ts";
import { DEFAULT_MAX_LABELS } from "./label-names.ts";
import { MetricCounts } from "./metric-counts.ts";
import type { MetricsSummary } from "./metrics-summary.ts";
import { MAX_OPEN_CALLS, NOT_MEASURED, RunMeter } from "./run-meter.ts";
import type { StreamMeter, StreamOpening, StreamTally } from "./stream-meter.ts";

/** Options of `MetricsCollector`. */
export interface MetricsCollectorOptions {
  /**
   * Maximum tools, models, error stages and error codes listed by name, each. Further names are counted as `other`.
   * Default: 100.
   */
  readonly maxLabels?: number;
  /** Maximum open calls remembered per run. Forgotten ones are counted as `untracked`. Default: 1,000. */
  readonly maxOpenCalls?: number;
}

/**
 * Counts runs, model calls, tools, tokens, errors and streams in this process. Pass it to agents as `metrics`, or to a
 * server in `observers` and, to count streams too, as `meter`.
 *
 * ```ts
 * const metrics = new MetricsCollector();
 * const helper = agent({ model, metrics });
 * // After some runs:
 * console.log(metrics.summary().runs.completed);
 * ```
 */
export class MetricsCollector implements Observer, StreamMeter {
  readonly name = "metrics";
  readonly ignores: ReadonlySet<string> = NOT_MEASURED;
  readonly #counts: MetricCounts;
  readonly #maxOpenCalls: number;
  /** Current value, so `reset` does not change it. */
  #openStreams = 0;

  constructor({ maxLabels = DEFAULT_MAX_LABELS, maxOpenCalls = MAX_OPEN_CALLS }: MetricsCollectorOptions = {}) {
    this.#counts = new MetricCounts(assertLimit("maxLabels", maxLabels, 0));
    this.#maxOpenCalls = assertLimit("maxOpenCalls", maxOpenCalls, 1);
  }

  /** Returns all metrics as a plain object that can be written as JSON. */
  summary(): MetricsSummary {
    return this.#counts.summarize(this.#openStreams);
  }

  /** Sets all counts to zero. Runs in progress are counted from here on. */
  reset(): void {
    this.#counts.reset();
  }

  /** Adds the counts of another collector, which keeps them. Its open streams are not added. */
  merge(other: MetricsCollector): void {
    this.#counts.merge(other.#counts);
  }

  openRun(_run: ObservedRun): RunObserver {
    return new RunMeter(this.#counts, this.#maxOpenCalls);
  }

  openStream({ kind }: StreamOpening): StreamTally {
    this.#counts.openStream(kind);
    this.#openStreams++;
    return {
      send: (frames, bytes, replayedBytes) => this.#counts.sendFrames(frames, bytes, replayedBytes),
      close: (end) => {
        this.#counts.closeStream(end);
        this.#openStreams--;
      },
    };
  }

  refuseStream(_code: string): void {
    this.#counts.refuseStream();
  }

  closeSlowReader(): void {
    this.#counts.closeSlowReader();
  }
}
