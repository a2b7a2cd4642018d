/**
 * The event vocabulary: event declarations, the envelope, validation and the life-cycle rules of a run. Imports no
 * package and no other folder, so it runs in browsers and in Node.
 */
export { BoundedMap } from "./bounded-map.ts";
export { type CallFrame, CallKeys } from "./call-keys.ts";
export {
  type AckControl,
  type ApproveControl,
  type CancelControl,
  CONTROL_VERSION,
  type ControlCommand,
  decodeDown,
  type DecodedControl,
  decodeUp,
  DOWN_FRAMES,
  type DownFrame,
  encodeControl,
  type EndControl,
  type FramesControl,
  type HeartbeatControl,
  type HelloControl,
  type InvalidControl,
  isCommand,
  type PingControl,
  type PongControl,
  readUp,
  type RefusalControl,
  type RunControl,
  type SubscribeControl,
  type SubscribedControl,
  type TodoControl,
  type UnsubscribeControl,
  UP_FRAMES,
  type UpFrame,
} from "./control/index.ts";
export { ENVELOPE, SPAN_NODE_ID } from "./envelope.ts";
export { findLoomEventReader, type LoomEventReader } from "./event-reader.ts";
export { EVENT_TYPES, EVENTS, type EventType, type SpecifiedType } from "./events/index.ts";
export {
  type CheckpointEvent,
  type CompressionAppliedEvent,
  type CustomEvent,
  type DataEvent,
  type Envelope,
  type ErrorEvent,
  findEnvelopeFault,
  findLoomEventFault,
  type ForeignEvent,
  type GotExpandEvent,
  type GotNodeCompleteEvent,
  type GotNodeFailedEvent,
  type GotNodeStartEvent,
  type GotPlanEvent,
  type ImageEvent,
  type LlmEndEvent,
  type LlmStartEvent,
  type LoomEvent,
  type LoomEventMap,
  type MessageChunkEvent,
  type NodeEnterEvent,
  type NodeExitEvent,
  type ReasoningChunkEvent,
  type ReasoningEndEvent,
  type ReplyEvent,
  type RetrievalCompleteEvent,
  type RunEndEvent,
  type RunStartEvent,
  type TodoListEvent,
  type TodoUpdateEvent,
  type ToolApprovalEvent,
  type ToolApprovalResultEvent,
  type ToolCallChunkEvent,
  type ToolCallEvent,
  type ToolEndEvent,
  type ToolOutputEvent,
  type ToolProgressEvent,
  type ToolStartEvent,
  type TotBacktrackEvent,
  type TotEvaluateEvent,
  type TotExpandEvent,
  type UpdatesEvent,
  type UsageEvent,
  type ValuesEvent,
} from "./events.generated.ts";
export { ERROR_CODES, type ErrorCode, type ErrorType, errorTypeOf } from "./error-codes.ts";
export { describeValue, type Fault, type FaultRule, type Hint } from "./fault.ts";
export { isDeeperThan, isJsonObject, type Json, type JsonObject, MAX_JSON_DEPTH } from "./json.ts";
export { shapeSchema, unionSchema } from "./json-schema.ts";
export { isLoomError, LoomError } from "./loom-error.ts";
export {
  DENY_ALL,
  findToolRule,
  isToolRules,
  joinToolRules,
  readToolRules,
  type ToolRule,
  type ToolRules,
} from "./tool-rules.ts";
export {
  type AnyEvent,
  type EventOf,
  type EventRecord,
  isKnownEvent,
  isKnownType,
  isSpecified,
  isTerminal,
  mayLackRun,
  type OpaqueEvent,
  type StampedEnvelope,
  type StampedRecord,
} from "./record.ts";
export { FRAME_RULES } from "./frame-rules.ts";
export { RunStates } from "./run-states.ts";
export { createIssueFactory, type Issue, type IssueLevel, type Rule, type RuleTable } from "./rules.ts";
export type { Field, Fields, Schema, Shape, LocalizedText } from "./schema.ts";
export {
  type GraphState,
  isDelta,
  isInDeltaSeries,
  isStateEvent,
  StateFold,
  type StateFoldOptions,
} from "./state-fold.ts";
export { applyPatch, type ChannelPatch, PatchedState, type StatePatch } from "./state-patch.ts";
export type { PendingWrites } from "./super-step.ts";
export { findStreamMode, readStreamModes, STREAM_MODES, type StreamMode, type StreamModes } from "./stream-modes.ts";
export { dropEnvelopeNames, fitsStrictForm, hasLoomKey, unwrapEvent, unwrapCustomValue, wrapEvent } from "./strict.ts";
export { findEventFault, validateEvent, type Validated } from "./validate.ts";
export { LIFECYCLE_RULES } from "./verify/lifecycle-rules.ts";
export { Verifier, type VerifierOptions, type VerifierTotals } from "./verify/verifier.ts";
