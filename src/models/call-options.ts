/** Converts a request to the call options of AI SDK providers. The versions differ only in how files are passed. */
import { describeFile } from "./describe-file.ts";
import type { LanguageModel, ModelMessage, ModelRequest, ModelTool, UserPart } from "./model.ts";
import { translateReasoning } from "./request-reasoning.ts";

export function createCallOptions(request: ModelRequest, abortSignal: AbortSignal, model: LanguageModel): object {
  const { messages, tools = [], toolChoice, responseFormat } = request;
  const { specificationVersion: version } = model;
  const { caching: _, ...settings } = translateReasoning(model, request);
  const usesMarks = request.settings?.caching === true && /^anthropic(?:\.|$)/.test(model.provider);
  const cached = usesMarks ? listCached(messages) : [];
  const converted = messages.some(hasFiles) ? messages.map((message) => convertFiles(message, version)) : messages;
  const described = tools.map((tool, index) => mark(describeTool(tool), usesMarks && index === tools.length - 1));
  return {
    ...settings,
    prompt: converted.map((message, index) => mark(message, cached.includes(index))),
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

/** Marks a message or tool that ends a part of the prompt that the provider can cache. */
function mark(item: object, isCached: boolean): object {
  return isCached ? { ...item, providerOptions: MARK } : item;
}

/**
 * Returns the indexes of the messages that end a part that stays the same in the next call: the system prompt, and the
 * messages before the newest one. Only Anthropic needs marks; other providers cache by themselves.
 */
function listCached(messages: readonly ModelMessage[]): readonly number[] {
  return [messages.findLastIndex(({ role }) => role === "system"), messages.length - 2];
}
