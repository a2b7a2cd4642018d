/**
 * Tools for agents: the tool interface, `defineTool`, running tool calls, the built-in tools and MCP servers. The
 * module does not depend on agents or runs; it uses a `ToolHost`.
 */
export { type BuiltinToolsOptions, createBuiltinTools } from "./builtin-tools.ts";
export { createCalculatorTool } from "./calculator/calculator.ts";
export { evaluateExpression } from "./calculator/evaluate-expression.ts";
export { defineTool, type ToolDefinition } from "./define-tool.ts";
export { describeInput } from "./describe-input.ts";
export { createFileTools, type FileToolOptions } from "./files/create-file-tools.ts";
export { createKnowledgeTool } from "./knowledge-tool.ts";
export { type McpOptions, type McpServers, openMcpServers } from "./mcp/open-mcp-servers.ts";
export { type McpConfig, readMcpConfig } from "./mcp/read-mcp-config.ts";
export type { StandardSchema } from "./standard-schema.ts";
export { ToolError, toolResult } from "./tool-result.ts";
export type { ApprovalPolicy, Tool, ToolContext, ToolCallResult } from "./tool.ts";
