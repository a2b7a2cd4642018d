/**
 * The engine: writes sessions. It starts runs, executes commands, recovers interrupted runs, and provides the
 * `StreamingEngine` of specification 003.
 *
 * Everything is written to a log. The engine does not handle connections.
 */
export type { ApprovalAnswer } from "./open-work.ts";
export type { NodeRun } from "./node-run.ts";
export { recoverOrphans } from "./recover-orphans.ts";
export type { DeadRun } from "./recovery.ts";
export type { Run } from "./run.ts";
export type { ApprovalRequest, RunEnd } from "./run-contract.ts";
export { sendCommand } from "./send-command.ts";
export type { Send } from "./send-queue.ts";
export { openSession, type Session } from "./session.ts";
export type { RunRequest, SessionOptions } from "./session-options.ts";
export { StreamingEngine, type StreamingEngineOptions } from "./streaming-engine.ts";
