/**
 * The event vocabulary: event declarations, the envelope, validation and the life-cycle rules of a run. Imports no
 * package and no other folder, so it runs in browsers and in Node.
 */
export { EVENT_TYPES, type EventType } from "./events/index.ts";
export type { Envelope, LoomEvent } from "./events.generated.ts";
export { ERROR_CODES, type ErrorCode, type ErrorType } from "./error-codes.ts";
export type { ClientTool } from "./run-additions.ts";
export type { Fault, FaultRule } from "./fault.ts";
export { isJsonObject, type Json, type JsonObject } from "./json.ts";
export { isLoomError, LoomError } from "./loom-error.ts";
export type { ReasoningLevel } from "./reasoning-level.ts";
export type { ToolRule, ToolRules } from "./tool-rules.ts";
export {
  type AnyEvent,
  type EventOf,
  type EventRecord,
  isKnownEvent,
  type OpaqueEvent,
  type StampedRecord,
} from "./record.ts";
export type { Issue, IssueLevel, Rule, RuleTable } from "./rules.ts";
export { type GraphState, StateFold, type StateFoldOptions } from "./state-fold.ts";
export type { StreamMode, StreamModes } from "./stream-modes.ts";
export { validateEvent, type Validated } from "./validate.ts";
export { Verifier, type VerifierOptions, type VerifierTotals } from "./verify/verifier.ts";
