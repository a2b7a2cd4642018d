/**
 * The sentence that says what an answer was made without. The agent says it itself, so that it is said whatever the model
 * does, in the language of the question as far as that is Chinese or not.
 */
import type { Missing } from "./prompts.ts";

/** Names that are listed; of the others the number is told. */
const MAX_NAMES = 20;

/** Empty where nothing is missing. `count` is how many there are, of which some may be in the list. */
export function nameMissing(question: string, missing: readonly Missing[], count = missing.length): string {
  if (missing.length === 0) return "";
  const names = missing.slice(0, MAX_NAMES).map(({ id }) => id);
  const more = count - names.length;
  if (/\p{Script=Han}/u.test(question)) {
    const rest = more === 0 ? "" : `等，共 ${count} 个`;
    return `（缺少以下部分，因为未能得出结果：${names.join("、")}${rest}。）`;
  }
  const rest = more === 0 ? "" : ` and ${more} more`;
  return `(Missing, because it could not be worked out: ${names.join(", ")}${rest}.)`;
}
