/**
 * A wish to be asked first, in a tree or a graph of thoughts: whether there is one, and what came of it. It goes before
 * everything else, and after a no there is nothing else.
 */
import type { ModelMessage } from "../../model.ts";
import { findConsent } from "../consent.ts";

export type Consent = "none" | "open" | "refused" | "given";

/** `done` are the calls so far, with their results. */
export function readConsent(question: string, done: readonly ModelMessage[]): Consent {
  const wish = findConsent(question);
  if (wish === undefined) return "none";
  const results = done.flatMap((message) => (message.role === "tool" ? message.content : []));
  const answer = results.find(({ toolName }) => toolName === wish.tool);
  if (answer === undefined) return "open";
  return answer.output.type === "text" ? "given" : "refused";
}

/** The rest of what was said, every sign in its place. */
export function omitConsent(text: string): string {
  const { at = 0, end = 0 } = findConsent(text) ?? {};
  return text.slice(0, at) + " ".repeat(end - at) + text.slice(end);
}
