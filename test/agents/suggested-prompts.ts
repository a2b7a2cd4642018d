/** The prompts that the page suggests. Tests check both the page and the agents against them. */
export const SUGGESTED_PROMPTS = {
  plan: {
    en: "Make a to-do list for a product launch, draw a bar chart of the budget: design 8, build 20, marketing 12, and calculate 8 + 20 + 12",
    zh: "帮我列一个产品发布的待办清单，画一张柱状图显示预算：设计 8，开发 20，推广 12，并计算 8 + 20 + 12",
  },
  tree: { en: "Game of 24: 1 5 5 5", zh: "24 点：1 5 5 5" },
  graph: { en: "Compare cats and dogs as pets", zh: "比较猫和狗作为宠物" },
  expansion: { en: "Write a report on electric cars", zh: "写一份关于电动汽车的报告" },
  approval: {
    en: "Ask me for approval, then calculate 1234 * 5678",
    zh: "先征求我的同意，再计算 1234 * 5678",
  },
} as const;
