/**
 * The sender: sessions that are written, runs and what they need, commands, recovery, and the engine of 003 on top.
 * Everything goes through a log; no connection is known here.
 */
export type { ApprovalAnswer, CallState, Checkpoint, OpenCall, OpenSpan } from "./open-work.ts";
export { describeFailure } from "./drivers.ts";
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
export { sendCommand, type SendCommandOptions } from "./send-command.ts";
export type { Send, SentFrame } from "./send-queue.ts";
export type { Pushed } from "./sequencer.ts";
export { openSession, Session } from "./session.ts";
export type { CloseOptions, RunRequest, SessionEnd, SessionOptions } from "./session-options.ts";
export { StreamingEngine, type StreamingEngineOptions } from "./streaming-engine.ts";
