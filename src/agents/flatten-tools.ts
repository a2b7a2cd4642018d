/**
 * Replaces tool calls and their results in messages with assistant text. Providers reject tool calls in a conversation
 * that offers no tools, and `tot` and `got` offer tools only in some calls.
 */
import type { AssistantPart, ModelMessage, ToolResultPart } from "../models/model.ts";
import { shorten } from "../protocol/cut-text.ts";

/** Maximum characters kept of one result. */
const MAX_RESULT = 2000;

export function flattenTools(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  if (!messages.some(({ role }) => role === "tool")) return messages;
  const results = new Map<string, ToolResultPart>();
  for (const message of messages)
    if (message.role === "tool") for (const part of message.content) results.set(part.toolCallId, part);
  const flat: ModelMessage[] = [];
  for (const message of messages) {
    if (message.role === "tool") continue;
    const last = flat.at(-1);
    if (message.role !== "assistant") flat.push(message);
    else if (last?.role !== "assistant") flat.push({ role: "assistant", content: toText(message.content, results) });
    else flat[flat.length - 1] = { role: "assistant", content: [...last.content, ...toText(message.content, results)] };
  }
  return flat;
}

function toText(content: readonly AssistantPart[], results: ReadonlyMap<string, ToolResultPart>): AssistantPart[] {
  return content.flatMap((part): AssistantPart[] => {
    if (part.type === "text") return [part];
    // Reasoning belongs to the tool calls that follow it, and is useless to other providers.
    if (part.type === "reasoning") return [];
    const { value = "nothing" } = results.get(part.toolCallId)?.output ?? {};
    const given = typeof value === "string" ? value : JSON.stringify(value);
    const shown = shorten(given, MAX_RESULT);
    return [{ type: "text", text: `[${part.toolName}(${JSON.stringify(part.input)}) returned: ${shown}]\n` }];
  });
}
