/** The words of trees and graphs of thoughts, and of the box they are drawn in. */
import { defineWords } from "../ui/words.ts";

const many = (count: number, one: string, more: string): string => (count === 1 ? `1 ${one}` : `${count} ${more}`);

export const DRAWING_WORDS = defineWords({
  en: {
    zoomIn: "Zoom in",
    zoomOut: "Zoom out",
    fit: "Show the whole",
    follow: "Follow the newest",
    close: "Close the details",
    inspect: "Show its frames",
    cut: (count: number) => `The first ${count} characters are shown`,
  },
  zh: {
    zoomIn: "放大",
    zoomOut: "缩小",
    fit: "显示全貌",
    follow: "跟随最新",
    close: "关闭详情",
    inspect: "查看对应的帧",
    cut: (count: number) => `仅显示前 ${count} 个字符`,
  },
});

export const TREE_WORDS = defineWords({
  en: {
    tree: "Tree of thoughts",
    thoughts: (count: number) => many(count, "thought", "thoughts"),
    depth: (depth: number) => `depth ${depth}`,
    best: (score: string) => `best ${score}`,
    backtracks: (count: number) => many(count, "backtrack", "backtracks"),
    detail: "The thought",
    open: "Not judged yet",
    kept: "Kept",
    pruned: "Pruned",
    abandoned: "Abandoned",
    chosen: "Chosen",
    onPath: "On the chosen path",
    score: "Score",
    atDepth: "Depth",
    way: "The way to it",
    below: "Thoughts below it",
    whyPruned: "It was judged and left.",
    whyPrunedScore: (score: string) => `It was judged ${score}, and left.`,
    whyPrunedBest: (score: string, best: string) =>
      `It was judged and left: ${score}, where the best beside it has ${best}.`,
    whyAbandoned: (reason: string) => `The search came back from it: ${reason}`,
    whyAbandonedUnsaid: "The search came back from it; the reason was not told.",
    folded: (count: number) => `${count} more`,
    foldedBelow: (count: number) => `${count} folded below it`,
    unnamed: "Empty thought",
    pause: ", ",
  },
  zh: {
    tree: "思维树",
    thoughts: (count: number) => `${count} 个想法`,
    depth: (depth: number) => `深度 ${depth}`,
    best: (score: string) => `最高 ${score} 分`,
    backtracks: (count: number) => `回溯 ${count} 次`,
    detail: "想法详情",
    open: "尚未评估",
    kept: "保留",
    pruned: "已剪枝",
    abandoned: "已放弃",
    chosen: "已选中",
    onPath: "在选中的路径上",
    score: "得分",
    atDepth: "深度",
    way: "到达它的路径",
    below: "其下的想法",
    whyPruned: "评估后未被保留。",
    whyPrunedScore: (score: string) => `评估得分 ${score}，未被保留。`,
    whyPrunedBest: (score: string, best: string) => `评估后未被保留：得分 ${score}，同级最高 ${best}。`,
    whyAbandoned: (reason: string) => `搜索从这里退回：${reason}`,
    whyAbandonedUnsaid: "搜索从这里退回，未说明原因。",
    folded: (count: number) => `另有 ${count} 个`,
    foldedBelow: (count: number) => `其下折叠了 ${count} 个`,
    unnamed: "空想法",
    pause: "，",
  },
});

export const GRAPH_WORDS = defineWords({
  en: {
    graph: "Graph of thoughts",
    nodes: (count: number) => many(count, "step", "steps"),
    done: (done: number, all: number) => `${done} of ${all} done`,
    runningNow: (count: number) => `${count} running`,
    failedCount: (count: number) => `${count} failed`,
    skippedCount: (count: number) => `${count} skipped`,
    expansions: (count: number) => many(count, "expansion", "expansions"),
    detail: "The step",
    planned: "Planned",
    running: "Running",
    complete: "Done",
    failed: "Failed",
    skipped: "Skipped",
    interrupted: "Interrupted",
    operation: "Operation",
    duration: "Duration",
    needs: "Needs",
    neededBy: "Needed by",
    needsSaid: (names: string) => `needs ${names}`,
    expandedFrom: "Added by",
    addedBy: (name: string) => `added by ${name}`,
    expandedInto: "Expanded into",
    expandedSaid: (count: number) => `expanded into ${count}`,
    result: "Result",
    error: "Error",
    scores: "Scores",
    noResult: "There is no result.",
    pause: ", ",
    more: (count: number) => `and ${count} more`,
    generate: "work out",
    aggregate: "combine",
    refine: "improve",
    score: "compare",
  },
  zh: {
    graph: "思维图",
    nodes: (count: number) => `${count} 个步骤`,
    done: (done: number, all: number) => `已完成 ${done}/${all}`,
    runningNow: (count: number) => `${count} 个进行中`,
    failedCount: (count: number) => `${count} 个失败`,
    skippedCount: (count: number) => `${count} 个跳过`,
    expansions: (count: number) => `扩展 ${count} 次`,
    detail: "步骤详情",
    planned: "待执行",
    running: "进行中",
    complete: "完成",
    failed: "失败",
    skipped: "已跳过",
    interrupted: "已中断",
    operation: "操作",
    duration: "用时",
    needs: "依赖",
    neededBy: "被依赖于",
    needsSaid: (names: string) => `依赖 ${names}`,
    expandedFrom: "来自扩展",
    addedBy: (name: string) => `由 ${name} 扩展而来`,
    expandedInto: "扩展为",
    expandedSaid: (count: number) => `扩展出 ${count} 个`,
    result: "结果",
    error: "错误",
    scores: "得分",
    noResult: "没有结果。",
    pause: "，",
    more: (count: number) => `另有 ${count} 个`,
    generate: "生成",
    aggregate: "汇总",
    refine: "改进",
    score: "比较",
  },
});

/** The operations of our own graphs have names in both languages; others are called as they call themselves. */
export function nameOperation(operation: string, words: (typeof GRAPH_WORDS)["en"]): string {
  switch (operation) {
    case "generate":
    case "aggregate":
    case "refine":
    case "score":
      return words[operation];
    default:
      return operation.slice(0, 40);
  }
}
