/** Those who look on: callbacks, metrics, traces and logs, all projections of the log. */
export { Observation, type ObservationOptions, type SessionTap } from "./observation.ts";
export type { ObservedRun, Observer, RunObserver } from "./observer.ts";
