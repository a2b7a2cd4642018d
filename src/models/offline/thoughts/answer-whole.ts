/**
 * Answers a whole question: what tools can do, and the outline of a report, a comparison or a plan if it asks for one.
 * There is no outline while an approval is pending.
 */
import type { ModelMessage, ModelTool } from "../../model.ts";
import type { OfflineAnswer } from "../answer-prompt.ts";
import type { OfflineLanguage } from "../offline-task.ts";
import { findTasks } from "../find-tasks.ts";
import { SEARCH_TOOL } from "../knowledge.ts";
import { answerAsMessage } from "./answer-as-message.ts";
import { listSections, type Sections } from "./plan-work.ts";
import { readConsent } from "./read-consent.ts";
import { combineResults, OUTLINE_NOTE, describeLeftOut, writeOutline } from "./write-outline.ts";

export interface WholeAnswerOptions {
  readonly tools: readonly ModelTool[];
  /** Calls so far, with their results. */
  readonly since: readonly ModelMessage[];
  /** The conversation before the question. */
  readonly before: readonly ModelMessage[];
  readonly language: OfflineLanguage;
  /** Whether to list only the headings of the outline, in one sentence. */
  readonly isShort?: boolean;
}

export function answerWhole(question: string, options: WholeAnswerOptions): OfflineAnswer {
  const { tools, since, before, language, isShort = false } = options;
  const sections = listSections(question, language);
  // A question that gets an outline is searched for only if it says so.
  const isLookedUp = sections === undefined || findTasks(question).some(({ tool }) => tool === SEARCH_TOOL);
  const fitting = isLookedUp ? tools : tools.filter(({ name }) => name !== SEARCH_TOOL);
  const answer = answerAsMessage(question, fitting, since, before);
  const consent = readConsent(question, since);
  if (answer.calls.length > 0 || answer.error !== undefined || consent === "open" || consent === "refused")
    return answer;
  if (sections === undefined) return answer;
  const text = isShort ? announceSections(sections, language) : writeSections(sections, language);
  // Words that a tool has handled are not reported as skipped.
  const isAnswered = hasToolTasks(question);
  const parts = isAnswered ? [answer.text, text] : [text, describeLeftOut(sections.leftOut, language)];
  return { ...answer, text: parts.filter((part) => part !== "").join("\n\n") };
}

/** Whether the question has a task for a tool other than asking for approval. */
export function hasToolTasks(question: string): boolean {
  return findTasks(question).some(({ isConsent }) => isConsent !== true);
}

function announceSections({ tasks }: Sections, language: OfflineLanguage): string {
  return language === "zh"
    ? `提纲，共 ${tasks.length} 个部分：${tasks.join("；")}。`
    : `an outline with ${tasks.length} parts: ${tasks.join("; ")}.`;
}

function writeSections({ title, tasks }: Sections, language: OfflineLanguage): string {
  const known = tasks.map((task) => ({ id: "", task, text: writeOutline(task, language) }));
  return `${OUTLINE_NOTE[language]}\n\n${combineResults(title, known, language)}`;
}
