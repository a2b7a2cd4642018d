/** UI strings of the tree, the graph and their drawing. */
import { defineWords } from "../ui/words.ts";

const many = (count: number, one: string, more: string): string => (count === 1 ? `1 ${one}` : `${count} ${more}`);

export const DRAWING_WORDS = defineWords({
  en: {
    zoomIn: "Zoom in",
    zoomOut: "Zoom out",
    fit: "Fit to view",
    follow: "Follow latest",
    close: "Close details",
    inspect: "Show frames",
    cut: (count: number) => `Showing the first ${count} characters`,
  },
  zh: {
    zoomIn: "放大",
    zoomOut: "缩小",
    fit: "适应视图",
    follow: "跟随最新",
    close: "关闭详情",
    inspect: "查看数据帧",
    cut: (count: number) => `仅显示前 ${count} 个字符`,
  },
});

export const TREE_WORDS = defineWords({
  en: {
    tree: "Tree of thoughts",
    thoughts: (count: number) => many(count, "thought", "thoughts"),
    depth: (depth: number) => `depth ${depth}`,
    explored: (count: number) => `Explored ${many(count, "thought", "thoughts")}`,
    backtracks: (count: number) => many(count, "backtrack", "backtracks"),
    detail: "Thought details",
    open: "Not evaluated",
    kept: "Kept",
    pruned: "Pruned",
    abandoned: "Abandoned",
    chosen: "Chosen",
    onPath: "On chosen path",
    score: "Score",
    atDepth: "Depth",
    way: "Path",
    below: "Descendants",
    whyPruned: "Pruned",
    whyPrunedScore: (score: string) => `Pruned (score ${score})`,
    whyPrunedBest: (score: string, best: string) => `Pruned (score ${score}, best sibling ${best})`,
    whyAbandoned: (reason: string) => `Abandoned: ${reason}`,
    whyAbandonedUnknown: "Abandoned (no reason given)",
    folded: (count: number) => `${count} more`,
    prunedCount: (count: number) => `${count} pruned`,
    foldedBelow: (count: number) => `${count} hidden below`,
    unnamed: "Empty thought",
    pause: ", ",
  },
  zh: {
    tree: "思维树",
    thoughts: (count: number) => `${count} 个想法`,
    depth: (depth: number) => `深度 ${depth}`,
    explored: (count: number) => `探索了 ${count} 个想法`,
    backtracks: (count: number) => `回溯 ${count} 次`,
    detail: "想法详情",
    open: "未评估",
    kept: "保留",
    pruned: "已剪枝",
    abandoned: "已放弃",
    chosen: "已选中",
    onPath: "在选中路径上",
    score: "得分",
    atDepth: "深度",
    way: "路径",
    below: "下级想法",
    whyPruned: "已剪枝",
    whyPrunedScore: (score: string) => `已剪枝（得分 ${score}）`,
    whyPrunedBest: (score: string, best: string) => `已剪枝（得分 ${score}，同级最高 ${best}）`,
    whyAbandoned: (reason: string) => `已放弃：${reason}`,
    whyAbandonedUnknown: "已放弃（未说明原因）",
    folded: (count: number) => `另有 ${count} 个`,
    prunedCount: (count: number) => `剪枝 ${count} 个`,
    foldedBelow: (count: number) => `已隐藏 ${count} 个下级`,
    unnamed: "空想法",
    pause: "，",
  },
});

export const GRAPH_WORDS = defineWords({
  en: {
    graph: "Graph of thoughts",
    ran: (count: number) => `Ran ${many(count, "step", "steps")}`,
    ranSome: (done: number, all: number) => `Ran ${done} of ${many(all, "step", "steps")}`,
    done: (done: number, all: number) => `${done} of ${all} done`,
    runningNow: (count: number) => `${count} running`,
    failedCount: (count: number) => `${count} failed`,
    skippedCount: (count: number) => `${count} skipped`,
    expansions: (count: number) => many(count, "expansion", "expansions"),
    detail: "Step details",
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
    needsText: (names: string) => `needs ${names}`,
    expandedFrom: "Added by",
    addedBy: (name: string) => `added by ${name}`,
    expandedInto: "Expanded into",
    expandedText: (count: number) => `expanded into ${count}`,
    result: "Result",
    error: "Error",
    scores: "Scores",
    noResult: "No result.",
    pause: ", ",
    more: (count: number) => `and ${count} more`,
    generate: "Generate",
    aggregate: "Combine",
    refine: "Refine",
    score: "Score",
  },
  zh: {
    graph: "思维图",
    ran: (count: number) => `执行了 ${count} 个步骤`,
    ranSome: (done: number, all: number) => `执行了 ${done}/${all} 个步骤`,
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
    neededBy: "被依赖",
    needsText: (names: string) => `依赖 ${names}`,
    expandedFrom: "来自扩展",
    addedBy: (name: string) => `由 ${name} 扩展而来`,
    expandedInto: "扩展为",
    expandedText: (count: number) => `扩展出 ${count} 个`,
    result: "结果",
    error: "错误",
    scores: "得分",
    noResult: "无结果。",
    pause: "，",
    more: (count: number) => `另有 ${count} 个`,
    generate: "生成",
    aggregate: "汇总",
    refine: "改进",
    score: "评分",
  },
});

/** Translates the operations of Loom's own graphs; other names are shown unchanged. */
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

/** Why a search abandoned a branch, by the code of its `tot_backtrack`. */
export const BACKTRACK_WORDS = defineWords({
  en: {
    no_next_step: "no next step was found",
    dead_end: "every next step is a dead end",
    max_depth: "the maximum depth is reached without an answer",
  },
  zh: {
    no_next_step: "没有找到下一步",
    dead_end: "所有后续步骤都行不通",
    max_depth: "已达到最大深度，仍未得到答案",
  },
});
