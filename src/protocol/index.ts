/**
 * The event vocabulary: event declarations, the envelope, validation and the life-cycle rules of a run. Imports no
 * package and no other folder, so it runs in browsers and in Node.
 */
export { EVENT_TYPES, type EventType } from "./events/index.ts";
export type { LoomEvent } from "./events.generated.ts";
export { ERROR_CODES, type ErrorCode } from "./error-codes.ts";
export type { ClientTool } from "./run-additions.ts";
export type { Json, JsonObject } from "./json.ts";
export { isLoomError, LoomError } from "./loom-error.ts";
export type { ReasoningLevel } from "./reasoning-level.ts";
export type { ToolRules } from "./tool-rules.ts";
export { type AnyEvent, type EventOf, type EventRecord, isKnownEvent, type StampedRecord } from "./record.ts";
export type { Issue } from "./rules.ts";
export { StateFold } from "./state-fold.ts";
export { validateEvent } from "./validate.ts";
export { Verifier } from "./verify/verifier.ts";
