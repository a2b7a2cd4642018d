/**
 * Passages of a knowledge base, as a tool or the system message gives them: a number in brackets and a title, then the
 * text. It knows no skill. What is none is left out.
 */

export interface FoundPassage {
  readonly ref: string;
  readonly title: string;
  /** The document's address and lines, as they were told. */
  readonly where: string;
  /** From 0 to 1: how much of the question it holds. Absent where nobody said. */
  readonly score?: number;
  readonly text: string;
}

/** More of a result is not read. */
const READ_CHARACTERS = 60_000;
const MAX_PASSAGES = 50;

const HEAD = /^\[(?<ref>\d{1,4})\] (?<about>.{1,4000})$/;
/** `"Title" (docs/a.md, lines 3 to 9, score 0.72)`, with or without the quotation marks. */
const QUOTED = /^"(?<title>.+)"(?: \((?<where>.*)\))?$/;
const PLAIN = /^(?<title>.+?) ?\((?<where>[^()]*(?:\([^()]*\)[^()]*)*)\)$/;
const SCORE = /(?:^|, )score (?<score>\d(?:\.\d{1,10})?)$/;
const MARK = /^[|>] ?/;

export function readPassages(result: string): readonly FoundPassage[] {
  const passages: (Omit<FoundPassage, "text"> & { readonly lines: string[] })[] = [];
  for (const line of result.slice(0, READ_CHARACTERS).split("\n")) {
    const { ref, about = "" } = HEAD.exec(line)?.groups ?? {};
    if (ref !== undefined) {
      if (passages.length === MAX_PASSAGES) break;
      passages.push({ ref, ...readHead(about), lines: [] });
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

function readHead(about: string): Pick<FoundPassage, "title" | "where" | "score"> {
  const { title = about, where = "" } = (QUOTED.exec(about) ?? PLAIN.exec(about))?.groups ?? {};
  const { score } = SCORE.exec(where)?.groups ?? {};
  return { title, where: where.replace(SCORE, ""), ...(score === undefined ? {} : { score: Number(score) }) };
}

/** The agent's words, before the passages it has found for the question, or in place of them. It takes them from here. */
export const CONTEXT_WORDS = {
  found: "Passages that were found for the user's question",
  nothing: "A search of the documents found nothing for this question.",
  failed: "The search of the documents failed.",
} as const;

/** What a search before the question came to, where there was one. */
export interface GivenContext {
  /** Where passages begin; what stands before them is not for this. Empty where there are none. */
  readonly text: string;
  readonly outcome: "none" | "found" | "nothing" | "failed";
}

export function findContext(system: string): GivenContext {
  const at = system.indexOf(CONTEXT_WORDS.found);
  if (at >= 0) return { text: system.slice(at), outcome: "found" };
  const lines = new Set(system.split("\n"));
  const isFailed = lines.has(CONTEXT_WORDS.failed);
  return { text: "", outcome: lines.has(CONTEXT_WORDS.nothing) ? "nothing" : isFailed ? "failed" : "none" };
}
