/** Entry point of observability: callbacks, metrics, traces and logs of runs, live or replayed from the log. */
export {
  BaseCallback,
  type AnyCallback,
  type Callback,
  type CallbackEventType,
  type CallbackPayload,
  type SnakeCallback,
} from "./callbacks/callback.ts";
export { type CallbackObserver, type CallbackOptions, createCallbackObserver } from "./callbacks/callback-observer.ts";
export {
  Observation,
  type ObservationOptions,
  type SessionTap,
  type TapOptions,
  type WatchedSession,
} from "./observation.ts";
export type { ObservedRun, Observer, RunObserver } from "./observer.ts";
export { MetricsCollector, type MetricsCollectorOptions } from "./metrics/metrics-collector.ts";
export type { MetricsSummary, ModelSummary, TokenSummary, ToolSummary } from "./metrics/metrics-summary.ts";
export type { PrometheusRegister } from "./metrics/prometheus-metrics.ts";
export {
  createPrometheusObserver,
  type PrometheusObserver,
  type PrometheusOptions,
} from "./metrics/prometheus-observer.ts";
export {
  type AuthenticationOutcome,
  type CredentialKind,
  joinStreamMeters,
  type ServerGauges,
  type ServerMeter,
  type StreamEnd,
  type StreamMeter,
  type StreamOpening,
  type StreamTally,
} from "./metrics/server-meter.ts";
export type { TimingSummary } from "./metrics/timing.ts";
export {
  type CallbackReplayOptions,
  type ObserverReplayOptions,
  replayCallbacks,
  replayObservers,
  type ReplayOptions,
} from "./replay.ts";
export {
  createLogObserver,
  type LoggerLike,
  type LogLevel,
  type LogObserver,
  type LogOptions,
} from "./logs/create-log-observer.ts";
export type { RedactOptions } from "./logs/create-redactor.ts";
export {
  createTraceObserver,
  type TraceOptions,
  type TracerLike,
  type TracerProviderLike,
} from "./traces/create-trace-observer.ts";
