/**
 * Decides what the offline model says: calls for what is still to be done, or an answer from what was done. A pure
 * function of the prompt and the tools.
 */
import type { JsonObject } from "../../protocol/index.ts";
import type { ModelMessage, ModelTool } from "../model.ts";
import type { Errand, Language } from "./errand.ts";
import { findErrands, listAbilities } from "./find-errands.ts";
import { listReady, listResults, matchSteps, type Step } from "./plan.ts";
import { LABEL, type Reading, readPrompt } from "./read-prompt.ts";

export interface OfflineAnswer {
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly input: JsonObject }[];
}

export function answerPrompt(prompt: readonly ModelMessage[], tools: readonly ModelTool[]): OfflineAnswer {
  const reading = readPrompt(prompt);
  const offered = new Map(tools.map((tool) => [tool.name, tool]));
  const errands = findErrands(reading.message);
  const { language } = reading;
  if (errands.length === 0) return { reasoning: NOTHING[language], text: talk(reading, offered), calls: [] };
  const steps = matchSteps(errands, reading.done);
  const calls = listCalls(steps, offered);
  return calls.length > 0
    ? { reasoning: sayPlan(calls, language), text: "", calls: calls.map(({ call }) => call) }
    : { reasoning: sayDone(steps, language), text: sayOutcome(steps, reading, offered), calls: [] };
}

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
  const sentences = steps.map((step) => sayStep(step, language, offered));
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

/** Small talk, and what it has no rule for. */
function talk({ message, language, isIntroduced }: Reading, offered: ReadonlyMap<string, ModelTool>): string {
  const abilities = listAbilities(new Set(offered.keys()), language);
  const opening = OPENINGS.find(([words]) => words.test(message))?.[1][language] ?? UNKNOWN[language];
  const can =
    language === "zh"
      ? abilities.length === 0
        ? "这里没有我会用的工具。"
        : `不用密钥，我可以：${abilities.join("、")}。`
      : abilities.length === 0
        ? "I was given no tool that I can use."
        : `Without a key I can ${joinWords(abilities)}.`;
  const more =
    language === "zh"
      ? "要得到真正的回答，请设置 OPENAI_API_KEY 或 ANTHROPIC_API_KEY，并选择一个模型。"
      : "For real answers set OPENAI_API_KEY or ANTHROPIC_API_KEY and choose a model.";
  const gap = language === "zh" ? "" : " ";
  return introduce([opening, can, more].join(gap), language, isIntroduced);
}

const UNKNOWN = {
  en: "I follow fixed rules, and none of them fits this.",
  zh: "我只按固定的规则回答，没有一条适用于这个问题。",
};

const OPENINGS: readonly (readonly [RegExp, Readonly<Record<Language, string>>])[] = [
  [/^\s*(?:thanks|thank you)\b|谢谢|多谢/i, { en: "You are welcome.", zh: "不客气。" }],
  [
    /\b(?:who|what) are you\b|你是谁|你是什么/i,
    {
      en: "I am a small program with fixed rules, not a language model.",
      zh: "我是一个按固定规则工作的小程序，不是语言模型。",
    },
  ],
  [
    /^\s*(?:hi|hello|hey|good (?:morning|afternoon|evening))\b|你好|您好|早上好|晚上好/i,
    { en: "Hello.", zh: "你好。" },
  ],
  [/\bhelp\b|\bwhat can you do\b|帮助|你会什么|能做什么/i, { en: "Here is what I know.", zh: "我会的如下。" }],
];

/** Says once in a conversation who speaks. */
function introduce(text: string, language: Language, isIntroduced: boolean): string {
  if (isIntroduced) return text;
  return language === "zh" ? `${LABEL.zh}：${text}` : `${LABEL.en}: ${text}`;
}

function joinWords(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1) ?? ""}`;
}
