/**
 * Decides what the offline model says: calls for what is still to be done, or an answer from what was done. A pure
 * function of the prompt and the tools.
 */
import type { JsonObject } from "../../protocol/index.ts";
import type { ModelMessage, ModelTool } from "../model.ts";
import type { Errand, Language } from "./errand.ts";
import { findAskedError } from "./asked-error.ts";
import { findErrands, listAbilities, READ_CHARACTERS } from "./find-errands.ts";
import { isForbidden, listReady, listResults, matchSteps, type Step } from "./plan.ts";
import { LABEL, type Reading, readPrompt } from "./read-prompt.ts";
import { talk } from "./talk.ts";
import { readPuzzle } from "./thoughts/read-puzzle.ts";
import { solveAtOnce } from "./thoughts/solve-at-once.ts";

export interface OfflineAnswer {
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly input: JsonObject }[];
  /** It fails with this message, after what it has said: somebody asked for it. */
  readonly error?: string;
}

export function answerPrompt(prompt: readonly ModelMessage[], tools: readonly ModelTool[]): OfflineAnswer {
  const reading = readPrompt(prompt);
  const offered = new Map(tools.map((tool) => [tool.name, tool]));
  const message = reading.message.slice(0, READ_CHARACTERS);
  const errands = findErrands(message, reading.lists);
  const { language, isIntroduced } = reading;
  const error = findAskedError(message, language);
  const failing = error === undefined ? {} : { error };
  if (errands.length === 0) {
    const said = error === undefined ? reply(message, language, offered) : FAILS[language];
    return { reasoning: NOTHING[language], text: introduce(said, language, isIntroduced), calls: [], ...failing };
  }
  const steps = matchSteps(errands, reading.done);
  const calls = listCalls(steps, offered);
  if (calls.length > 0) return { reasoning: sayPlan(calls, language), text: "", calls: calls.map(({ call }) => call) };
  const text = sayOutcome(steps, reading, offered);
  return { reasoning: sayDone(steps, language), text, calls: [], ...failing };
}

/** What needs no tool. */
function reply(message: string, language: Language, offered: ReadonlyMap<string, ModelTool>): string {
  const puzzle = readPuzzle(message);
  if (puzzle !== undefined) return solveAtOnce(puzzle, language);
  return talk(message, language, listAbilities(new Set(offered.keys())));
}

const FAILS = { en: "Here is the error you asked for.", zh: "这就是你要的错误。" };
const NOTHING = { en: "There is nothing here for a tool.", zh: "没有工具能做的事。" };

interface Call {
  readonly errand: Errand;
  readonly call: { readonly name: string; readonly input: JsonObject };
}

function listCalls(steps: readonly Step[], offered: ReadonlyMap<string, ModelTool>): readonly Call[] {
  return listReady(steps, offered).flatMap((errand) => {
    const tool = offered.get(errand.tool);
    if (tool === undefined) return [];
    return [{ errand, call: { name: tool.name, input: errand.createInput(tool, listResults(steps, errand)) } }];
  });
}

function sayPlan(calls: readonly Call[], language: Language): string {
  const parts = calls.map(({ errand, call }) => `${errand.about[language]} (${call.name})`);
  return language === "zh" ? `要做的：${parts.join("，")}。` : `To do: ${parts.join(", ")}.`;
}

function sayDone(steps: readonly Step[], language: Language): string {
  const done = steps.filter((step) => step.done !== undefined).map(({ errand }) => errand.about[language]);
  if (done.length === 0) return NOTHING[language];
  return language === "zh" ? `已有结果：${done.join("，")}。` : `There are results for: ${done.join(", ")}.`;
}

function sayOutcome(
  steps: readonly Step[],
  { language, isIntroduced }: Reading,
  offered: ReadonlyMap<string, ModelTool>,
): string {
  const sentences = steps.map((step) =>
    step.done === undefined && isForbidden(steps, step.errand)
      ? sayForbidden(step, language)
      : sayStep(step, language, offered),
  );
  return introduce(sentences.join(language === "zh" ? "" : " "), language, isIntroduced);
}

function sayStep({ errand, done }: Step, language: Language, offered: ReadonlyMap<string, ModelTool>): string {
  const about = errand.about[language];
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

function sayForbidden({ errand }: Step, language: Language): string {
  const about = errand.about[language];
  return language === "zh"
    ? `没有去做（${about}），因为没有得到同意。`
    : `I left that out (${about}), as nobody agreed.`;
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

/** Says once in a conversation who speaks. */
function introduce(text: string, language: Language, isIntroduced: boolean): string {
  if (isIntroduced) return text;
  return language === "zh" ? `${LABEL.zh}：${text}` : `${LABEL.en}: ${text}`;
}
