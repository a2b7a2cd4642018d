/**
 * The events of `Agent.events`: every event of the run as declared, with its position in the session. Approval requests
 * and calls that the client carries out can be answered directly.
 */
import { dropUndefined } from "../protocol/drop-undefined.ts";
import {
  type EventOf,
  type EventType,
  isKnownEvent,
  type Json,
  type JsonObject,
  type StampedRecord,
} from "../protocol/index.ts";
import type { AgentCall } from "./agent-call.ts";
import { ANY_OPTION, type OptionTable, readOptions } from "../protocol/read-options.ts";

/** Where an event belongs: the fields of its envelope. */
export interface EventPosition {
  readonly session_id: string;
  readonly run_id: string;
  /** Position in the session. */
  readonly event_id: number;
  /** The node run that the event belongs to. */
  readonly node_id?: string;
  /** Time of the event, in milliseconds since 1970. */
  readonly ts?: number;
}

/** Options of `ApprovalMethods.approve`. */
export interface ApproveOptions {
  /** Arguments that replace those of the request. Default: the arguments of the request. */
  readonly arguments?: JsonObject;
  /** Reason, for the model. Default: none. */
  readonly reason?: string;
}

const APPROVE_OPTIONS: OptionTable<ApproveOptions> = { arguments: ANY_OPTION, reason: ANY_OPTION };

/**
 * Answers an approval request. The first answer counts. Both methods resolve when the answer is durable, and reject with
 * `already_answered`, with `run_ended` if the run is over, or with `invalid_arguments` for an unknown option.
 */
export interface ApprovalMethods {
  readonly approve: (options?: ApproveOptions) => Promise<void>;
  /** Rejects the call. The model receives the reason. */
  readonly reject: (reason?: string) => Promise<void>;
}

/** An approval request of `events`. */
export type ApprovalRequestEvent = EventOf<"tool_approval"> & EventPosition & ApprovalMethods;

/** Options of `ClientCallMethods.answer`. */
export interface AnswerCallOptions {
  /** True if the call could not be carried out. The model receives the output as an error. Default: false. */
  readonly isError?: boolean;
}

const ANSWER_OPTIONS: OptionTable<AnswerCallOptions> = { isError: ANY_OPTION };

/** Answers a tool call that the client carries out. */
export interface ClientCallMethods {
  /**
   * Sends the result: a text or any JSON value. Only on an event whose `executor` is `client`. The first result counts.
   * Resolves when the result is durable; rejects with `already_answered`, `run_ended` or `invalid_arguments`.
   */
  readonly answer?: (output?: Json, options?: AnswerCallOptions) => Promise<void>;
}

/** The start of a tool call of `events`. */
export type ToolStartedEvent = EventOf<"tool_start"> & EventPosition & ClientCallMethods;

/** An expansion of `events`. As in a frame, its `node_id` is the expanded node of the graph. */
export type GraphExpandedEvent = EventOf<"got_expand"> &
  Omit<EventPosition, "node_id"> & {
    /** The node run that the event belongs to. */
    readonly span_node_id?: string;
  };

/** An event of a run, as `events` yields it. `type` tells which. */
export type AgentEvent = ApprovalRequestEvent | ToolStartedEvent | GraphExpandedEvent | PlainEvent;

type PlainType = Exclude<EventType, "tool_approval" | "tool_start" | "got_expand">;
type PlainEvent = { [T in PlainType]: EventOf<T> & EventPosition }[PlainType];

/** Converts a record of the run of a call. An event of an unknown type becomes a `foreign` event. */
export function toAgentEvent({ envelope, event }: StampedRecord, call: AgentCall): AgentEvent {
  const { session_id, event_id, node_id, ts } = envelope;
  const position: EventPosition = {
    session_id,
    run_id: call.ids.runId,
    event_id,
    ...dropUndefined({ node_id, ts }),
  };
  if (!isKnownEvent(event)) return { type: "foreign", dialect: "loom", frame: event, ...position };
  if (event.type === "got_expand") return { ...position, ...event, ...dropUndefined({ span_node_id: node_id }) };
  const made = { ...event, ...position };
  if (made.type === "tool_start" && made.executor === "client") return addAnswer(made, call);
  return made.type === "tool_approval" ? addMethods(made, call) : made;
}

function addAnswer(event: EventOf<"tool_start"> & EventPosition, call: AgentCall): ToolStartedEvent {
  const { call_id: callId = "" } = event;
  const answer: ClientCallMethods["answer"] = async (output, options = {}) => {
    readOptions(ANSWER_OPTIONS, options);
    await call.answerCall({ callId, output, isError: options.isError });
  };
  return Object.defineProperty(event, "answer", { value: answer });
}

/** The methods are not enumerable, so that the event can be copied and printed as data. */
function addMethods(event: EventOf<"tool_approval"> & EventPosition, call: AgentCall): ApprovalRequestEvent {
  const { call_id: callId = "" } = event;
  const methods: ApprovalMethods = {
    approve: async (options = {}) => {
      // The bare arguments instead of `{ arguments }` would approve the original ones.
      readOptions(APPROVE_OPTIONS, options);
      const { arguments: edited, reason } = options;
      // A copy, because the caller may change the object before the answer is written.
      await call.answerApproval({
        callId,
        decision: "approved",
        arguments: edited && structuredClone(edited),
        reason,
      });
    },
    reject: (reason) => call.answerApproval({ callId, decision: "rejected", reason }),
  };
  return Object.defineProperties(event, {
    approve: { value: methods.approve },
    reject: { value: methods.reject },
  }) as ApprovalRequestEvent;
}
