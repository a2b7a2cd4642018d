/**
 * Exports metrics of runs and streams to Prometheus with the package `prom-client`, which is loaded on first use.
 */
import { loadPackage } from "../../protocol/load-package.ts";
import type { Observer } from "../observer.ts";
import { assertLimit } from "../assert-limit.ts";
import { DEFAULT_MAX_LABELS } from "./label-names.ts";
import { createStreamMeter } from "./metric-table.ts";
import { createPrometheusSink, type PrometheusClient, type PrometheusRegister } from "./prometheus-metrics.ts";
import { MAX_OPEN_CALLS } from "../open-calls.ts";
import { NOT_MEASURED, RunMeter } from "./run-meter.ts";
import type { StoreMeter } from "../../log/log-monitor.ts";
import { createServerGauges } from "./server-gauges.ts";
import type { ServerMeter, StreamMeter } from "./server-meter.ts";

/** Options of `createPrometheusObserver`. */
export interface PrometheusOptions {
  /** The prom-client `Registry` for the metrics. Default: a new one. */
  readonly register?: PrometheusRegister;
  /** Prefix of every metric name. Default: `loom_`. */
  readonly prefix?: string;
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
  const client: PrometheusClient = await loadPackage(
    "prom-client",
    "to export metrics to Prometheus",
    () => import("prom-client"),
  );
  const { register = new client.Registry() } = options;
  const target = { client, register, prefix };
  const sink = createPrometheusSink(target, maxLabels);
  return {
    name: "prometheus",
    ignores: NOT_MEASURED,
    register,
    openRun: (run) => new RunMeter(sink, run, maxOpenCalls),
    ...createStreamMeter(sink),
    watchServer: createServerGauges(target),
    countAuthentication: (kind, outcome) => sink.add("authentications", { kind, outcome }),
    countAuditFailure: () => sink.add("auditFailures", {}),
    countStoreFault: (code) => sink.add("storeFaults", { code }),
    recordStoreCall: (operation, elapsedMs) => sink.time("storeDuration", { operation }, elapsedMs),
  };
}
