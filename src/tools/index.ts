/**
 * Tools for agents: the tool interface, `defineTool`, running tool calls, the built-in tools and MCP servers. The
 * module does not depend on agents or runs; it uses a `ToolHost`.
 */
export { type BuiltinToolsOptions, createBuiltinTools } from "./builtin-tools.ts";
export { createCalculatorTool } from "./calculator/calculator.ts";
export { evaluateExpression, type Evaluation } from "./calculator/evaluate-expression.ts";
export type { CurrentTimeOptions } from "./current-time.ts";
export { defineTool, type ToolDefinition } from "./define-tool.ts";
export { describeInput } from "./describe-input.ts";
export { createFetchTool, type FetchToolOptions } from "./fetch/create-fetch-tool.ts";
export { createFileTools, type FileToolOptions } from "./files/create-file-tools.ts";
export { type CollectionSearcher, createKnowledgeTool, type KnowledgeToolOptions } from "./knowledge-tool.ts";
export type { McpApproval } from "./mcp/create-mcp-tool.ts";
export type { McpServerState, McpServerStatus } from "./mcp/mcp-server.ts";
export { type McpOptions, type McpServers, openMcpServers } from "./mcp/open-mcp-servers.ts";
export { type McpConfig, type McpServerConfig, readMcpConfig } from "./mcp/read-mcp-config.ts";
export { runToolCall } from "./run-tool-call.ts";
export type { ImageToolOptions } from "./show-image.ts";
export type { OutputOf, StandardSchema } from "./standard-schema.ts";
export type { ToolApprovalAnswer, ToolApprovalRequest, ToolClientRequest, ToolHost } from "./tool-host.ts";
export { ToolError, toolResult, type ToolResultParts } from "./tool-result.ts";
export { createToolbox, type Toolbox, type ToolDescription } from "./toolbox.ts";
export type {
  ApprovalPolicy,
  Tool,
  ToolCallRequest,
  ToolContext,
  ToolOptions,
  ToolOutcome,
  ToolCallResult,
} from "./tool.ts";
