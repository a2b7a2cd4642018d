/** Summarizes a tool in a few words for users who watch a run. The description is for the model and can be long. */
import type { Language } from "../protocol/detect-language.ts";
import { cutLine, toPlainLine } from "./cut-line.ts";
import type { Tool } from "./tool.ts";

/** Far beyond any title or sentence: only text that is not a summary is cut. */
export const MAX_SUMMARY_CHARACTERS = 2000;

const sentences = new Intl.Segmenter("en", { granularity: "sentence" });

/**
 * Returns the title in the language of the user if the tool has it, or the first sentence of the description. Undefined
 * if both are empty.
 */
export function summarizeTool(
  { title = "", description }: Pick<Tool, "title" | "description">,
  language: Language = "en",
): string | undefined {
  const named = toPlainLine((typeof title === "string" ? title : title[language]).trimStart(), MAX_SUMMARY_CHARACTERS);
  const words = named === "" ? findFirstSentence(description) : named;
  return words === "" ? undefined : cutLine(words, MAX_SUMMARY_CHARACTERS);
}

function findFirstSentence(description: string): string {
  // A line break does not end a sentence; a blank line does.
  const [paragraph = ""] = description.trimStart().split(/\r?\n[^\S\n]*\r?\n/u, 1);
  const [first] = sentences.segment(toPlainLine(paragraph, MAX_SUMMARY_CHARACTERS));
  return first?.segment.trimEnd() ?? "";
}
