/** All that a message asks for, in its order. */
import { arithmetic } from "./arithmetic.ts";
import { clock } from "./clock.ts";
import type { Errand, Language, Skill } from "./errand.ts";
import { files } from "./files.ts";

/** Longer messages are looked at up to here. */
const READ_CHARACTERS = 4000;
const MAX_ERRANDS = 8;

/** What stands in the words of one skill, the content of a file above all, is not read by those after it. */
const SKILLS: readonly Skill[] = [files, clock, arithmetic];

export function findErrands(message: string): readonly Errand[] {
  let text = message.slice(0, READ_CHARACTERS);
  const found: Errand[] = [];
  for (const skill of SKILLS) {
    const errands = skill.find(text);
    found.push(...errands);
    if (skill === files) for (const { at, end } of errands) text = blank(text, at, end);
  }
  // What is made of results comes after all that may give one.
  return found
    .sort((a, b) => Number(a.needsResults ?? false) - Number(b.needsResults ?? false) || a.at - b.at)
    .slice(0, MAX_ERRANDS);
}

/** What can be done with these tools, in words of that language. */
export function listAbilities(tools: ReadonlySet<string>, language: Language): readonly string[] {
  return SKILLS.toReversed()
    .flatMap(({ abilities }) => abilities)
    .filter(({ tool }) => tools.has(tool))
    .map(({ can }) => can[language]);
}

function blank(text: string, at: number, end: number): string {
  return text.slice(0, at) + " ".repeat(end - at) + text.slice(end);
}
