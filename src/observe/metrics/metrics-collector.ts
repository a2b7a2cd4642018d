/**
 * Collects metrics of runs and streams in memory. It is an observer of runs and a meter of streams; it does not know
 * exporters.
 *
 * Invariants:
 * - Replaying a recorded session gives the same numbers as observing it live.
 * - Memory use does not grow with the number of runs: names are limited, times are kept in buckets.
 */
import { assertLimit } from "../assert-limit.ts";
import type { ObservedRun, Observer, RunObserver } from "../observer.ts";
import { MAX_OPEN_CALLS } from "../open-calls.ts";
import { createLabelLimit, DEFAULT_MAX_LABELS, type MetricLabels, OTHER_LABEL } from "./label-names.ts";
import {
  type CountName,
  createStreamMeter,
  METRICS,
  type MetricName,
  type MetricSink,
  type TimeName,
} from "./metric-table.ts";
import type { MetricsSummary, ModelSummary, ToolSummary } from "./metrics-summary.ts";
import { NOT_MEASURED, RunMeter } from "./run-meter.ts";
import type { StreamMeter, StreamOpening, StreamTally } from "./server-meter.ts";
import { Timing, type TimingSummary } from "./timing.ts";

/** Options of `MetricsCollector`. */
export interface MetricsCollectorOptions {
  /**
   * Maximum agents, tools, models, and errors by stage and code listed by name, each. Further names are counted as
   * `other`. Default: 100.
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
  readonly #values: MetricValues;
  readonly #streams: StreamMeter;
  readonly #maxOpenCalls: number;

  constructor({ maxLabels = DEFAULT_MAX_LABELS, maxOpenCalls = MAX_OPEN_CALLS }: MetricsCollectorOptions = {}) {
    this.#values = new MetricValues(assertLimit("maxLabels", maxLabels, 0));
    this.#streams = createStreamMeter(this.#values);
    this.#maxOpenCalls = assertLimit("maxOpenCalls", maxOpenCalls, 1);
  }

  /** Returns all metrics as a plain object that can be written as JSON. */
  summary(): MetricsSummary {
    return summarize(this.#values);
  }

  /**
   * Sets all counts to zero, except gauges: they are current values, such as the number of open streams. Runs in progress
   * are counted from here on.
   */
  reset(): void {
    this.#values.reset();
  }

  openRun(run: ObservedRun): RunObserver {
    return new RunMeter(this.#values, run, this.#maxOpenCalls);
  }

  openStream(opening: StreamOpening): StreamTally {
    return this.#streams.openStream(opening);
  }

  refuseStream(code: string): void {
    this.#streams.refuseStream(code);
  }

  closeSlowReader(): void {
    this.#streams.closeSlowReader();
  }
}

/** The values of one metric for one combination of labels: a count, or times. */
interface Series {
  readonly labels: MetricLabels;
  count: number;
  readonly times: Timing;
}

/** The values of all metrics. */
class MetricValues implements MetricSink {
  readonly #maxLabels: number;
  #limit: ReturnType<typeof createLabelLimit>;
  /** By metric and by the values of its labels. */
  readonly #series = new Map<MetricName, Map<string, Series>>();

  constructor(maxLabels: number) {
    this.#maxLabels = maxLabels;
    this.#limit = createLabelLimit(maxLabels);
  }

  add(metric: CountName, labels: MetricLabels, count = 1): void {
    this.#at(metric, labels).count += count;
  }

  adder(metric: CountName, labels: MetricLabels): (count: number) => void {
    let series: Series | undefined;
    let limit = this.#limit;
    return (count) => {
      // A reset removes the series.
      if (series === undefined || limit !== this.#limit) series = this.#at(metric, labels);
      limit = this.#limit;
      series.count += count;
    };
  }

  time(metric: TimeName, labels: MetricLabels, elapsedMs: number | undefined): void {
    if (elapsedMs !== undefined) this.#at(metric, labels).times.add(elapsedMs);
  }

  /** Gauges are current values and stay. */
  reset(): void {
    for (const metric of this.#series.keys()) if (METRICS[metric].kind !== "gauge") this.#series.delete(metric);
    this.#limit = createLabelLimit(this.#maxLabels);
  }

  /** Returns the sum of all series with these labels. */
  count(metric: CountName, labels: MetricLabels = {}): number {
    return this.#list(metric, labels).reduce((sum, { count }) => sum + count, 0);
  }

  /** Summarizes the times of all series with these labels. */
  summarizeTimes(metric: TimeName, labels: MetricLabels = {}): TimingSummary {
    const all = new Timing();
    for (const { times } of this.#list(metric, labels)) all.merge(times);
    return all.summarize();
  }

  /** Describes each value of a label, sorted by name, with `other` last. */
  describeEach<T>(
    label: string,
    metrics: readonly MetricName[],
    describe: (labels: MetricLabels) => T,
  ): { readonly [name: string]: T } {
    const names = new Set(metrics.flatMap((metric) => this.#list(metric, {}).map(({ labels }) => labels[label] ?? "")));
    const rank = (name: string): number => (name === OTHER_LABEL ? 1 : 0);
    const sorted = [...names].toSorted((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
    return Object.fromEntries(sorted.map((name) => [name, describe({ [label]: name })]));
  }

  #list(metric: MetricName, labels: MetricLabels): readonly Series[] {
    const wanted = Object.entries(labels);
    const all = [...(this.#series.get(metric)?.values() ?? [])];
    return all.filter((series) => wanted.every(([label, value]) => series.labels[label] === value));
  }

  #at(metric: MetricName, given: MetricLabels): Series {
    const { labels, key } = this.#limit(metric, given);
    let all = this.#series.get(metric);
    if (all === undefined) this.#series.set(metric, (all = new Map<string, Series>()));
    let series = all.get(key);
    if (series === undefined) all.set(key, (series = { labels, count: 0, times: new Timing() }));
    return series;
  }
}

/** A name is listed if any of these has it: the start of a call may be in the part of a run that is not counted here. */
const MODEL_METRICS = [
  "llmCalls",
  "llmErrors",
  "llmTokens",
  "llmReportedTokens",
  "llmDuration",
  "firstToken",
] as const satisfies readonly MetricName[];
const TOOL_METRICS = ["toolCalls", "toolErrors", "toolDuration"] as const satisfies readonly MetricName[];

function summarize(values: MetricValues): MetricsSummary {
  const describeModel = (labels: MetricLabels): ModelSummary => ({
    calls: values.count("llmCalls", labels),
    failed: values.count("llmErrors", labels),
    tokens: {
      prompt: values.count("llmTokens", { ...labels, direction: "prompt" }),
      completion: values.count("llmTokens", { ...labels, direction: "completion" }),
      total: values.count("llmReportedTokens", labels),
    },
    duration: values.summarizeTimes("llmDuration", labels),
    timeToFirstToken: values.summarizeTimes("firstToken", labels),
  });
  const describeTool = (labels: MetricLabels): ToolSummary => ({
    calls: values.count("toolCalls", labels),
    failed: values.count("toolErrors", labels),
    duration: values.summarizeTimes("toolDuration", labels),
  });
  const countErrors = (labels: MetricLabels): number => values.count("errors", labels);
  return {
    runs: {
      started: values.count("runsStarted"),
      completed: values.count("runs", { status: "completed" }),
      error: values.count("runs", { status: "error" }),
      cancelled: values.count("runs", { status: "cancelled" }),
      duration: values.summarizeTimes("runDuration"),
      timeToFirstAnswer: values.summarizeTimes("firstAnswer"),
    },
    iterations: values.count("iterations"),
    llm: {
      ...describeModel({}),
      byModel: values.describeEach("model", MODEL_METRICS, describeModel),
    },
    tools: {
      ...describeTool({}),
      byTool: values.describeEach("tool", TOOL_METRICS, describeTool),
    },
    errors: {
      total: countErrors({}),
      byStage: values.describeEach("stage", ["errors"], countErrors),
      byCode: values.describeEach("code", ["errors"], countErrors),
    },
    retrievals: { total: values.count("retrievals"), documents: values.count("documents") },
    compressions: { total: values.count("compressions"), savedTokens: values.count("savedTokens") },
    approvals: {
      asked: values.count("approvalsAsked"),
      approved: values.count("approvals", { decision: "approved" }),
      rejected: values.count("approvals", { decision: "rejected" }),
      expired: values.count("approvals", { decision: "expired" }),
      wait: values.summarizeTimes("approvalWait"),
    },
    streams: {
      opened: values.count("streamsOpened"),
      resumed: values.count("streamResumes"),
      gaps: values.count("streamGaps"),
      open: values.count("streamsOpen"),
      closed: {
        end: values.count("streamsClosed", { reason: "end" }),
        left: values.count("streamsClosed", { reason: "left" }),
        slow: values.count("streamsClosed", { reason: "slow" }),
        error: values.count("streamsClosed", { reason: "error" }),
      },
      refused: values.count("streamsRefused"),
      slowReadersClosed: values.count("slowReaders"),
      frames: values.count("streamFrames"),
      bytes: values.count("streamBytes"),
      replayedBytes: values.count("replayedBytes"),
    },
    untracked: values.count("untracked"),
  };
}
