/**
 * Exports metrics of runs and streams to Prometheus with the package `prom-client`, which is loaded on first use.
 *
 * Invariant: the number of time series is limited, whatever names models and callers invent. The first names are kept
 * forever, because a scraped counter must not decrease.
 */
import { loadPackage } from "../../protocol/load-package.ts";
import type { Observer } from "../observer.ts";
import { assertLimit } from "../assert-limit.ts";
import { createLabelLimit, DEFAULT_MAX_LABELS, OTHER_LABEL } from "./label-names.ts";
import {
  createPrometheusMetrics,
  type PrometheusClient,
  type PrometheusMetrics,
  type PrometheusRegister,
} from "./prometheus-metrics.ts";
import { MAX_OPEN_CALLS, type Measures, NOT_MEASURED, RunMeter } from "./run-meter.ts";
import type { StoreMeter } from "../../log/log-monitor.ts";
import { createServerGauges } from "./server-gauges.ts";
import type { ServerMeter, StreamMeter } from "./server-meter.ts";

/** Options of `createPrometheusObserver`. */
export interface PrometheusOptions {
  /** The prom-client `Registry` for the metrics. Default: a new one. */
  readonly register?: PrometheusRegister;
  /** Prefix of every metric name. Default: `loom_`. */
  readonly prefix?: string;
  /** The prom-client module to use. Default: the installed package. */
  readonly client?: PrometheusClient;
  /** Maximum values per label: agents, models, tools and errors. Further values become `other`. Default: 100. */
  readonly maxLabels?: number;
  /** Maximum open calls remembered per run. Default: 1,000. */
  readonly maxOpenCalls?: number;
}

/** An observer and a meter of streams, servers and stores, which updates Prometheus metrics. */
export interface PrometheusObserver extends Observer, StreamMeter, ServerMeter, StoreMeter {
  /** The register with the metrics; serve `await register.metrics()` to the scraper. */
  readonly register: PrometheusRegister;
}

/**
 * Creates an observer that updates Prometheus metrics. Pass it to an agent or server in `observers`, and to a server as
 * `meter` to measure streams and the server too. Pass it to `openSqliteLog` as `meter` to measure the store. Throws `missing_package` if prom-client is not installed, and an error of prom-client
 * if the register already has these metrics.
 *
 * ```ts
 * const prometheus = await createPrometheusObserver();
 * const helper = agent({ model, observers: [prometheus] });
 * const text = await prometheus.register.metrics();
 * ```
 */
export async function createPrometheusObserver(options: PrometheusOptions = {}): Promise<PrometheusObserver> {
  const { prefix = "loom_", maxLabels = DEFAULT_MAX_LABELS, maxOpenCalls = MAX_OPEN_CALLS } = options;
  assertLimit("maxLabels", maxLabels, 0);
  assertLimit("maxOpenCalls", maxOpenCalls, 1);
  const client =
    options.client ??
    (await loadPackage("prom-client", "to export metrics to Prometheus", () => import("prom-client")));
  const { register = new client.Registry() } = options;
  const metrics = createPrometheusMetrics({ client, register, prefix });
  const measures = createMeasures(metrics, maxLabels);
  const faultOf = createLabelLimit(maxLabels);
  return {
    name: "prometheus",
    ignores: NOT_MEASURED,
    register,
    openRun({ runId }) {
      const meter = new RunMeter(measures, maxOpenCalls);
      if (runId === undefined) return meter;
      metrics.runsInProgress.inc({}, 1);
      return {
        take: (record, isPast) => meter.take(record, isPast),
        close: () => metrics.runsInProgress.inc({}, -1),
      };
    },
    ...createMeter(metrics, maxLabels),
    watchServer: createServerGauges({ client, register, prefix }),
    countAuthentication: (kind, outcome) => metrics.authentications.inc({ kind, outcome }),
    countAuditFailure: () => metrics.auditFailures.inc({}),
    countStoreFault: (code) => metrics.storeFaults.inc({ code: faultOf(code) }),
    recordStoreCall: (operation, elapsedMs) => metrics.storeDuration.observe({ operation }, elapsedMs / 1000),
  };
}

