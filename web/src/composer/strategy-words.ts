/** UI strings of the strategy settings, and the names of their words. */
import { defineWords } from "../../../src/react/page-parts.ts";

export const STRATEGY_WORDS = defineWords({
  en: {
    strategyOf: (agent: string) => `${agent}: search settings`,
    resetStrategy: "Reset",
    byDefault: (value: string) => `Default (${value})`,
    range: (least: number, most: number) => `${least} to ${most}`,
    breadth: "Breadth",
    depth: "Depth",
    propose: "Propose",
    sample: "Sample",
    value: "Rate",
    vote: "Vote",
    auto: "Auto",
  },
  zh: {
    strategyOf: (agent: string) => `${agent}：搜索设置`,
    resetStrategy: "恢复默认",
    byDefault: (value: string) => `默认（${value}）`,
    range: (least: number, most: number) => `${least} 到 ${most}`,
    breadth: "广度优先",
    depth: "深度优先",
    propose: "一次列出",
    sample: "逐个采样",
    value: "评分",
    vote: "投票",
    auto: "自动",
  },
});

const VALUES = ["breadth", "depth", "propose", "sample", "value", "vote"] as const;

/** Returns the localized name of a word of a strategy setting; other words stay as they are. */
export function describeValue(words: { readonly [K in (typeof VALUES)[number]]: string }, word: string): string {
  const known = VALUES.find((one) => one === word);
  return known === undefined ? word : words[known];
}
