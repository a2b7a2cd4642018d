// Checks messages against the rules that all providers have for conversations.
import type { ModelMessage } from "../../src/models/model.ts";

/** Describes the first violation; undefined if there is none. */
export function findRuleViolation(messages: readonly ModelMessage[]): string | undefined {
  const seen = new Set<string>();
  for (const [index, message] of messages.entries()) {
    const where = `message ${index} (${message.role})`;
    if (message.content.length === 0) return `${where} is empty`;
    // Some servers reject two messages of one role in a row.
    if (message.role === messages[index - 1]?.role) return `${where} follows a message of the same role`;
    if (message.role === "system") {
      if (index > 0) return `${where} is not the first`;
      continue;
    }
    if (message.role !== "tool" && message.content.some((part) => part.type === "text" && part.text.trim() === ""))
      return `${where} has a blank text`;
    if (message.role === "tool" && messages[index - 1]?.role !== "assistant") return `${where} does not follow a call`;
    if (message.role !== "assistant") continue;
    const calls = message.content.flatMap((part) => (part.type === "tool-call" ? [part.toolCallId] : []));
    for (const call of calls) {
      if (seen.has(call)) return `${where} calls ${call} a second time`;
      seen.add(call);
    }
    const next = messages[index + 1];
    const results = next?.role === "tool" ? next.content.map(({ toolCallId }) => toolCallId) : [];
    if (calls.toSorted().join() !== results.toSorted().join())
      return `${where} calls [${calls.join()}], but the results are for [${results.join()}]`;
  }
  return undefined;
}
