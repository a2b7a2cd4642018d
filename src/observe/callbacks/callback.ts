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

/** Receives the events of runs. Any object with `onEvent` is a callback. */
export interface Callback {
  /** Whether to receive `text_delta` events. Default: the option `textDelta` of the observer. */
  readonly textDelta?: boolean;
  /**
   * Called for each event. If it returns a promise, the next event is delivered to this callback after it settles; runs
   * do not wait for it.
   */
  onEvent(eventType: CallbackEventType, payload: CallbackPayload): unknown;
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