function createMeasures(metrics: PrometheusMetrics, maxLabels: number): Measures {
  const agentOf = createLabelLimit(maxLabels);
  const modelOf = createLabelLimit(maxLabels);
  const toolOf = createLabelLimit(maxLabels);
  const errorOf = createErrorLabels(maxLabels);
  return {
    startRun: (agent) => metrics.runsStarted.inc({ agent: agentOf(agent) }),
    endRun(name, status, elapsedMs) {
      const agent = agentOf(name);
      metrics.runs.inc({ agent, status });
      if (elapsedMs !== undefined) metrics.runDuration.observe({ agent }, elapsedMs / 1000);
    },
    recordFirstAnswer: (agent, elapsedMs) => metrics.firstAnswer.observe({ agent: agentOf(agent) }, elapsedMs / 1000),
    addIteration: () => metrics.iterations.inc({}),
    startModelCall: (model) => metrics.llmCalls.inc({ model: modelOf(model) }),
    endModelCall(name, isError, elapsedMs) {
      const model = modelOf(name);
      if (isError) metrics.llmErrors.inc({ model });
      if (elapsedMs !== undefined) metrics.llmDuration.observe({ model }, elapsedMs / 1000);
    },
    recordFirstToken: (model, elapsedMs) => metrics.firstToken.observe({ model: modelOf(model) }, elapsedMs / 1000),
    addTokens(name, { prompt, completion }) {
      const model = modelOf(name);
      metrics.llmTokens.inc({ model, direction: "prompt" }, prompt);
      metrics.llmTokens.inc({ model, direction: "completion" }, completion);
    },
    startToolCall: (tool) => metrics.toolCalls.inc({ tool: toolOf(tool) }),
    endToolCall(name, isError, elapsedMs) {
      const tool = toolOf(name);
      if (isError) metrics.toolErrors.inc({ tool });
      if (elapsedMs !== undefined) metrics.toolDuration.observe({ tool }, elapsedMs / 1000);
    },
    addError: (stage, code) => metrics.errors.inc(errorOf(stage, code)),
    addRetrieval(documents) {
      metrics.retrievals.inc({});
      metrics.documents.inc({}, documents);
    },
    addCompression(savedTokens) {
      metrics.compressions.inc({});
      metrics.savedTokens.inc({}, savedTokens);
    },
    askApproval: () => metrics.approvalsAsked.inc({}),
    answerApproval(decision, waitMs) {
      metrics.approvals.inc({ decision });
      if (waitMs !== undefined) metrics.approvalWait.observe({}, waitMs / 1000);
    },
    countUntrackedCall: () => metrics.untracked.inc({}),
  };
}

/** Limits pairs of stage and code; separate limits would allow their product. */
function createErrorLabels(maxLabels: number): (stage: string, code: string) => { stage: string; code: string } {
  const [stageOf, codeOf] = [createLabelLimit(maxLabels), createLabelLimit(maxLabels)];
  const pairs = new Set<string>();
  return (stageName, codeName) => {
    const [stage, code] = [stageOf(stageName), codeOf(codeName)];
    const pair = JSON.stringify([stage, code]);
    if (!pairs.has(pair) && pairs.size >= maxLabels) return { stage: OTHER_LABEL, code: OTHER_LABEL };
    pairs.add(pair);
    return { stage, code };
  };
}

function createMeter(metrics: PrometheusMetrics, maxLabels: number): StreamMeter {
  const codeOf = createLabelLimit(maxLabels);
  return {
    openStream({ transport, kind }) {
      metrics.streamsOpened.inc({ transport });
      metrics.streamsOpen.inc({ transport });
      if (kind === "resume") metrics.streamResumes.inc({ transport });
      if (kind === "gap") metrics.streamGaps.inc({ transport });
      return {
        send(frames, bytes, replayedBytes) {
          metrics.streamFrames.inc({ transport }, frames);
          metrics.streamBytes.inc({ transport }, bytes);
          if (replayedBytes > 0) metrics.replayedBytes.inc({ transport }, replayedBytes);
        },
        close(reason) {
          metrics.streamsClosed.inc({ transport, reason });
          metrics.streamsOpen.inc({ transport }, -1);
        },
      };
    },
    refuseStream: (code) => metrics.streamsRefused.inc({ code: codeOf(code) }),
    closeSlowReader: () => metrics.slowReaders.inc({}),
  };
}
