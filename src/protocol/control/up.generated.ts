/**
 * Generated from the declarations by `npm run generate`; edit those instead.
 * The types of the vocabulary, and the forms a value is checked against.
 */
import { findFault } from "../check-form.ts";
import type { Fault, Hint } from "../fault.ts";
import { createFormFinder, type Form } from "../form.ts";
import type { JsonObject } from "../json.ts";

type Value = { readonly [field: string]: unknown };

/** Asks for the frames of a session (`WS /v1/ws`). */
export interface SubscribeControl {
  readonly type: "subscribe";
  /** Chosen by the client; the answer bears it */
  readonly id: string;
  /** Id of the session */
  readonly session: string;
  /** Name of the dialect; `loom` when absent */
  readonly dialect?: string;
  /** Only these kinds of events, with states whole: any of `messages`, `tools`, `nodes`, `updates`, `values`, `custom`, `checkpoints`, or `all`; when absent all but the states of graphs, which are stored as what changed */
  readonly modes?: readonly string[];
  /** Go on after this place: a cursor, or the event_id of a record as digits; from the first record that is held when absent */
  readonly after?: string;
  /** Whole frames received since `after` */
  readonly skip?: number;
  /** Any cursor of the session that is meant, where `after` is a number or absent: in one that was made anew they mean something else, and `cursor_stale` is the answer */
  readonly of?: string;
  /** Go on when the end is reached; true when absent */
  readonly follow?: boolean;
  /** At most so many frames, then the stream ends */
  readonly limit?: number;
}

/** Wants no more of a session; nothing of it comes after the `ack` (`WS /v1/ws`). */
export interface UnsubscribeControl {
  readonly type: "unsubscribe";
  /** Chosen by the client; the answer bears it */
  readonly id: string;
  /** Id of the session */
  readonly session: string;
  /** Name of the dialect; `loom` when absent */
  readonly dialect?: string;
}

/** A message of the user, for an agent to answer (`WS /v1/ws`). */
export interface RunControl {
  readonly type: "run";
  /** Chosen by the client; asked again with the same id it is the same command, and gets the same answer */
  readonly id: string;
  /** Id of the session */
  readonly session: string;
  /** What the user says */
  readonly message: string;
  /** Which agent */
  readonly agent?: string;
  /** Id of the run; when absent it follows from session and command id, and the `ack` names it */
  readonly run_id?: string;
  /** When another run is live: wait for its turn (when absent), be refused as `run_live`, also where a message waits, or cancel the live one first */
  readonly when_busy?: "enqueue" | "reject" | "interrupt";
  /** The caller's id for the request; kept in `run_start` */
  readonly request_id?: string;
  /** What the caller wants told with every callback of the run; kept in `run_start`, at most 16 KiB */
  readonly context?: JsonObject;
  /** Files that the message comes with, at most 20; `unknown_blob` where one is not there */
  readonly attachments?: readonly { readonly blob_id: string; readonly name?: string }[];
}

/** Stops a run, also one that has not started yet (`WS /v1/ws`). */
export interface CancelControl {
  readonly type: "cancel";
  /** Chosen by the client; asked again with the same id it is the same command, and gets the same answer */
  readonly id: string;
  /** Id of the session */
  readonly session: string;
  /** Id of the run */
  readonly run_id: string;
  /** Why */
  readonly reason?: string;
}

/** Answers whether a tool may be called (`WS /v1/ws`). */
export interface ApproveControl {
  readonly type: "approve";
  /** Chosen by the client; asked again with the same id it is the same command, and gets the same answer */
  readonly id: string;
  /** Id of the session */
  readonly session: string;
  /** Id of the tool call */
  readonly call_id: string;
  /** Id of the run; the live one when absent */
  readonly run_id?: string;
  /** The answer */
  readonly decision: "approved" | "rejected";
  /** The arguments to call it with, where the user has edited them */
  readonly arguments?: JsonObject;
  /** That of the question the user has seen; `approval_mismatch` where it is another */
  readonly digest?: string;
  /** Why */
  readonly reason?: string;
}

/** Changes an item of a to-do list (`WS /v1/ws`). */
export interface TodoControl {
  readonly type: "todo";
  /** Chosen by the client; asked again with the same id it is the same command, and gets the same answer */
  readonly id: string;
  /** Id of the session */
  readonly session: string;
  /** Id of the list */
  readonly list_id: string;
  /** Id of the item */
  readonly item_id: string;
  /** Whether it is done; unchanged when absent */
  readonly completed?: boolean;
  /** New text; unchanged when absent */
  readonly text?: string;
}

/** Asks for a `pong` (`WS /v1/ws`). */
export interface PingControl {
  readonly type: "ping";
  /** Comes back in the `pong` */
  readonly id?: string;
}

/** One of all the above, told apart by `type`. */
export type UpFrame =
  | SubscribeControl
  | UnsubscribeControl
  | RunControl
  | CancelControl
  | ApproveControl
  | TodoControl
  | PingControl;

/** From the type to its interface. */
export interface UpFrameMap {
  readonly "subscribe": SubscribeControl;
  readonly "unsubscribe": UnsubscribeControl;
  readonly "run": RunControl;
  readonly "cancel": CancelControl;
  readonly "approve": ApproveControl;
  readonly "todo": TodoControl;
  readonly "ping": PingControl;
}

/** From the type to its form, as a text. */
export const UP_FRAME_FORMS = {
  "subscribe": "`WS /v1/ws`#session:s dialect?s modes?[s after?s skip?i0 of?s follow?b limit?i0",
  "unsubscribe": "`WS /v1/ws`#session:s dialect?s",
  "run": "`WS /v1/ws`#session:s message:s agent?s run_id?s when_busy?=enqueue|reject|interrupt request_id?s context?m attachments?[{blob_id:s name?s}",
  "cancel": "`WS /v1/ws`#session:s run_id:s reason?s",
  "approve": "`WS /v1/ws`#session:s call_id:s run_id?s decision:=approved|rejected arguments?m digest?s reason?s",
  "todo": "`WS /v1/ws`#session:s list_id:s item_id:s completed?b text?s",
  "ping": "`WS /v1/ws`#id?s",
};

export const findUpFrameForm: (type: unknown) => Form | undefined = /* @__PURE__ */ createFormFinder(UP_FRAME_FORMS, "id:s");

/** Checks the fields of a value whose `type` is known; undefined when they fit, and when the type is none of these. */
export function findUpFrameFault(given: object, hints?: Hint[]): Fault | undefined {
  const value = given as Value;
  const form = findUpFrameForm(value["type"]);
  return form === undefined ? undefined : findFault(form.fields, value, hints);
}
