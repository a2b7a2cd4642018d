/**
 * The callback interface (specification 002, callbacks and events). A payload has the fields of the specification, the
 * request ID, and the caller's context if there is one.
 */
import type { StreamEventFrame } from "../../dialects/stream-event/frames.generated.ts";
import type { JsonObject } from "../../protocol/index.ts";

/** The eight event types of specification 002. `text_delta` is delivered only if requested. */
export type CallbackEventType = StreamEventFrame["type"];

type PayloadOf<Frame> = Frame extends StreamEventFrame
  ? Omit<Frame, "metadata" | "request_id"> & {
      /** The caller's request ID; otherwise the run ID, or the session ID for a record without a run. */
      readonly request_id: string;
      /** The context that the caller passed with the request. */
      readonly context?: JsonObject;
    }
  : never;

/** An event, discriminated by `type`. Each callback receives its own copy. */
export type CallbackPayload = PayloadOf<StreamEventFrame>;

/** An object with `onEvent`, or with `on_event` as in specification 002. */
export type AnyCallback = Callback | SnakeCallback;

interface CallbackSettings {
  /** Whether to receive `text_delta` events. Default: the option `textDelta` of the observer. */
  readonly textDelta?: boolean;
}

/** A callback with the names of specification 002. */
export interface SnakeCallback extends CallbackSettings {
  /** Like `onEvent` of `Callback`. */
  on_event(eventType: CallbackEventType, payload: CallbackPayload): unknown;
}

/** Receives the events of runs. Any object with `onEvent` is a callback. */
export interface Callback extends CallbackSettings {
  /**
   * Called for each event. If it returns a promise, the next event is delivered to this callback after it settles; runs
   * do not wait for it.
   */
  onEvent(eventType: CallbackEventType, payload: CallbackPayload): unknown;
}

/** True if a value is a callback. */
export function isCallback(value: unknown): value is AnyCallback {
  if (typeof value !== "object" || value === null) return false;
  const { onEvent, on_event } = value as Partial<Callback & SnakeCallback>;
  return typeof onEvent === "function" || typeof on_event === "function";
}

/** Calls a callback. An object with both methods is called once. */
export function callCallback(callback: AnyCallback, type: CallbackEventType, payload: CallbackPayload): unknown {
  return "onEvent" in callback && typeof callback.onEvent === "function"
    ? callback.onEvent(type, payload)
    : (callback as SnakeCallback).on_event(type, payload);
}

/**
 * Base class for callbacks, for code that prefers a class to an object.
 *
 * ```ts
 * class FinishLogger extends BaseCallback {
 *   onEvent(type: CallbackEventType, payload: CallbackPayload): void {
 *     if (type === "agent_finish") console.log(payload.request_id);
 *   }
 * }
 * ```
 */
export abstract class BaseCallback implements Callback {
  /** Whether to receive `text_delta` events. Undefined by default, so that the option `textDelta` decides. */
  declare readonly textDelta?: boolean;

  abstract onEvent(eventType: CallbackEventType, payload: CallbackPayload): Promise<void> | void;
}
