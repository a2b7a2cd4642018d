/**
 * The languages of the demo model, and what it says where no rule calls a tool: the sentence about itself, a few
 * courtesies, and examples.
 */

export type DemoLanguage = "en" | "zh";

/** Chooses the text in the language of the user. */
export type Say = (en: string, zh: string) => string;

export function speak(language: DemoLanguage): Say {
  return (en, zh) => (language === "zh" ? zh : en);
}

/** Chinese if there is any, except in a sentence that begins in English: "What does 你好 mean?" */
export function readLanguage(text: string): DemoLanguage {
  return isChinese(text) && !/^\s*[a-z']+ [a-z]/i.test(text) ? "zh" : "en";
}

export function isChinese(text: string): boolean {
  return /\p{Script=Han}/u.test(text);
}

/** A text in both languages. */
type Bilingual = Readonly<Record<DemoLanguage, string>>;

/** Comes before the first answer of a conversation. */
export const LABEL: Bilingual = { en: "Offline model: ", zh: "离线模型：" };

const FOR_MORE: Bilingual = {
  en: "For real answers, set OPENAI_API_KEY or ANTHROPIC_API_KEY and choose a model.",
  zh: "如需真正的回答，请设置 OPENAI_API_KEY 或 ANTHROPIC_API_KEY，并选择模型。",
};

/** The answer to everything that no rule matches. */
export const DEMO: Bilingual = {
  en:
    "This is a demo without a language model: it follows a few fixed rules. It can calculate, tell the time, " +
    "make to-do lists, tables, charts and simple drawings, ask for your approval, search documents, read and write " +
    "files if it has the tools, and play the Game of 24. Try:\n- What is 17*23?\n- Make a to-do list: milk, bread\n" +
    `- Game of 24: 4 9 10 13\n\n${FOR_MORE.en}`,
  zh:
    "这是没有语言模型的演示，只按少量固定规则回答。它会计算、查看时间，列待办清单、表格、图表，画简单的图形，征求同意，" +
    "搜索文档，在有工具时读写文件，还会算 24 点。试试：\n- 17*23 等于多少？\n- 待办清单：牛奶、面包\n- 24 点：4 9 10 13\n\n" +
    FOR_MORE.zh,
};

/** The messages with a fixed answer. The first that matches counts. */
export const COURTESIES: readonly (readonly [words: RegExp, text: Bilingual])[] = [
  [/\b(?:who|what) are you\b|\bwhat (?:can|do) you do\b|^\s*help\b|你是谁|你(?:能|会)做?什么|帮助/i, DEMO],
  [
    /^\s*(?:hi|hello|hey|good (?:morning|evening))\b(?!.*\?)|^\s*(?:你好|您好)/i,
    { en: "Hello. This is a demo; ask “What can you do?”", zh: "你好。这是演示，可以问“你能做什么？”" },
  ],
  [
    /\bjokes?\b|笑话/i,
    {
      en: "Why do programmers mix up Halloween and Christmas? Because Oct 31 equals Dec 25. That is my only joke.",
      zh: "为什么程序员分不清万圣节和圣诞节？因为 Oct 31 等于 Dec 25。我只会这一个笑话。",
    },
  ],
  [/^\s*(?:thanks|thank you)\b|谢谢/i, { en: "You're welcome.", zh: "不客气。" }],
];

/** Comes before a tree or a graph of thoughts that does not answer the question. */
export const EXAMPLE_NOTE: Bilingual = {
  en: `This is a fixed example of a demo without a language model. ${FOR_MORE.en}`,
  zh: `这是演示用的固定示例，没有使用语言模型。${FOR_MORE.zh}`,
};

/** The steps that a tree search shows for any question but a puzzle, by their depth. */
export const EXAMPLE_STEPS: Readonly<Record<DemoLanguage, readonly (readonly string[])[]>> = {
  en: [
    ["Example: list what is known", "Example: begin at the goal", "Example: guess and check"],
    ["Example: sort it by importance", "Example: ask an expert"],
    ["Example: write the answer", "Example: check it first"],
  ],
  zh: [
    ["示例：列出已知条件", "示例：从目标倒推", "示例：先猜再验证"],
    ["示例：按重要性排序", "示例：请教专家"],
    ["示例：写出答案", "示例：先检查一遍"],
  ],
};

/** The items of a to-do list for which the message has none. */
export const GENERAL_ITEMS: Readonly<Record<DemoLanguage, readonly string[]>> = {
  en: ["Agree on the scope", "List what is missing", "Divide the work", "Set the dates", "Check the result", "Finish"],
  zh: ["确定范围", "列出缺少的东西", "分配工作", "安排时间", "检查结果", "完成"],
};

/** The summary of a long conversation. */
export const SUMMARY = "(Earlier messages were left out: the demo model cannot summarize.)";
