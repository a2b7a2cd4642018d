/** Summarizes a tool in a few words for users who watch a run. The description is for the model and can be long. */
import type { Language } from "../protocol/detect-language.ts";
import type { JsonObject } from "../protocol/index.ts";
import type { LocalizedText } from "../protocol/schema.ts";
import { cutLine, toPlainLine } from "./cut-line.ts";
import type { Tool } from "./tool.ts";

/** Far beyond any title or sentence: only text that is not a summary is cut. */
export const MAX_SUMMARY_CHARACTERS = 2000;

/** Created on first use, because that takes as long as loading all tools. */
let sentences: Intl.Segmenter | undefined;

/** Length of what a call will do or has done. It is one line. */
const MAX_CALL_SUMMARY = 200;

/**
 * Returns the title in the language of the user if the tool has it, or the first sentence of the description. Undefined
 * if both are empty.
 */
export function summarizeTool(
  { title = "", description }: Pick<Tool, "title" | "description">,
  language: Language = "en",
): string | undefined {
  const named = toPlainLine(pickLanguage(title, language).trimStart(), MAX_SUMMARY_CHARACTERS);
  const words = named === "" ? findFirstSentence(description) : named;
  return words === "" ? undefined : cutLine(words, MAX_SUMMARY_CHARACTERS);
}

/** Returns what a call with these arguments will do. Without a summary of the call, this is the summary of the tool. */
export function summarizeCall(tool: Tool, input: JsonObject, language: Language = "en"): string | undefined {
  let said: unknown;
  try {
    said = tool.summarize?.(input);
  } catch {
    // A mistake in a summary must not fail the call.
  }
  return writeSummary(said, language) ?? summarizeTool(tool, language);
}

/** Returns a summary of a tool as one line in the language of the user. Undefined if there is none. */
export function writeSummary(summary: unknown, language: Language = "en"): string | undefined {
  const said =
    typeof summary === "string" ? summary : (summary as Partial<LocalizedText> | null | undefined)?.[language];
  const line = typeof said === "string" ? toPlainLine(said.trimStart(), MAX_CALL_SUMMARY) : "";
  return line === "" ? undefined : cutLine(line, MAX_CALL_SUMMARY);
}

/** Appends what a call acts on, such as a path or a title, to what it does. */
export function nameSubject({ en, zh }: LocalizedText, subject: string | undefined): LocalizedText {
  return subject === undefined || subject.trim() === ""
    ? { en, zh }
    : { en: `${en}: ${subject}`, zh: `${zh}：${subject}` };
}

function pickLanguage(text: string | LocalizedText, language: Language): string {
  return typeof text === "string" ? text : text[language];
}

function findFirstSentence(description: string): string {
  // A line break does not end a sentence; a blank line does.
  const [paragraph = ""] = description.trimStart().split(/\r?\n[^\S\n]*\r?\n/u, 1);
  sentences ??= new Intl.Segmenter("en", { granularity: "sentence" });
  const [first] = sentences.segment(toPlainLine(paragraph, MAX_SUMMARY_CHARACTERS));
  return first?.segment.trimEnd() ?? "";
}
