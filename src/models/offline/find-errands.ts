/** All that a message asks for, in its order. */
import { arithmetic } from "./arithmetic.ts";
import { clock } from "./clock.ts";
import type { Errand, Language, Skill } from "./errand.ts";
import { files } from "./files.ts";

/** Longer messages are looked at up to here. */
const READ_CHARACTERS = 4000;
const MAX_ERRANDS = 8;

const SKILLS: readonly Skill[] = [files, clock, arithmetic];

export function findErrands(message: string): readonly Errand[] {
  let text = message.slice(0, READ_CHARACTERS);
  const found: Errand[] = [];
  for (const errand of files.find(text)) {
    // What stands in its words, the content of a file above all, is not read by the other skills, unless it says so.
    text = blank(text, errand.at, errand.end);
    const parts = errand.madeOf === undefined ? [] : findFacts(errand.madeOf);
    const owner = errand.at;
    found.push(...parts.map((part) => ({ ...part, at: owner, owner })));
    found.push(parts.length === 0 && errand.madeOf !== undefined ? { ...errand, needsResults: false } : errand);
  }
  found.push(...findFacts(text));
  return found.sort((a, b) => a.at - b.at).slice(0, MAX_ERRANDS);
}

function findFacts(text: string): readonly Errand[] {
  return [clock, arithmetic].flatMap((skill) => skill.find(text));
}

/** What can be done with these tools, in words of that language. */
export function listAbilities(tools: ReadonlySet<string>, language: Language): readonly string[] {
  return SKILLS.toReversed()
    .flatMap(({ abilities }) => abilities)
    .filter(({ tool }) => tools.has(tool))
    .map(({ can }) => can[language]);
}

/** With signs that end what comes before them. */
function blank(text: string, at: number, end: number): string {
  return text.slice(0, at) + ";".repeat(end - at) + text.slice(end);
}
