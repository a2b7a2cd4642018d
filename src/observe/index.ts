/** Entry point of observability: callbacks, metrics, traces and logs of runs, live or replayed from the log. */
export { BaseCallback, type Callback, type CallbackEventType, type CallbackPayload } from "./callbacks/callback.ts";
export { type CallbackObserver, type CallbackOptions, createCallbackObserver } from "./callbacks/callback-observer.ts";
export { Observation } from "./observation.ts";
export type { ObservedRun, Observer, RunObserver } from "./observer.ts";
export { MetricsCollector } from "./metrics/metrics-collector.ts";
export type { MetricsSummary } from "./metrics/metrics-summary.ts";
export {
  createPrometheusObserver,
  type PrometheusObserver,
  type PrometheusOptions,
} from "./metrics/prometheus-observer.ts";
export { joinStreamMeters, type StreamMeter } from "./metrics/server-meter.ts";
export { replayCallbacks, replayObservers } from "./replay.ts";
export { createLogObserver, type LogObserver, type LogOptions } from "./logs/create-log-observer.ts";
export { createTraceObserver, type TraceOptions } from "./traces/create-trace-observer.ts";
