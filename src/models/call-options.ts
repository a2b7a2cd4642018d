/** A request in the words of the AI SDK's providers. Their versions agree on all of it. */
import type { ModelRequest, ModelTool } from "./model.ts";

export function createCallOptions(request: ModelRequest, abortSignal: AbortSignal): object {
  const { messages, tools = [], toolChoice, responseFormat, settings = {} } = request;
  return {
    ...settings,
    prompt: messages,
    ...(tools.length === 0 ? {} : { tools: tools.map(describeTool), toolChoice: describeChoice(toolChoice) }),
    ...(responseFormat === undefined ? {} : { responseFormat: { type: "json", ...responseFormat } }),
    abortSignal,
  };
}

function describeTool({ name, description, inputSchema }: ModelTool): object {
  return { type: "function", name, description, inputSchema };
}

function describeChoice(choice: ModelRequest["toolChoice"] = "auto"): object {
  return typeof choice === "string" ? { type: choice } : { type: "tool", toolName: choice.toolName };
}
