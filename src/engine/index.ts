/**
 * The engine: writes sessions. It starts runs, executes commands, recovers interrupted runs, and provides the
 * `StreamingEngine` of specification 003.
 *
 * Everything is written to a log. The engine does not handle connections.
 */
export type { ApprovalAnswer, ToolCallState, RunCheckpoint, OpenToolCall, OpenNodeRun } from "./open-work.ts";
export { describeFailure } from "./run-executor.ts";
export { ErrorReporter } from "./error-reporter.ts";
export { type ForeignRun, ForeignSession, type ForeignSessionOptions } from "./foreign-session.ts";
export { describeError, NodeRun } from "./node-run.ts";
export { type RecoveredSession, recoverOrphans, type RecoverOptions } from "./recover-orphans.ts";
export { MAX_ATTACHMENTS } from "./inbox.ts";
export type { DeadRun, RecoveredRun, RecoveryOptions } from "./recovery.ts";
export { Run } from "./run.ts";
export type {
  ApprovalReply,
  ApprovalRequest,
  CancelOptions,
  EmitOptions,
  FailOptions,
  FinishOptions,
  RunEnd,
  RunFailure,
  RunOrigin,
} from "./run-contract.ts";
export { awaitOutcome, sendCommand, type SendCommandOptions } from "./send-command.ts";
export type { Send, SentFrame } from "./send-queue.ts";
export type { PushResult } from "./sequencer.ts";
export { openSession, Session } from "./session.ts";
export type { CloseOptions, RunRequest, SessionEnd, SessionOptions } from "./session-options.ts";
export { StreamingEngine, type StreamingEngineOptions } from "./streaming-engine.ts";
