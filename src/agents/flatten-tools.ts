/**
 * Messages without tool calls: what was called and what it gave, as words of the assistant. Providers refuse calls in a
 * conversation where no tools are offered, and a search offers them only now and then.
 */
import type { AssistantPart, ModelMessage, ToolResultPart } from "../models/model.ts";

/** Characters of one result that are worth remembering in words. */
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
    // Reasoning is its provider's, and belongs to the calls it was followed by.
    if (part.type === "reasoning") return [];
    const { value = "nothing" } = results.get(part.toolCallId)?.output ?? {};
    const given = typeof value === "string" ? value : JSON.stringify(value);
    const shown = given.length > MAX_RESULT ? `${given.slice(0, MAX_RESULT).toWellFormed()}…` : given;
    return [{ type: "text", text: `[${part.toolName}(${JSON.stringify(part.input)}) gave: ${shown}]\n` }];
  });
}
