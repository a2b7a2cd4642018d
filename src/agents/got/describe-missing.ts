/**
 * Writes the note about missing parts at the end of an answer. The agent adds it itself, because a model may omit it.
 * It is in the language of the question.
 */
import { detectLanguage } from "../../protocol/detect-language.ts";
import type { MissingNode } from "./prompts.ts";

/** Maximum listed names; the others are counted. */
const MAX_NAMES = 20;

/** Empty if nothing is missing. `count` is the total number, which may be higher than the length of the list. */
export function describeMissing(question: string, missing: readonly MissingNode[], count = missing.length): string {
  if (missing.length === 0) return "";
  const names = missing.slice(0, MAX_NAMES).map(({ id }) => id);
  const more = count - names.length;
  if (detectLanguage(question) === "zh") {
    const rest = more === 0 ? "" : `等，共 ${count} 个`;
    return `（以下部分未能得出结果：${names.join("、")}${rest}。）`;
  }
  const rest = more === 0 ? "" : ` and ${more} more`;
  return `(No result for: ${names.join(", ")}${rest}.)`;
}
