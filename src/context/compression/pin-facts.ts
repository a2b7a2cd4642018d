/** Puts pinned facts at the end of the system's message, where no compression comes. Without facts, nothing is changed. */
import type { ModelMessage } from "../../models/model.ts";

type Messages = readonly ModelMessage[];

export function pinFacts(facts: readonly string[]): (messages: Messages) => Messages {
  const lines = facts.map((fact) => fact.trim()).filter((fact) => fact !== "");
  if (lines.length === 0) return (messages) => messages;
  const block = ["Facts to keep in mind:", ...lines.map((line) => `- ${line}`)].join("\n");
  // The message of the last prompt is used again, so that it is counted once.
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
