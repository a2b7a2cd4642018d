/** UI strings of the menus below the message box, and the names and icons of agents. */
import { defineWords, type IconName } from "../../../src/react/page-parts.ts";

export const AGENT_WORDS = defineWords({
  en: {
    agent: (name: string) => `Agent: ${name}`,
    model: (name: string) => `Model: ${name}`,
    reasoning: (level: string) => `Reasoning: ${level}`,
    strategy: (count: number) => (count === 0 ? "Search settings" : `Search settings: ${count} changed`),
    auto: "Auto",
    off: "Off",
    low: "Low",
    medium: "Medium",
    high: "High",
    offline: "Offline model",
    offlineText: "Rule-based demo model. To use a language model, set one of these variables and restart the server:",
    chooseModel: "Rule-based demo model. Choose a language model above.",
    noKeys: "Rule-based demo model. Restart the server with a language model for real answers.",
    react: "ReAct",
    reactText: "Thinks, calls tools and answers",
    tot: "Tree of thoughts",
    totText: "Explores several paths with backtracking",
    got: "Graph of thoughts",
    gotText: "Splits the task, works in parallel, combines results",
    agot: "Adaptive graph",
    agotText: "Graph of thoughts that splits hard steps further",
  },
  zh: {
    agent: (name: string) => `智能体：${name}`,
    model: (name: string) => `模型：${name}`,
    reasoning: (level: string) => `推理：${level}`,
    strategy: (count: number) => (count === 0 ? "搜索设置" : `搜索设置：已修改 ${count} 项`),
    auto: "自动",
    off: "关闭",
    low: "低",
    medium: "中",
    high: "高",
    offline: "离线模型",
    offlineText: "基于规则的演示模型。要使用语言模型，请设置以下任一环境变量并重启服务器：",
    chooseModel: "基于规则的演示模型。可在上方选择语言模型。",
    noKeys: "基于规则的演示模型。要获得真实回答，请为服务器配置语言模型并重启。",
    react: "ReAct",
    reactText: "思考、调用工具并回答",
    tot: "思维树",
    totText: "探索多条路径，支持回溯",
    got: "思维图",
    gotText: "拆分任务，并行处理，汇总结果",
    agot: "自适应思维图",
    agotText: "可进一步拆分困难步骤的思维图",
  },
});

const KINDS = ["react", "tot", "got", "agot"] as const;

type KindWords = { readonly [K in (typeof KINDS)[number] | `${(typeof KINDS)[number]}Text`]: string };

/** Returns the localized name and description of a built-in agent; other agents keep those of the server. */
export function describeKind(
  words: KindWords,
  option: { readonly name: string; readonly kind: string; readonly description: string | undefined },
): { readonly label: string; readonly description: string | undefined } {
  const kind = KINDS.find((one) => one === option.kind);
  if (kind === undefined || option.name !== kind) return { label: option.name, description: option.description };
  return { label: words[kind], description: words[`${kind}Text`] };
}

const KIND_ICONS: { readonly [K in (typeof KINDS)[number]]: IconName } = {
  react: "bolt",
  tot: "tree",
  got: "graph",
  agot: "expand",
};

/** Returns the icon of a kind of agent; custom kinds share one. */
export function chooseAgentIcon(kind: string): IconName {
  const known = KINDS.find((one) => one === kind);
  return known === undefined ? "agent" : KIND_ICONS[known];
}
