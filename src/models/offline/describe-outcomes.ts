/** Describes the outcome of each task: what was done, what was not, and why. */
import type { OfflineLanguage, BilingualText } from "./offline-task.ts";
import { isBlockedByConsent, hasUnusableSources, type TaskStep } from "./plan.ts";

export function describeOutcomes(
  steps: readonly TaskStep[],
  language: OfflineLanguage,
  offered: { has(tool: string): boolean },
): readonly string[] {
  // Sources come after the results made from them.
  const inOrder = [true, false].flatMap((isFirst) => steps.filter(({ task }) => (task.isSource !== true) === isFirst));
  return inOrder.map((step) => {
    const { task, done } = step;
    if (done === undefined && isBlockedByConsent(steps, task))
      return describeNotApproved(task.about[language], language);
    if (done === undefined && hasUnusableSources(steps, task)) return describeUnusable(task.about)[language];
    return describeStep(step, language, offered);
  });
}

/** Describes a task for which no suitable result was found. */
export function describeUnusable({ en, zh }: BilingualText): BilingualText {
  return {
    en: `Not done (${en}): no suitable content was found.`,
    zh: `未完成（${zh}）：没有找到合适的内容。`,
  };
}

/** Describes a task the user did not approve. */
export function describeNotApproved(about: string, language: OfflineLanguage): string {
  return language === "zh" ? `未执行（${about}）：未获同意。` : `Not done (${about}): not approved.`;
}

function describeStep(
  { task, done }: TaskStep,
  language: OfflineLanguage,
  offered: { has(tool: string): boolean },
): string {
  const about = task.about[language];
  if (task.refusal !== undefined) return task.refusal[language];
  if (done !== undefined && !done.isError) {
    if (!done.isEdited) return task.describeResult(done.result)[language];
    return language === "zh"
      ? `请求已被修改（${about}）。结果：${done.result.trim()}`
      : `The request was changed (${about}). Result: ${done.result.trim()}`;
  }
  if (done !== undefined) {
    const why = done.result.trim();
    if (language === "zh") return describeRefusal(about, why) ?? `未完成（${about}）${why === "" ? "。" : `：${why}`}`;
    return `Not done (${about})${why === "" ? "." : `: ${why}`}`;
  }
  if (!offered.has(task.tool)) {
    return language === "zh"
      ? `未完成（${about}）：工具 ${task.tool} 不可用。`
      : `Not done (${about}): the tool ${task.tool} is not available.`;
  }
  return language === "zh"
    ? `未完成（${about}）：缺少所需的结果。`
    : `Not done (${about}): a result it needs is missing.`;
}

/** The messages of the tool runner for calls that were not approved. */
const REFUSED =
  /^(?:(?<no>The user rejected this call)|Approval for this call expired); it was not run\.(?: Reason: (?<reason>.*))?$/s;

function describeRefusal(about: string, why: string): string | undefined {
  const refused = REFUSED.exec(why);
  if (refused === null) return undefined;
  const { no, reason } = refused.groups ?? {};
  const what = no === undefined ? `未及时获得同意（${about}），未执行。` : `用户已拒绝（${about}），未执行。`;
  return reason === undefined ? what : `${what}原因：${reason.replace(/[。.]?$/, "。")}`;
}
