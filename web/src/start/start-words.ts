/** UI strings of an empty session, and the prompts it suggests. */
import { defineWords, type UiLanguage } from "../../../src/react/page-parts.ts";

export const START_WORDS = defineWords({
  en: {
    title: "Watch an agent think",
    text: "Ask a question, plan a project, solve a puzzle or write a report. Every step is shown live.",
    prompts: "Suggestions",
    nothing: "Nothing here yet",
    readOnly: "Select a session to read.",
  },
  zh: {
    title: "看智能体如何思考",
    text: "提问、做计划、解谜题、写报告，每一步都实时可见。",
    prompts: "试试这些",
    nothing: "暂无内容",
    readOnly: "请选择要查看的会话。",
  },
});

export interface SuggestedPrompt {
  readonly title: string;
  /** Sent to the model. */
  readonly text: string;
  /** Name of the agent that shows the prompt best. */
  readonly agent: string;
}

/** Prompts that also work with the offline model. `test/agents/suggested-prompts.test.ts` checks each of them. */
export const PROMPTS: { readonly [L in UiLanguage]: readonly SuggestedPrompt[] } = {
  en: [
    {
      title: "Plan a launch",
      text: "Make a to-do list for a product launch, draw a bar chart of the budget: design 8, build 20, marketing 12, and calculate 8 + 20 + 12",
      agent: "react",
    },
    { title: "Search with backtracking", text: "Game of 24: 1 5 5 5", agent: "tot" },
    { title: "Divide and combine", text: "Compare cats and dogs as pets", agent: "got" },
    { title: "Go deeper", text: "Write a report on electric cars", agent: "agot" },
    { title: "Ask before acting", text: "Ask me for approval, then calculate 1234 * 5678", agent: "react" },
  ],
  zh: [
    {
      title: "策划产品发布",
      text: "帮我列一个产品发布的待办清单，画一张柱状图显示预算：设计 8，开发 20，推广 12，并计算 8 + 20 + 12",
      agent: "react",
    },
    { title: "搜索与回溯", text: "24 点：1 5 5 5", agent: "tot" },
    { title: "拆分与汇总", text: "比较猫和狗作为宠物", agent: "got" },
    { title: "逐层深入", text: "写一份关于电动汽车的报告", agent: "agot" },
    { title: "先确认再执行", text: "先征求我的同意，再计算 1234 * 5678", agent: "react" },
  ],
};
