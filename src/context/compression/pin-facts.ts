/**
 * Appends pinned facts to the system message, which compression never changes. Without facts the messages stay
 * unchanged.
 */
import type { ModelMessage } from "../../models/model.ts";

type Messages = readonly ModelMessage[];

/** Returns a function that adds the facts to a prompt. Adding them twice has no effect. */
export function pinFacts(facts: readonly string[]): (messages: Messages) => Messages {
  const lines = facts.map((fact) => fact.trim()).filter((fact) => fact !== "");
  if (lines.length === 0) return (messages) => messages;
  const block = ["Facts to keep in mind:", ...lines.map((line) => `- ${line}`)].join("\n");
  // Reuse the message of the last prompt, so that its tokens are counted once.
  let last: ModelMessage = { role: "system", content: block };
  return (messages) => {
    const [first, ...rest] = messages;
    if (first?.role !== "system") return [{ role: "system", content: block }, ...messages];
    if (first.content === block || first.content.endsWith(`\n\n${block}`)) return messages;
    const content = `${first.content}\n\n${block}`;
    if (last.content !== content) last = { role: "system", content };
    return [last, ...rest];
  };
}
