/**
 * Reads passages of a knowledge base from a tool result or a system message: a number in brackets and a title, then the
 * text. Everything else is ignored.
 */

export interface FoundPassage {
  readonly ref: string;
  readonly title: string;
  /** Relevance from 0 to 1, if the search reported one. */
  readonly score?: number;
  readonly text: string;
}

/** Longer results are read up to here. */
const READ_CHARACTERS = 60_000;
const MAX_PASSAGES = 50;

const HEAD = /^\[(?<ref>\d{1,4})\] (?<about>.{1,4000})$/;
/** `"Title" (docs/a.md, lines 3 to 9, score 0.72)`, with or without quotation marks. */
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
    // If lines are marked, unmarked lines are not part of the passage.
    const marked = lines.filter((line) => MARK.test(line));
    const isMarked = MARK.test(lines[0] ?? "");
    const text = (isMarked ? marked.map((line) => line.replace(MARK, "")) : lines).join("\n").trim();
    return text === "" ? [] : [{ ...passage, text }];
  });
}

function readHead(about: string): Pick<FoundPassage, "title" | "score"> {
  const { title = about, where = "" } = (QUOTED.exec(about) ?? PLAIN.exec(about))?.groups ?? {};
  const { score } = SCORE.exec(where)?.groups ?? {};
  return { title, ...(score === undefined ? {} : { score: Number(score) }) };
}

// The words with which agents introduce search results in the system message, or say that there are none.
// `test/models/offline-knowledge.test.ts` fails if an agent uses other words.
const FOUND = "Passages found for the user's question";
const NOTHING = "A search of the documents found nothing for this question.";
const FAILED = "The search of the documents failed.";

/** The outcome of a search that ran before the question. */
export interface GivenContext {
  /** The passages; empty if there are none. */
  readonly text: string;
  readonly outcome: "none" | "found" | "nothing" | "failed";
}

export function findContext(system: string): GivenContext {
  const at = system.indexOf(FOUND);
  if (at >= 0) return { text: system.slice(at), outcome: "found" };
  const lines = new Set(system.split("\n"));
  const isFailed = lines.has(FAILED);
  return { text: "", outcome: lines.has(NOTHING) ? "nothing" : isFailed ? "failed" : "none" };
}
