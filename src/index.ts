/**
 * The main entry point: what a first program needs. Each module has its own entry point with the full API, such as
 * `loom-agent/client` and `loom-agent/server`.
 */
export {
  agent,
  type Agent,
  type AgentCallOptions,
  type AgentOptions,
  type Approve,
  type RunResult,
  type StreamEvent,
} from "./agents/index.ts";
export { openSession, sendCommand, StreamingEngine } from "./engine/index.ts";
export { type Log, MemoryLog, openSqliteLog, openStream } from "./log/index.ts";
export { BaseCallback, type CallbackEventType, type CallbackPayload } from "./observe/index.ts";
export { isLoomError, LoomError } from "./protocol/index.ts";
// Imported directly, because the entry point of `tools` also loads files, HTTP and MCP.
export { defineTool } from "./tools/define-tool.ts";
export type { Tool } from "./tools/tool.ts";
