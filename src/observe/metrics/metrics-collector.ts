/**
 * Counts what runs do, in this process and in little room, for whoever asks: `summary()`. It is an observer of runs and a
 * meter of streams; it knows no exporter.
 *
 * Invariants:
 * - Collectors can be added up: `merge` in any order and grouping gives what one collector would have counted that saw
 *   all the runs, provided that all have the same `maxLabels`.
 * - A recorded session, told again, gives the same numbers.
 * - Its size does not grow with what it has seen: names are limited, times are in buckets.
 */
import type { ObservedRun, Observer, RunObserver } from "../observer.ts";
import { assertLimit } from "../assert-limit.ts";
import { DEFAULT_MAX_LABELS } from "./label-names.ts";
import { MetricCounts } from "./metric-counts.ts";
import type { MetricsSummary } from "./metrics-summary.ts";
import { MAX_OPEN_CALLS, NOT_MEASURED, RunMeter } from "./run-meter.ts";
import type { StreamMeter, StreamOpening, StreamTally } from "./stream-meter.ts";

export interface MetricsCollectorOptions {
  /** Tools, models, stages, codes: so many of each are told by name, all beyond together as `other`. */
  readonly maxLabels?: number;
  /** Calls of one run that are remembered until they end; what is forgotten is counted as `untracked`. */
  readonly maxOpenCalls?: number;
}

export class MetricsCollector implements Observer, StreamMeter {
  readonly name = "metrics";
  readonly ignores: ReadonlySet<string> = NOT_MEASURED;
  readonly #counts: MetricCounts;
  readonly #maxOpenCalls: number;
  /** Not thrown away by `reset`: it is how things are, not what has been. */
  #openStreams = 0;

  constructor({ maxLabels = DEFAULT_MAX_LABELS, maxOpenCalls = MAX_OPEN_CALLS }: MetricsCollectorOptions = {}) {
    this.#counts = new MetricCounts(assertLimit("maxLabels", maxLabels, 0));
    this.#maxOpenCalls = assertLimit("maxOpenCalls", maxOpenCalls, 1);
  }

  /** A plain object of numbers; names and meanings stay. */
  summary(): MetricsSummary {
    return this.#counts.summarize(this.#openStreams);
  }

  /** Begins anew. Runs that are going are counted on, from here. */
  reset(): void {
    this.#counts.reset();
  }

  /** Adds what another has counted, which keeps it. Streams that are open there are not open here. */
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
