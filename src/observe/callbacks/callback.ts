/**
 * The callbacks of 002: what they are told, and what they have to be. A payload has the fields of 002, the id of the
 * request, and the caller's context where one was given; nothing else.
 */
import type { StreamEventFrame } from "../../dialects/stream-event/frames.generated.ts";
import type { JsonObject } from "../../protocol/index.ts";

/** The seven events of 002; `text_delta` only for callbacks that ask for it. */
export type CallbackEventType = StreamEventFrame["type"];

type PayloadOf<Frame> = Frame extends StreamEventFrame
  ? Omit<Frame, "metadata" | "request_id"> & {
      /** The caller's, or the run's id where the caller gave none. */
      readonly request_id: string;
      /** What the caller gave along with the request. */
      readonly context?: JsonObject;
    }
  : never;

/** One of all events, told apart by `type`. It is the callback's own copy. */
export type CallbackPayload = PayloadOf<StreamEventFrame>;

/** Any object with `onEvent` will do. */
export interface Callback {
  /** True to be told every piece of the answer too. */
  readonly textDelta?: boolean;
  /** What it returns is waited for before the callback is told more; nobody else waits for it. */
  onEvent(eventType: CallbackEventType, payload: CallbackPayload): unknown;
}

/** For those who like to extend something. */
export abstract class BaseCallback implements Callback {
  /** Without a value unless a class gives it one: then the option `textDelta` decides. */
  declare readonly textDelta?: boolean;

  abstract onEvent(eventType: CallbackEventType, payload: CallbackPayload): Promise<void> | void;
}
