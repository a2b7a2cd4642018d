/**
 * What a tool does, in a few words for people: those who watch a run see it beside the name. The description is for the
 * model, and may be as long as a page.
 */
import { cutLine, toPlainLine } from "./cut-line.ts";
import type { Tool } from "./tool.ts";

export const MAX_SUMMARY_CHARACTERS = 120;

const sentences = new Intl.Segmenter("en", { granularity: "sentence" });

/** Its title, or the first sentence of its description. Undefined where it says neither. */
export function summariseTool({ title = "", description }: Pick<Tool, "title" | "description">): string | undefined {
  const named = toPlainLine(title.trimStart(), MAX_SUMMARY_CHARACTERS);
  const words = named === "" ? findFirstSentence(description) : named;
  return words === "" ? undefined : cutLine(words, MAX_SUMMARY_CHARACTERS);
}

function findFirstSentence(description: string): string {
  // The end of a line does not end a sentence; an empty line does.
  const [paragraph = ""] = description.trimStart().split(/\r?\n[^\S\n]*\r?\n/u, 1);
  const [first] = sentences.segment(toPlainLine(paragraph, MAX_SUMMARY_CHARACTERS));
  return first?.segment.trimEnd() ?? "";
}
