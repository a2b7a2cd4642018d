/**
 * Passages of a knowledge base, as a tool or the system message gives them: a number in brackets and a title, then the
 * text. It knows no skill. What is none is left out.
 */

export interface FoundPassage {
  readonly ref: string;
  readonly title: string;
  /** The document's address and lines, as they were told. */
  readonly where: string;
  readonly text: string;
}

/** More of a result is not read. */
const READ_CHARACTERS = 60_000;
const MAX_PASSAGES = 50;

const HEAD = /^\[(?<ref>\d{1,4})\] (?<title>.{1,1400})$/;
/** "Title (docs/a.md, lines 3-9)". */
const WHERE = /^(?<title>.+?) ?\((?<where>[^()]*(?:\([^()]*\)[^()]*)*)\)$/;
const MARK = /^[|>] ?/;

export function readPassages(result: string): readonly FoundPassage[] {
  const passages: { ref: string; title: string; where: string; lines: string[] }[] = [];
  for (const line of result.slice(0, READ_CHARACTERS).split("\n")) {
    const { ref, title = "" } = HEAD.exec(line)?.groups ?? {};
    if (ref !== undefined) {
      if (passages.length === MAX_PASSAGES) break;
      const split = WHERE.exec(title)?.groups;
      passages.push({ ref, title: split?.["title"] ?? title, where: split?.["where"] ?? "", lines: [] });
    } else passages.at(-1)?.lines.push(line);
  }
  return passages.flatMap(({ lines, ...passage }) => {
    // Where lines are marked, what is not marked is not of the passage.
    const marked = lines.filter((line) => MARK.test(line));
    const isMarked = MARK.test(lines[0] ?? "");
    const text = (isMarked ? marked.map((line) => line.replace(MARK, "")) : lines).join("\n").trim();
    return text === "" ? [] : [{ ...passage, text }];
  });
}

/** The agent's words, before the passages it has found for the question. */
const PREAMBLE = "Passages that were found for the user's question";

/** Where passages begin in a system message; what stands before them is not for this. Empty where there are none. */
export function findContext(system: string): string {
  const at = system.indexOf(PREAMBLE);
  return at < 0 ? "" : system.slice(at);
}
