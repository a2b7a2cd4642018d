/**
 * The engine: writes sessions. It starts runs, executes commands, recovers interrupted runs, and provides the
 * `StreamingEngine` of specification 003.
 *
 * Everything is written to a log. The engine does not handle connections.
 */
export type { ApprovalAnswer } from "./open-work.ts";
export type { NodeRun } from "./node-run.ts";
export { type RecoveredSession, recoverOrphans } from "./recover-orphans.ts";
export type { DeadRun, RecoveredRun, RecoveryOptions } from "./recovery.ts";
export type { Run } from "./run.ts";
export type {
  ApprovalReply,
  ApprovalRequest,
  CancelOptions,
  ClientCallReply,
  ClientCallRequest,
  EmitOptions,
  FailOptions,
  FinishOptions,
  RunEnd,
  RunFailure,
} from "./run-contract.ts";
export type { OnInterruption, RunOrigin } from "./run-origin.ts";
export { awaitOutcome, sendCommand, type SendCommandOptions } from "./send-command.ts";
export type { Send, SentFrame } from "./send-queue.ts";
export { openSession, type Session } from "./session.ts";
export type { CloseOptions, RunRequest, SessionEnd, SessionOptions } from "./session-options.ts";
export { StreamingEngine, type StreamingEngineOptions } from "./streaming-engine.ts";
