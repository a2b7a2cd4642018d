/**
 * The main entry point: agents, sessions, logs, dialects and the protocol. Each module has its own entry point with the
 * full API, such as `loom-agent/client` and `loom-agent/server`.
 */
export {
  agent,
  type Agent,
  type AgentOptions,
  type ApprovalQuestion,
  type Approve,
  type AgentCallOptions,
  type RunResult,
  type StreamEvent,
} from "./agents/index.ts";
export {
  createStreamCheck,
  createStreamConverter,
  detectDialect,
  DIALECT_NAMES,
  DIALECTS,
  type DialectName,
} from "./dialects/index.ts";
export {
  openSession,
  recoverOrphans,
  type Run,
  sendCommand,
  type Session,
  StreamingEngine,
  type StreamingEngineOptions,
} from "./engine/index.ts";
export {
  exportSession,
  followRecords,
  importSession,
  type Log,
  MemoryLog,
  openSqliteLog,
  openStream,
  type StreamFrame,
} from "./log/index.ts";
export {
  BaseCallback,
  type Callback,
  type CallbackEventType,
  type CallbackPayload,
  MetricsCollector,
} from "./observe/index.ts";
export {
  type AnyEvent,
  type EventRecord,
  type EventType,
  findEventFault,
  isLoomError,
  LoomError,
  type LoomEvent,
  validateEvent,
  Verifier,
} from "./protocol/index.ts";
// Imported directly, because the entry point of `tools` also loads files, HTTP and MCP.
export { defineTool } from "./tools/define-tool.ts";
export type { Tool } from "./tools/tool.ts";
