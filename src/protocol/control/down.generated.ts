/**
 * Generated from the declarations by `npm run generate`; edit those instead.
 * The types of the vocabulary, and the forms a value is checked against.
 */
import { findFault } from "../check-form.ts";
import type { Fault, Hint } from "../fault.ts";
import { createFormFinder, type Form } from "../form.ts";
import type { JsonObject } from "../json.ts";

type Value = { readonly [field: string]: unknown };

/** The first frame of a socket (`WS /v1/ws`). */
export interface HelloControl {
  readonly type: "hello";
  /** Of the control protocol */
  readonly version: number;
  /** Something comes at least this often; 0 when nothing is promised */
  readonly heartbeat_ms: number;
}

/** The session is there; its frames follow, or a `refusal` where the place is not good (`WS /v1/ws`). */
export interface SubscribedControl {
  readonly type: "subscribed";
  /** Chosen by the client; the answer bears it */
  readonly id: string;
  /** Id of the session */
  readonly session: string;
  /** Name of the dialect */
  readonly dialect: string;
  /** The first event_id that is held */
  readonly first_id: number;
  /** The last one, when it was looked at */
  readonly last_id: number;
}

/** Frames of a session, in order; the same for all who have asked alike (`WS /v1/ws`). */
export interface FramesControl {
  readonly type: "frames";
  /** Id of the session */
  readonly session: string;
  /** Name of the dialect */
  readonly dialect: string;
  /** The text of each frame, as the dialect wrote it */
  readonly frames: readonly string[];
  /** Where to go on after the last of them */
  readonly cursor: string;
}

/** The stream has reached its end, or its limit, and is over (`WS /v1/ws`). */
export interface EndControl {
  readonly type: "end";
  /** Id of the session */
  readonly session: string;
  /** Name of the dialect */
  readonly dialect: string;
  /** Where to go on; absent when no frame was sent */
  readonly cursor?: string;
}

/** A command or an `unsubscribe` was carried out, or waits (`WS /v1/ws`). */
export interface AckControl {
  readonly type: "ack";
  /** Chosen by the client; the answer bears it */
  readonly id: string;
  /** What came of it: `event_id` of the record it became, `run_id` of the run, `effect: false` where nothing was to do */
  readonly result?: JsonObject;
  /** True: it is written down and waits for its turn; ask again with the same id to learn the outcome */
  readonly pending?: boolean;
}

/** No, and why: of one frame or one stream, never of the socket (`WS /v1/ws`). */
export interface RefusalControl {
  readonly type: "refusal";
  /** Of the frame that is refused; of its `subscribe` where a stream breaks off; absent where it could not be read */
  readonly id?: string;
  /** Id of the session */
  readonly session?: string;
  /** Name of the dialect, where a stream is refused */
  readonly dialect?: string;
  /** Error code */
  readonly code: string;
  /** For people */
  readonly message: string;
  /** For programs */
  readonly details?: JsonObject;
}

/** Nothing else was to send (`WS /v1/ws`). */
export interface HeartbeatControl {
  readonly type: "heartbeat";
  /** When, in milliseconds since 1970 */
  readonly ts?: number;
}

/** Answers a `ping` (`WS /v1/ws`). */
export interface PongControl {
  readonly type: "pong";
  /** That of the frame this answers */
  readonly id?: string;
}

/** One of all the above, told apart by `type`. */
export type DownFrame =
  | HelloControl
  | SubscribedControl
  | FramesControl
  | EndControl
  | AckControl
  | RefusalControl
  | HeartbeatControl
  | PongControl;

/** From the type to its interface. */
export interface DownFrameMap {
  readonly "hello": HelloControl;
  readonly "subscribed": SubscribedControl;
  readonly "frames": FramesControl;
  readonly "end": EndControl;
  readonly "ack": AckControl;
  readonly "refusal": RefusalControl;
  readonly "heartbeat": HeartbeatControl;
  readonly "pong": PongControl;
}

/** From the type to its form, as a text. */
export const DOWN_FRAME_FORMS = {
  "hello": "`WS /v1/ws`#version:i0 heartbeat_ms:n0",
  "subscribed": "`WS /v1/ws`#id:s session:s dialect:s first_id:i0 last_id:i0",
  "frames": "`WS /v1/ws`#session:s dialect:s frames:[s cursor:s",
  "end": "`WS /v1/ws`#session:s dialect:s cursor?s",
  "ack": "`WS /v1/ws`#id:s result?m pending?b",
  "refusal": "`WS /v1/ws`#id?s session?s dialect?s code:s message:s details?m",
  "heartbeat": "`WS /v1/ws`#ts?i0",
  "pong": "`WS /v1/ws`#id?s",
};

export const findDownFrameForm: (type: unknown) => Form | undefined = /* @__PURE__ */ createFormFinder(DOWN_FRAME_FORMS);

/** Checks the fields of a value whose `type` is known; undefined when they fit, and when the type is none of these. */
export function findDownFrameFault(given: object, hints?: Hint[]): Fault | undefined {
  const value = given as Value;
  const form = findDownFrameForm(value["type"]);
  return form === undefined ? undefined : findFault(form.fields, value, hints);
}
