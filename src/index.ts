/**
 * The main entry point: what a first program needs. Each module has its own entry point with the full API, such as
 * `loom-agent/client` and `loom-agent/server`.
 *
 * It re-exports from single files, because the entry points of the modules load everything that they export.
 */
export { record } from "./adapters/record.ts";
export { agent, type Agent } from "./agents/agent.ts";
export type { AgentCallOptions } from "./agents/agent-call.ts";
export type { AgentOptions } from "./agents/agent-options.ts";
export type { Approve } from "./agents/answer-approval.ts";
export type { RunResult } from "./agents/run-result.ts";
export type { StreamEvent } from "./agents/stream-answer.ts";
export { sendCommand } from "./engine/send-command.ts";
export { openSession } from "./engine/session.ts";
export { StreamingEngine } from "./engine/streaming-engine.ts";
export type { Log } from "./log/log.ts";
export { MemoryLog } from "./log/memory-log.ts";
export { openSqliteLog } from "./log/open-log.ts";
export { openStream } from "./log/stream.ts";
export { BaseCallback, type CallbackEventType, type CallbackPayload } from "./observe/callbacks/callback.ts";
export { isLoomError, LoomError } from "./protocol/loom-error.ts";
export { defineTool } from "./tools/define-tool.ts";
export type { Tool } from "./tools/tool.ts";
