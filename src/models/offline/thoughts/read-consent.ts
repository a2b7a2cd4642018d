/**
 * A request for approval in a tree or graph of thoughts: whether there is one, and its outcome. It comes before
 * everything else, and nothing follows a refusal.
 */
import type { ModelMessage } from "../../model.ts";
import { findConsent } from "../consent.ts";

export type ConsentState = "none" | "open" | "refused" | "given";

/** `done` are the calls so far, with their results. */
export function readConsent(question: string, done: readonly ModelMessage[]): ConsentState {
  const wish = findConsent(question);
  if (wish === undefined) return "none";
  const results = done.flatMap((message) => (message.role === "tool" ? message.content : []));
  const answer = results.find(({ toolName }) => toolName === wish.tool);
  if (answer === undefined) return "open";
  return answer.output.type === "text" ? "given" : "refused";
}

/** Blanks the request for approval; all other characters keep their position. */
export function omitConsent(text: string): string {
  const { at = 0, end = 0 } = findConsent(text) ?? {};
  return text.slice(0, at) + " ".repeat(end - at) + text.slice(end);
}
