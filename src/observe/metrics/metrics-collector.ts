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
import { DEFAULT_MAX_LABELS, type Mergeable, NamedParts } from "./label-names.ts";
import type { MetricsSummary, ModelSummary, TokenSummary, ToolSummary } from "./metrics-summary.ts";
import {
  MAX_OPEN_CALLS,
  type MeasuredDecision,
  type Measures,
  NOT_MEASURED,
  type RunEndStatus,
  RunMeter,
  type TokenCounts,
} from "./run-meter.ts";
import type { StreamMeter, StreamOpening, StreamTally } from "./server-meter.ts";
import { Timing } from "./timing.ts";

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
    this.#counts.state.streams.counts[kind]++;
    this.#openStreams++;
    return {
      send: (frames, bytes, replayedBytes) => {
        const { counts } = this.#counts.state.streams;
        counts.frames += frames;
        counts.bytes += bytes;
        counts.replayedBytes += replayedBytes;
      },
      close: (end) => {
        this.#counts.state.streamEnds.counts[end]++;
        this.#openStreams--;
      },
    };
  }

  refuseStream(_code: string): void {
    this.#counts.state.streams.counts.refused++;
  }

  closeSlowReader(): void {
    this.#counts.state.streams.counts.slowReaders++;
  }
}

/** Named counters that can be merged. */
class Tally<K extends string> {
  readonly counts: Record<K, number>;

  constructor(names: readonly K[]) {
    this.counts = Object.fromEntries(names.map((name) => [name, 0])) as Record<K, number>;
  }

  merge(other: Tally<K>): void {
    for (const name of Object.keys(this.counts) as K[]) this.counts[name] += other.counts[name];
  }
}

/** Statistics of one model or tool. Tools use no tokens. */
class CallStatistics {
  readonly tally = new Tally(["calls", "failed", "prompt", "completion", "total"]);
  readonly duration: Timing = new Timing();
  readonly firstToken: Timing = new Timing();

  merge({ tally, duration, firstToken }: CallStatistics): void {
    this.tally.merge(tally);
    this.duration.merge(duration);
    this.firstToken.merge(firstToken);
  }
}

/** All state, so that it can be replaced at once. */
function createState(maxLabels: number) {
  return {
    runs: new Tally(["started", "completed", "error", "cancelled"]),
    iterations: new Tally(["total"]),
    retrievals: new Tally(["total", "documents"]),
    compressions: new Tally(["total", "savedTokens"]),
    approvals: new Tally(["asked", "approved", "rejected", "expired"]),
    untracked: new Tally(["total"]),
    streams: new Tally(["fresh", "resume", "gap", "refused", "slowReaders", "frames", "bytes", "replayedBytes"]),
    streamEnds: new Tally(["end", "left", "slow", "error"]),
    runTime: new Timing(),
    firstAnswer: new Timing(),
    approvalWait: new Timing(),
    models: new NamedParts(() => new CallStatistics(), maxLabels),
    tools: new NamedParts(() => new CallStatistics(), maxLabels),
    errors: new Tally(["total"]),
    errorStages: new NamedParts(() => new Tally(["total"]), maxLabels),
    errorCodes: new NamedParts(() => new Tally(["total"]), maxLabels),
    allModels: new CallStatistics(),
    allTools: new CallStatistics(),
  };
}

type MetricState = ReturnType<typeof createState>;

/** The counts and times behind a collector. */
class MetricCounts implements Measures {
  readonly #maxLabels: number;
  state: MetricState;

  constructor(maxLabels: number) {
    this.#maxLabels = maxLabels;
    this.state = createState(maxLabels);
  }

