/**
 * Small talk, and what to say where no rule fits: what can be done here, with examples to type. It calls no tool, and
 * never pretends to know more than it does.
 */
import { joinWords } from "./join-words.ts";
import { hasContent } from "./content-words.ts";
import type { Ability, Language, Phrase } from "./errand.ts";
import { mentionsFiles } from "./files.ts";
import { asksToDraw, DRAWABLE } from "./images.ts";
import { asksToTick } from "./todo-lists.ts";

interface Rule {
  readonly words: RegExp | ((text: string) => boolean);
  readonly says: Phrase;
  /** A question that is about something else too is one to look up. */
  readonly isVague?: boolean;
  /** What comes after it: all it can do when absent, where to get more, or nothing. */
  readonly after?: "more" | "nothing";
}

/** Markdown, as all answers are: lines that should stay lines end with two spaces. */
const RULES: readonly Rule[] = [
  {
    words:
      /^\s{0,9}(?:many )?(?:thanks|thank you|thx|cheers)\b|(?:谢谢|多谢|感谢)(?![^，。！]{0,20}(?:信|怎么|如何|什么|[吗？?]))/i,
    says: { en: "You are welcome.", zh: "不客气。" },
    after: "nothing",
  },
  {
    words: /^\s{0,9}(?:good ?bye|bye|see you|good night|farewell)\b|^(?:再见|拜拜|晚安|回头见)/i,
    says: {
      en: "Goodbye. The conversation stays here, so you can go on with it.",
      zh: "再见。对话会保留，随时可以继续。",
    },
    after: "nothing",
  },
  {
    words:
      /^\s{0,9}(?:ok(?:ay)?|great|nice|good|cool|perfect|well done|sure|yes|no|fine)(?: job| work)?\s{0,4}[.!]{0,3}\s{0,9}$|^(?:好的?|很好|不错|可以|行|嗯|是的?|不是?)[。！!吧]{0,2}$/i,
    says: { en: "All right. What shall I do next?", zh: "好的。接下来做什么？" },
    after: "nothing",
  },
  {
    words:
      /\b(?:who|what|(?:what|which) (?:\w{1,12} )?(?:model|llm|ai|program)) are you\b|\byour name\b|\bhow old are you\b|\bare you (?:an? )?(?:ai|real|human|chatgpt|gpt|claude|bot)\b|你是谁|你是什么|你叫什么|你几岁|你多大|你是.{0,6}吗/i,
    says: {
      en: "I am a small program with fixed rules, not a language model.",
      zh: "我是一个按固定规则工作的小程序，不是语言模型。",
    },
  },
  {
    words: /\bhow are you\b|\bhow(?:['’]s| is) it going\b|\bhow do you do\b|你好吗|最近怎么样|你怎么样/i,
    says: { en: "A program has no good or bad days, but it runs.", zh: "程序没有好坏心情，不过运行正常。" },
  },
  {
    words: /\bjokes?\b|\bmake me laugh\b|\bsomething funny\b|笑话|逗我笑/i,
    says: {
      en: "Why did the rule cross the road? Because the condition was true. It is my only joke.",
      zh: "规则为什么过马路？因为条件成立。我只会这一个笑话。",
    },
    after: "more",
  },
  {
    words: /\b(?:poem|poetry|haiku|rhyme|verse)\b|写.{0,4}诗|一首诗|作诗/i,
    says: {
      en: "My only poem:\n\nA rule is short, a rule is plain,  \nit says the same and same again;  \nand where no rule has words for you,  \nit tells you what it still can do.\n\n",
      zh: "我只会这一首：\n\n规则不长句不深，  \n今日明日一样真；  \n若问规则不知处，  \n且看清单再问人。\n\n",
    },
    after: "more",
  },
  {
    words: /\b(?:story|essay|song|novel)\b|讲.{0,3}故事|故事|作文/i,
    says: { en: "Stories need a real model; I only follow rules.", zh: "故事要真正的模型来写，我只会按规则做事。" },
    after: "more",
  },
  {
    words: /\b(?:weather|forecast|rain(?:ing)? today)\b|天气/i,
    says: {
      en: "I cannot see the weather: nothing I have reaches outside.",
      zh: "我看不到天气：我没有连到外面的途径。",
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
    says: { en: "Here is what I know.", zh: "我会的如下。" },
    isVague: true,
  },
  {
    words: asksToTick,
    says: { en: "I see no to-do list here with such an item.", zh: "这里没有含有这个条目的待办清单。" },
  },
  {
    words: mentionsFiles,
    says: {
      en: "I touch a file only where I am plainly told to, by its name, as in “Delete notes.txt”.",
      zh: "只有明确要求并写出文件名时，我才会动文件，例如“删除 notes.txt”。",
    },
  },
  {
    words: asksToDraw,
    says: {
      en: `I cannot draw that; what I can draw is: ${DRAWABLE.en}.`,
      zh: `这个我不会画；我会画的有：${DRAWABLE.zh}。`,
    },
  },
];

const UNKNOWN: Phrase = {
  en: "I follow fixed rules, and none of them fits this.",
  zh: "我只按固定的规则回答，没有一条适用于这个问题。",
};

/** Whether there is something to say to it that needs no document. */
export function isSmallTalk(message: string): boolean {
  const rule = findRule(message);
  if (rule?.isVague !== true || typeof rule.words === "function") return rule !== undefined;
  // "Hello, what is Loom?", "How do I use a local model?": what is left says what it is about.
  return !hasContent(message.replace(rule.words, " "));
}

function findRule(message: string): Rule | undefined {
  return RULES.find(({ words }) => (typeof words === "function" ? words(message) : words.test(message)));
}

export function talk(message: string, language: Language, abilities: readonly Ability[]): string {
  const rule = findRule(message);
  const opening = (rule?.says ?? UNKNOWN)[language];
  if (rule?.after === "nothing") return opening;
  const gap = language === "zh" || opening.endsWith("\n") ? "" : " ";
  const can = rule?.after === "more" ? "" : sayAbilities(abilities, language);
  return `${opening}${gap}${can}${FOR_MORE[language]}`;
}

const FOR_MORE: Phrase = {
  en: "For real answers set OPENAI_API_KEY or ANTHROPIC_API_KEY and choose a model.",
  zh: "要得到真正的回答，请设置 OPENAI_API_KEY 或 ANTHROPIC_API_KEY，并选择一个模型。",
};

/** In one sentence, and as a list of things to type. */
function sayAbilities(abilities: readonly Ability[], language: Language): string {
  const all = [...abilities, ...WITHOUT_TOOLS];
  const names = all.map(({ can }) => can[language]);
  const examples = all.flatMap(({ example }) => (example === undefined ? [] : [`- ${example[language]}`])).join("\n");
  if (language === "zh") {
    const opening = abilities.length === 0 ? "这里没有我会用的工具。没有工具" : "不用密钥";
    return `${opening}，我可以：${names.join("、")}。可以试试：\n${examples}\n\n`;
  }
  const opening = abilities.length === 0 ? "I was given no tool that I can use. Without one" : "Without a key";
  return `${opening} I can ${joinWords(names)}. Try one of these:\n${examples}\n\n`;
}

const WITHOUT_TOOLS: readonly Omit<Ability, "tool">[] = [
  {
    can: { en: "play the Game of 24", zh: "算二十四点" },
    example: { en: "Game of 24: 4 9 10 13", zh: "24点：4 9 10 13" },
  },
  { can: { en: "fail on request", zh: "应要求出错" }, example: { en: "Cause an error", zh: "出个错" } },
];
