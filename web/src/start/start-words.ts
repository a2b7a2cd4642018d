/** The words of a session in which nothing was said yet, and what could be said. */
import { defineWords, type Language } from "loom-agent/react";

export const START_WORDS = defineWords({
  en: {
    title: "Watch an agent think",
    text: "Ask something. Every thought, tool and result appears as it happens, is kept, and can be inspected frame by frame.",
    prompts: "Things to try",
    nothing: "Nothing was said here yet",
    readOnly: "Choose a session from the list to read it.",
  },
  zh: {
    title: "看智能体如何思考",
    text: "问点什么吧。每个想法、工具和结果都会即时呈现并保留下来，还可以逐帧检查。",
    prompts: "试试这些",
    nothing: "这里还没有内容",
    readOnly: "从列表中选择一个会话来阅读。",
  },
});

export interface SuggestedPrompt {
  readonly title: string;
  readonly text: string;
  /** The way of working that shows it best. */
  readonly agent: string;
}

/** Each shows what it is there for with the offline model too; `test/agents/suggested-prompts.test.ts` holds them to it. */
export const PROMPTS: { readonly [L in Language]: readonly SuggestedPrompt[] } = {
  en: [
    {
      title: "Plan a launch",
      text: "Make a to-do list for a product launch, draw a bar chart of the budget: design 8, build 20, marketing 12, and calculate 8 + 20 + 12",
      agent: "react",
    },
    { title: "Search, and turn back", text: "Game of 24: 1 5 5 5", agent: "tot" },
    { title: "Divide and combine", text: "Compare cats and dogs as pets", agent: "got" },
    { title: "Go deeper", text: "Write a report on electric cars", agent: "agot" },
    { title: "Ask before acting", text: "Ask me for approval, then calculate 1234 * 5678", agent: "react" },
  ],
  zh: [
    {
      title: "策划一次发布",
      text: "帮我列一个产品发布的待办清单，画一张柱状图显示预算：设计 8，开发 20，推广 12，并计算 8 + 20 + 12",
      agent: "react",
    },
    { title: "搜索与回溯", text: "24 点：1 5 5 5", agent: "tot" },
    { title: "拆分与汇总", text: "比较猫和狗作为宠物", agent: "got" },
    { title: "逐层深入", text: "写一份关于电动汽车的报告", agent: "agot" },
    { title: "先问再做", text: "先征求我的同意，再计算 1234 * 5678", agent: "react" },
  ],
};
