/** Converts a request to the call options of AI SDK providers. The versions differ only in how files are passed. */
import { describeFile } from "./describe-file.ts";
import type { LanguageModel, ModelMessage, ModelRequest, ModelTool, UserPart } from "./model.ts";
import { translateReasoning } from "./request-reasoning.ts";

export function createCallOptions(request: ModelRequest, abortSignal: AbortSignal, model: LanguageModel): object {
  const { messages, tools = [], toolChoice, responseFormat } = request;
  const { specificationVersion: version } = model;
  const { caching: _, ...settings } = translateReasoning(model, request);
  const marks = createCacheMarks(model, request);
  const converted = messages.some(hasFiles) ? messages.map((message) => convertFiles(message, version)) : messages;
  const described = tools.map((tool, index) => marks.tool(index)(describeTool(tool)));
  return {
    ...settings,
    prompt: converted.map((message, index) => marks.message(index)(message)),
    ...(tools.length === 0 ? {} : { tools: described, toolChoice: describeChoice(toolChoice) }),
    ...(responseFormat === undefined ? {} : { responseFormat: { type: "json", ...responseFormat } }),
    abortSignal,
  };
}

function hasFiles({ role, content }: ModelMessage): boolean {
  return role === "user" && content.some(({ type }) => type !== "text");
}

function convertFiles(message: ModelMessage, version: string): object {
  if (message.role !== "user") return message;
  return { role: "user", content: message.content.map((part) => convertPart(part, version)) };
}

function convertPart(part: UserPart, version: string): object {
  if (part.type === "text") return part;
  if (part.type === "attachment") return { type: "text", text: `[${describeFile(part)} is not available]` };
  return version === "v4" ? { ...part, data: { type: "data", data: part.data } } : part;
}

function describeTool({ name, description, inputSchema }: ModelTool): object {
  return { type: "function", name, description, inputSchema };
}

function describeChoice(choice: ModelRequest["toolChoice"] = "auto"): object {
  return typeof choice === "string" ? { type: choice } : { type: "tool", toolName: choice.toolName };
}

const MARK = { anthropic: { cacheControl: { type: "ephemeral" } } };

/** Adds the mark to a message or tool. */
type MarkCached = <Item extends object>(item: Item) => Item;

const unchanged: MarkCached = (item) => item;

/**
 * Marks the parts of a prompt that stay the same in the next call, so that the provider can cache them: the tools, the
 * system prompt, and the messages before the newest one. Only Anthropic needs marks; other providers cache by themselves.
 * Items are marked by index: those that end a stable prefix.
 */
function createCacheMarks(
  model: LanguageModel,
  { messages, tools = [], settings }: ModelRequest,
): { readonly message: (index: number) => MarkCached; readonly tool: (index: number) => MarkCached } {
  if (settings?.caching !== true || !/^anthropic(?:\.|$)/.test(model.provider))
    return { message: () => unchanged, tool: () => unchanged };
  const mark: MarkCached = (item) => ({ ...item, providerOptions: MARK });
  const marked = new Set([messages.findLastIndex(({ role }) => role === "system"), messages.length - 2]);
  return {
    message: (index) => (marked.has(index) ? mark : unchanged),
    tool: (index) => (index === tools.length - 1 ? mark : unchanged),
  };
}
