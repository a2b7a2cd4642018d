/** Summarizes a tool in a few words for users who watch a run. The description is for the model and can be long. */
import { cutLine, toPlainLine } from "./cut-line.ts";
import type { Tool } from "./tool.ts";

export const MAX_SUMMARY_CHARACTERS = 120;

const sentences = new Intl.Segmenter("en", { granularity: "sentence" });

/** Returns the title, or the first sentence of the description. Undefined if both are empty. */
export function summarizeTool({ title = "", description }: Pick<Tool, "title" | "description">): string | undefined {
  const named = toPlainLine(title.trimStart(), MAX_SUMMARY_CHARACTERS);
  const words = named === "" ? findFirstSentence(description) : named;
  return words === "" ? undefined : cutLine(words, MAX_SUMMARY_CHARACTERS);
}

function findFirstSentence(description: string): string {
  // A line break does not end a sentence; a blank line does.
  const [paragraph = ""] = description.trimStart().split(/\r?\n[^\S\n]*\r?\n/u, 1);
  const [first] = sentences.segment(toPlainLine(paragraph, MAX_SUMMARY_CHARACTERS));
  return first?.segment.trimEnd() ?? "";
}
