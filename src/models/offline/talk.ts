/** Small talk, and the answer if no rule matches: what the model can do, with examples. It calls no tool. */
import { hasContent } from "./content-words.ts";
import type { Ability, OfflineLanguage, BilingualText } from "./offline-task.ts";
import { mentionsFiles } from "./files.ts";
import { asksToDraw, DRAWABLE } from "./images.ts";
import { asksToTick } from "./todo-lists.ts";

interface TalkRule {
  readonly words: RegExp | ((text: string) => boolean);
  readonly says: BilingualText;
  /** A question that is also about something else is searched for. */
  readonly isVague?: boolean;
  /** What follows the text: everything the model can do (default), only the hint for better answers, or nothing. */
  readonly after?: "more" | "nothing";
}

/** Markdown, as in all answers: two spaces keep a line break. */
const RULES: readonly TalkRule[] = [
  {
    words:
      /^\s{0,9}(?:many )?(?:thanks|thank you|thx|cheers)\b|(?:谢谢|多谢|感谢)(?![^，。！]{0,20}(?:信|怎么|如何|什么|[吗？?]))/i,
    says: { en: "You're welcome.", zh: "不客气。" },
    after: "nothing",
  },
  {
    words: /^\s{0,9}(?:good ?bye|bye|see you|good night|farewell)\b|^(?:再见|拜拜|晚安|回头见)/i,
    says: {
      en: "Goodbye. You can continue this conversation at any time.",
      zh: "再见。对话会保留，随时可以继续。",
    },
    after: "nothing",
  },
  {
    words:
      /^\s{0,9}(?:ok(?:ay)?|great|nice|good|cool|perfect|well done|sure|yes|no|fine)(?: job| work)?\s{0,4}[.!]{0,3}\s{0,9}$|^(?:好的?|很好|不错|可以|行|嗯|是的?|不是?)[。！!吧]{0,2}$/i,
    says: { en: "OK. What should I do next?", zh: "好的。接下来做什么？" },
    after: "nothing",
  },
  {
    words:
      /\b(?:who|what|(?:what|which) (?:\w{1,12} )?(?:model|llm|ai|program)) are you\b|\byour name\b|\bhow old are you\b|\bare you (?:an? )?(?:ai|real|human|chatgpt|gpt|claude|bot)\b|你是谁|你是什么|你叫什么|你几岁|你多大|你是.{0,6}吗/i,
    says: {
      en: "I am a rule-based program, not a language model.",
      zh: "我是一个基于规则的程序，不是语言模型。",
    },
  },
  {
    words: /\bhow are you\b|\bhow(?:['’]s| is) it going\b|\bhow do you do\b|你好吗|最近怎么样|你怎么样/i,
    says: { en: "Running fine, thanks.", zh: "运行正常，谢谢。" },
  },
  {
    words: /\bjokes?\b|\bmake me laugh\b|\bsomething funny\b|笑话|逗我笑/i,
    says: {
      en: "Why do programmers mix up Halloween and Christmas? Because Oct 31 equals Dec 25. That is my only joke.",
      zh: "为什么程序员分不清万圣节和圣诞节？因为 Oct 31 等于 Dec 25。我只会这一个笑话。",
    },
    after: "more",
  },
  {
    words: /\b(?:poem|poetry|haiku|rhyme|verse)\b|写.{0,4}诗|一首诗|作诗/i,
    says: {
      en: "My only poem:\n\nA rule is short, a rule is plain,  \nit says the same time and again.  \nAsk something that it never knew,  \nit lists the things that it can do.\n\n",
      zh: "我只会这一首：\n\n规则短短几行字，  \n今天明天都一致；  \n问到规则之外事，  \n看看清单再来试。\n\n",
    },
    after: "more",
  },
  {
    words: /\b(?:story|essay|song|novel)\b|讲.{0,3}故事|故事|作文/i,
    says: { en: "I cannot write stories; that takes a language model.", zh: "我写不了故事，这需要真正的语言模型。" },
    after: "more",
  },
  {
    words: /\b(?:weather|forecast|rain(?:ing)? today)\b|天气/i,
    says: {
      en: "I have no weather data.",
      zh: "我没有天气数据。",
    },
  },
  {
    words:
      /^\s{0,9}(?:hi|hiya|hello|hey|howdy|good (?:morning|afternoon|evening|day))\b|^.{0,4}(?:你好|您好)|早上好|下午好|晚上好|^早|^嗨|^哈喽/i,
    says: { en: "Hello.", zh: "你好。" },
    isVague: true,
  },
  {
    words:
      /\bhelp\b|\bwhat (?:can|do|could) (?:you|i|we)\b|\bhow (?:do|can) i (?:use|start|begin)\b|\b(?:your )?(?:abilities|commands|features|capabilities)\b|\bexamples?\b|帮助|帮帮|你会(?:做)?(?:什么|啥)|(?:能|可以)(?:做|干|帮)(?:什么|啥|我)|怎么用|功能|使用说明|示例|例子/i,
    says: { en: "Sure.", zh: "好的。" },
    isVague: true,
  },
  {
    words: asksToTick,
    says: { en: "No to-do list here has this item.", zh: "没有待办清单包含这个条目。" },
  },
  {
    words: mentionsFiles,
    says: {
      en: "Please ask directly and name the file, for example “Delete notes.txt”.",
      zh: "请直接提出并写出文件名，例如“删除 notes.txt”。",
    },
  },
  {
    words: asksToDraw,
    says: {
      en: `I cannot draw that. I can draw: ${DRAWABLE.en}.`,
      zh: `我不会画这个。我会画：${DRAWABLE.zh}。`,
    },
  },
];

const UNKNOWN: BilingualText = {
  en: "I follow fixed rules, and none matches this.",
  zh: "我只按固定规则回答，没有匹配的规则。",
};

/** Whether the message has an answer that needs no document. */
export function isSmallTalk(message: string): boolean {
  const rule = findRule(message);
  if (rule?.isVague !== true || typeof rule.words === "function") return rule !== undefined;
  // "Hello, what is Loom?", "How do I use a local model?": the remaining words are the subject.
  return !hasContent(message.replace(rule.words, " "));
}

function findRule(message: string): TalkRule | undefined {
  return RULES.find(({ words }) => (typeof words === "function" ? words(message) : words.test(message)));
}

export function talk(message: string, language: OfflineLanguage, abilities: readonly Ability[]): string {
  const rule = findRule(message);
  const opening = (rule?.says ?? UNKNOWN)[language];
  if (rule?.after === "nothing") return opening;
  const gap = language === "zh" || opening.endsWith("\n") ? "" : " ";
  const can = rule?.after === "more" ? "" : describeAbilities(abilities, language);
  return `${opening}${gap}${can}${FOR_MORE[language]}`;
}

const FOR_MORE: BilingualText = {
  en: "For real answers, set OPENAI_API_KEY or ANTHROPIC_API_KEY and choose a model.",
  zh: "如需真正的回答，请设置 OPENAI_API_KEY 或 ANTHROPIC_API_KEY，并选择模型。",
};

/** Lists the abilities in a sentence, and examples to type. */
function describeAbilities(abilities: readonly Ability[], language: OfflineLanguage): string {
  const all = [...abilities, ...WITHOUT_TOOLS];
  const names = all.map(({ can }) => can[language]);
  const examples = all.flatMap(({ example }) => (example === undefined ? [] : [`- ${example[language]}`])).join("\n");
  if (language === "zh") {
    const opening = abilities.length === 0 ? "没有可用的工具。" : "";
    return `${opening}我可以：${names.join("、")}。试试：\n${examples}\n\n`;
  }
  const opening = abilities.length === 0 ? "No tools are available. " : "";
  return `${opening}I can ${joinWords(names)}. Try:\n${examples}\n\n`;
}

const WITHOUT_TOOLS: readonly Omit<Ability, "tool">[] = [
  {
    can: { en: "play the Game of 24", zh: "算 24 点" },
    example: { en: "Game of 24: 4 9 10 13", zh: "24 点：4 9 10 13" },
  },
  { can: { en: "fail on request", zh: "按要求出错" }, example: { en: "Cause an error", zh: "出个错" } },
];

/** Joins words as an English list: "a, b and c". */
function joinWords(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1) ?? ""}`;
}
