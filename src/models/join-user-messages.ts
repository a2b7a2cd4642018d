/**
 * Joins consecutive user messages into one. They occur after a failed run or a summary, and some servers accept only
 * alternating roles.
 */
import type { ModelMessage } from "./model.ts";

export function joinUserMessages(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  if (!messages.some(({ role }, index) => role === "user" && messages[index - 1]?.role === "user")) return messages;
  const joined: ModelMessage[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    if (message.role === "user" && last?.role === "user")
      joined[joined.length - 1] = { role: "user", content: [...last.content, ...message.content] };
    else joined.push(message);
  }
  return joined;
}
