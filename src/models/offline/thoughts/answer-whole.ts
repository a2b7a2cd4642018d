/**
 * The whole of a question in one piece: what tools can do of it, and the outline of a report, a comparison or a plan where
 * it asks for one. Before the user has agreed, where that was wished for, there is no outline either.
 */
import type { ModelMessage, ModelTool } from "../../model.ts";
import type { OfflineAnswer } from "../answer-prompt.ts";
import type { Language } from "../errand.ts";
import { findErrands } from "../find-errands.ts";
import { SEARCH_TOOL } from "../knowledge.ts";
import { answerAnew } from "./answer-anew.ts";
import { listSections, type Sections } from "./plan-work.ts";
import { readConsent } from "./read-consent.ts";
import { combineResults, OUTLINE_NOTE, sayLeftOut, writeOutline } from "./write-outline.ts";

export interface WholeOptions {
  readonly tools: readonly ModelTool[];
  /** Calls so far, with their results. */
  readonly since: readonly ModelMessage[];
  /** The conversation before the question. */
  readonly before: readonly ModelMessage[];
  readonly language: Language;
  /** Only what the outline would consist of, in a sentence. */
  readonly isShort?: boolean;
}

export function answerWhole(question: string, options: WholeOptions): OfflineAnswer {
  const { tools, since, before, language, isShort = false } = options;
  const sections = listSections(question, language);
  // What is an outline by our rules is not looked up, unless the words say so.
  const isLookedUp = sections === undefined || findErrands(question).some(({ tool }) => tool === SEARCH_TOOL);
  const fitting = isLookedUp ? tools : tools.filter(({ name }) => name !== SEARCH_TOOL);
  const answer = answerAnew(question, fitting, since, before);
  const consent = readConsent(question, since);
  if (answer.calls.length > 0 || answer.error !== undefined || consent === "open" || consent === "refused")
    return answer;
  if (sections === undefined) return answer;
  const text = isShort ? announceSections(sections, language) : writeSections(sections, language);
  // Words that a tool has seen to are not left out.
  const isAnswered = hasErrands(question);
  const parts = isAnswered ? [answer.text, text] : [text, sayLeftOut(sections.leftOut, language)];
  return { ...answer, text: parts.filter((part) => part !== "").join("\n\n") };
}

/** Whether there is anything for a tool in it but to ask the user. */
export function hasErrands(question: string): boolean {
  return findErrands(question).some(({ isConsent }) => isConsent !== true);
}

function announceSections({ tasks }: Sections, language: Language): string {
  return language === "zh"
    ? `提纲，共 ${tasks.length} 个部分：${tasks.join("；")}。`
    : `an outline of ${tasks.length} parts: ${tasks.join("; ")}.`;
}

function writeSections({ title, tasks }: Sections, language: Language): string {
  const known = tasks.map((task) => ({ id: "", task, text: writeOutline(task, language) }));
  return `${OUTLINE_NOTE[language]}\n\n${combineResults(title, known, language)}`;
}
