/** What became of the errands of a message, in sentences: what was done, what was not, and why. */
import type { Language, Phrase } from "./errand.ts";
import { isForbidden, isUnfit, type Step } from "./plan.ts";

export function sayOutcome(
  steps: readonly Step[],
  language: Language,
  offered: { has(tool: string): boolean },
): readonly string[] {
  // Where something is from is said after what it is.
  const inOrder = [true, false].flatMap((isFirst) =>
    steps.filter(({ errand }) => (errand.isMaterial !== true) === isFirst),
  );
  return inOrder.map((step) => {
    const { errand, done } = step;
    if (done === undefined && isForbidden(steps, errand)) return sayForbidden(errand.about[language], language);
    if (done === undefined && isUnfit(steps, errand)) return sayUnfit(errand.about)[language];
    return sayStep(step, language, offered);
  });
}

/** What could not be made of what was found. */
export function sayUnfit({ en, zh }: Phrase): Phrase {
  return {
    en: `I left that out (${en}), because nothing that was found fits it.`,
    zh: `没有去做（${zh}），因为没有找到合适的内容。`,
  };
}

/** What nobody agreed to. */
export function sayForbidden(about: string, language: Language): string {
  return language === "zh"
    ? `没有去做（${about}），因为没有得到同意。`
    : `I left that out (${about}), as nobody agreed.`;
}

function sayStep({ errand, done }: Step, language: Language, offered: { has(tool: string): boolean }): string {
  const about = errand.about[language];
  if (errand.cannot !== undefined) return errand.cannot[language];
  if (done !== undefined && !done.isError) {
    if (!done.isEdited) return errand.tell(done.result)[language];
    return language === "zh"
      ? `用户修改了参数（${about}），结果是：${done.result.trim()}`
      : `The user changed what was to be done (${about}); the result: ${done.result.trim()}`;
  }
  if (done !== undefined) {
    const why = done.result.trim();
    if (language === "zh") return sayRefusal(about, why) ?? `没有完成（${about}）${why === "" ? "。" : `：${why}`}`;
    return `That did not happen (${about})${why === "" ? "." : `: ${why}`}`;
  }
  if (!offered.has(errand.tool)) {
    return language === "zh"
      ? `做不到（${about}）：我没有工具 ${errand.tool}。`
      : `I cannot do that (${about}): I was not given the tool ${errand.tool}.`;
  }
  return language === "zh"
    ? `没有去做（${about}），因为前面没有结果。`
    : `I left that out (${about}), because there is no result to work with.`;
}

/** What the tools say, in English, of a call that nobody allowed. */
const REFUSED =
  /^(?:(?<no>The user refused this call)|Nobody agreed to this call in time); it was not run\.(?: The reason given: (?<reason>.*))?$/s;

function sayRefusal(about: string, why: string): string | undefined {
  const refused = REFUSED.exec(why);
  if (refused === null) return undefined;
  const { no, reason } = refused.groups ?? {};
  const what =
    no === undefined ? `没有人及时同意（${about}），所以没有执行。` : `用户拒绝了（${about}），所以没有执行。`;
  return reason === undefined ? what : `${what}理由：${reason.replace(/[。.]?$/, "。")}`;
}
