/**
 * Finds the prompt of a thought in a conversation: the last user message, or an earlier one if the last only asks for
 * the required format again or for the result now.
 */
import type { ModelMessage } from "../../model.ts";
import { type GraphRequest, readThought, type TreeRequest } from "./read-thought.ts";

export interface FoundThought {
  readonly request: TreeRequest | GraphRequest;
  /** The conversation before the prompt. */
  readonly before: readonly ModelMessage[];
  /** Tool calls since the prompt, with their results. */
  readonly since: readonly ModelMessage[];
}

/** Marks a message that refers to an earlier prompt. */
const AGAIN = /\bin the same form\b|\bwrite the result now\b/i;
const MAX_NOTE = 2000;

export function findThought(prompt: readonly ModelMessage[]): FoundThought | undefined {
  for (let at = prompt.length - 1, tries = 0; at >= 0 && tries < MAX_TRIES; at--) {
    const message = prompt[at];
    if (message?.role !== "user") continue;
    const text = textOf(message);
    const request = readThought(text);
    if (request !== undefined) {
      const since = prompt.slice(at + 1).filter(({ role }) => role !== "user");
      return { request, before: prompt.slice(0, at), since };
    }
    if (!AGAIN.test(text.slice(-MAX_NOTE))) return undefined;
    tries++;
  }
  return undefined;
}

const MAX_TRIES = 4;

function textOf({ content }: ModelMessage): string {
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}