  reset(): void {
    this.state = createState(this.#maxLabels);
  }

  merge(other: MetricCounts): void {
    for (const part of Object.keys(this.state) as (keyof MetricState)[])
      (this.state[part] as Mergeable<unknown>).merge(other.state[part]);
  }

  summarize(openStreams: number): MetricsSummary {
    const state = this.state;
    const { fresh, resume, gap, refused, slowReaders, ...sent } = state.streams.counts;
    return {
      runs: {
        ...state.runs.counts,
        duration: state.runTime.summarize(),
        timeToFirstAnswer: state.firstAnswer.summarize(),
      },
      iterations: state.iterations.counts.total,
      llm: { ...describeModel(state.allModels), byModel: state.models.summarize(describeModel) },
      tools: { ...describeTool(state.allTools), byTool: state.tools.summarize(describeTool) },
      errors: {
        total: state.errors.counts.total,
        byStage: state.errorStages.summarize(({ counts: { total } }) => total),
        byCode: state.errorCodes.summarize(({ counts: { total } }) => total),
      },
      retrievals: { ...state.retrievals.counts },
      compressions: { ...state.compressions.counts },
      approvals: { ...state.approvals.counts, wait: state.approvalWait.summarize() },
      streams: {
        opened: fresh + resume + gap,
        resumed: resume,
        gaps: gap,
        open: openStreams,
        closed: { ...state.streamEnds.counts },
        refused,
        slowReadersClosed: slowReaders,
        ...sent,
      },
      untracked: state.untracked.counts.total,
    };
  }

  startRun(_agent: string): void {
    this.state.runs.counts.started++;
  }

  endRun(_agent: string, outcome: RunEndStatus, elapsedMs: number | undefined): void {
    this.state.runs.counts[outcome]++;
    if (elapsedMs !== undefined) this.state.runTime.add(elapsedMs);
  }

  recordFirstAnswer(_agent: string, elapsedMs: number): void {
    this.state.firstAnswer.add(elapsedMs);
  }

  addIteration(): void {
    this.state.iterations.counts.total++;
  }

  startModelCall(model: string): void {
    for (const part of this.#modelParts(model)) part.tally.counts.calls++;
  }

  endModelCall(model: string, isError: boolean, elapsedMs: number | undefined): void {
    endCall(this.#modelParts(model), isError, elapsedMs);
  }

  recordFirstToken(model: string, elapsedMs: number): void {
    for (const part of this.#modelParts(model)) part.firstToken.add(elapsedMs);
  }

  addTokens(model: string, tokens: TokenCounts): void {
    for (const { tally } of this.#modelParts(model)) {
      tally.counts.prompt += tokens.prompt;
      tally.counts.completion += tokens.completion;
      tally.counts.total += tokens.total;
    }
  }

  startToolCall(tool: string): void {
    for (const part of this.#toolParts(tool)) part.tally.counts.calls++;
  }

  endToolCall(tool: string, isError: boolean, elapsedMs: number | undefined): void {
    endCall(this.#toolParts(tool), isError, elapsedMs);
  }

  addError(stage: string, code: string): void {
    this.state.errors.counts.total++;
    this.state.errorStages.at(stage).counts.total++;
    this.state.errorCodes.at(code).counts.total++;
  }

  addRetrieval(documents: number): void {
    this.state.retrievals.counts.total++;
    this.state.retrievals.counts.documents += documents;
  }

  addCompression(savedTokens: number): void {
    this.state.compressions.counts.total++;
    this.state.compressions.counts.savedTokens += savedTokens;
  }

  askApproval(): void {
    this.state.approvals.counts.asked++;
  }

  answerApproval(decision: MeasuredDecision, waitMs: number | undefined): void {
    this.state.approvals.counts[decision]++;
    if (waitMs !== undefined) this.state.approvalWait.add(waitMs);
  }

  countUntrackedCall(): void {
    this.state.untracked.counts.total++;
  }

  #modelParts(model: string): readonly [CallStatistics, CallStatistics] {
    return [this.state.allModels, this.state.models.at(model)];
  }

  #toolParts(tool: string): readonly [CallStatistics, CallStatistics] {
    return [this.state.allTools, this.state.tools.at(tool)];
  }
}

function endCall(parts: readonly CallStatistics[], isError: boolean, elapsedMs: number | undefined): void {
  for (const { tally, duration } of parts) {
    if (isError) tally.counts.failed++;
    if (elapsedMs !== undefined) duration.add(elapsedMs);
  }
}

function describeModel({ tally, duration, firstToken }: CallStatistics): ModelSummary {
  const { calls, failed, prompt, completion, total } = tally.counts;
  const tokens: TokenSummary = { prompt, completion, total };
  return { calls, failed, tokens, duration: duration.summarize(), timeToFirstToken: firstToken.summarize() };
}

function describeTool({ tally, duration }: CallStatistics): ToolSummary {
  const { calls, failed } = tally.counts;
  return { calls, failed, duration: duration.summarize() };
}
