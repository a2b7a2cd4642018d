/**
 * Creates the metrics of the table in a register of prom-client. Declares the parts of prom-client it uses, so that
 * callers do not need its types.
 */
import { createLabelLimit, type MetricLabels } from "./label-names.ts";
import { METRICS, type MetricSink } from "./metric-table.ts";

/** A `Registry` of prom-client. */
export interface PrometheusRegister {
  readonly contentType: string;
  /** Returns all metrics in the Prometheus text format. */
  metrics(): Promise<string>;
}

interface MetricConfiguration {
  readonly name: string;
  readonly help: string;
  readonly labelNames: string[];
  /** Registers of the same package; `never` because its types are not available here. */
  readonly registers: never[];
  /** Called before the metric is read. */
  readonly collect?: () => void;
}

interface PrometheusCounter {
  inc(labels: MetricLabels, value?: number): void;
  reset(): void;
}

interface PrometheusHistogram {
  observe(labels: MetricLabels, value: number): void;
}

/** The parts of the package `prom-client` that are used. */
export interface PrometheusClient {
  readonly Registry: new () => PrometheusRegister;
  readonly Counter: new (configuration: MetricConfiguration) => PrometheusCounter;
  readonly Gauge: new (
    configuration: MetricConfiguration,
  ) => PrometheusCounter & { set(labels: MetricLabels, value: number): void };
  readonly Histogram: new (configuration: MetricConfiguration & { readonly buckets: number[] }) => PrometheusHistogram;
}

/** Where metrics are created. */
export interface PrometheusTarget {
  readonly client: PrometheusClient;
  readonly register: PrometheusRegister;
  readonly prefix: string;
}

export function configureMetric(
  { register, prefix }: PrometheusTarget,
  name: string,
  help: string,
  labelNames: readonly string[],
): MetricConfiguration {
  return { name: prefix + name, help, labelNames: [...labelNames], registers: [register as never] };
}

/**
 * Creates all metrics. Throws if the register already has metrics with these names.
 *
 * Invariant: the number of time series is limited, whatever names models and callers invent. The first names are kept
 * forever, because a scraped counter must not decrease.
 */
export function createPrometheusSink(target: PrometheusTarget, maxLabels: number): MetricSink {
  const { client } = target;
  const counters = new Map<string, PrometheusCounter>();
  const histograms = new Map<string, PrometheusHistogram>();
  for (const [key, metric] of Object.entries(METRICS)) {
    if (metric.kind === "hidden") continue;
    const configuration = configureMetric(target, metric.name, metric.help, metric.labels);
    if (metric.kind === "seconds")
      histograms.set(key, new client.Histogram({ ...configuration, buckets: metric.buckets }));
    else counters.set(key, new (metric.kind === "gauge" ? client.Gauge : client.Counter)(configuration));
  }
  const limit = createLabelLimit(maxLabels);
  return {
    add: (metric, labels, count = 1) => counters.get(metric)?.inc(limit(metric, labels).labels, count),
    adder(metric, labels) {
      const counter = counters.get(metric);
      const limited = limit(metric, labels).labels;
      return (count) => counter?.inc(limited, count);
    },
    time(metric, labels, elapsedMs) {
      if (elapsedMs !== undefined) histograms.get(metric)?.observe(limit(metric, labels).labels, elapsedMs / 1000);
    },
  };
}
