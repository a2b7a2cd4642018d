/**
 * Events of Tree of Thoughts (ToT) and Graph of Thoughts (GoT, AGoT). With the additional fields, a receiver can
 * rebuild the tree or graph from events alone.
 */
import { additional, boolean, count, listOf, number, openSet, required, string } from "../schema.ts";
import { defineEvent } from "./define.ts";

const ids = additional(
  listOf(string),
  "IDs of the thoughts, in the order of the candidates",
  "各想法的 ID，顺序与候选一致",
);
const depth = additional(count, "Depth of the thoughts; the root has depth 0", "想法所在的深度，根为 0");
const edges = additional(
  listOf(listOf(string)),
  "Edges as pairs of node IDs: [from, to]",
  "边的列表，每条边为 [起点 ID, 终点 ID]",
);
const operation = openSet("generate", "aggregate", "refine", "score");

export const tot_expand = defineEvent({
  exportKey: "TotExpand",
  about: "ToT: candidate thoughts were generated",
  zh: "ToT：已生成候选想法",
  fields: {
    candidates: required(listOf(string), "Text of each candidate", "各候选想法的文本"),
    ids,
    parent: additional(string, "ID of the parent thought", "父想法的 ID"),
    parents: additional(
      listOf(string),
      "ID of the parent of each candidate, if they have different parents",
      "候选的父想法不同时，各候选的父想法 ID",
    ),
    depth,
  },
});

export const tot_evaluate = defineEvent({
  exportKey: "TotEvaluate",
  about: "ToT: candidate thoughts were scored",
  zh: "ToT：已为候选想法评分",
  fields: {
    chosen: required(count, "Index of the best candidate, from 0", "最佳候选的下标，从 0 开始"),
    scores: required(listOf(number), "Score of each candidate", "各候选的得分"),
    ids,
    kept: additional(listOf(string), "IDs of the thoughts that the search keeps", "搜索保留的想法 ID"),
    unrated: additional(
      listOf(string),
      "IDs of the thoughts without a known rating; their score is neutral",
      "没有评分的想法 ID，其得分为中性值",
    ),
    depth,
  },
});

export const tot_backtrack = defineEvent({
  exportKey: "TotBacktrack",
  about: "ToT: the search abandoned a branch and backtracked",
  zh: "ToT：搜索放弃一个分支并回溯",
  fields: {
    reason: required(string, "Reason for backtracking", "回溯原因"),
    code: additional(
      string,
      "Reason as a code, for translation: `no_next_step`, `dead_end`, `max_depth` or `best_so_far`; other writers may use others",
      "回溯原因的代码，供翻译使用：`no_next_step`、`dead_end`、`max_depth` 或 `best_so_far`；其他来源可使用其他代码",
    ),
    to_depth: required(count, "Depth to which the search returned", "回溯到的深度"),
    from: additional(string, "ID of the abandoned thought", "被放弃的想法 ID"),
    to: additional(string, "ID of the thought to which the search returned", "回溯到的想法 ID"),
    kept: additional(
      listOf(string),
      "IDs of the thoughts with which the search goes on, or which the answer uses; their scores are not sent again",
      "搜索继续使用或用于回答的想法 ID，其得分不会重复发送",
    ),
  },
});

export const got_plan = defineEvent({
  exportKey: "GotPlan",
  about: "GoT: the graph was planned",
  zh: "GoT：已制定图计划",
  fields: {
    node_count: required(count, "Number of nodes", "节点数"),
    edge_count: required(count, "Number of edges", "边数"),
    node_ids: required(listOf(string), "IDs of the nodes", "各节点的 ID"),
    parent: additional(
      string,
      "ID of the node inside which these nodes are planned, such as drafts of its result",
      "这些节点所属的节点 ID，例如它们是该节点结果的草稿",
    ),
    edges,
    labels: additional(
      listOf(string),
      "Label of each node, in the order of `node_ids`",
      "各节点的标签，顺序同 `node_ids`",
    ),
    operations: additional(
      listOf(operation),
      "Operation of each node on its inputs, in the order of `node_ids`",
      "各节点对其输入执行的操作，顺序同 `node_ids`",
    ),
  },
});

export const got_node_start = defineEvent({
  exportKey: "GotNodeStart",
  about: "GoT: a node started",
  zh: "GoT：节点开始",
  fields: { id: required(string, "ID of the graph node", "图节点 ID") },
});

export const got_node_complete = defineEvent({
  exportKey: "GotNodeComplete",
  about: "GoT: a node completed",
  zh: "GoT：节点完成",
  fields: {
    id: required(string, "ID of the graph node", "图节点 ID"),
    result_summary: required(string, "Short summary of the result", "结果摘要"),
    scored: additional(listOf(string), "IDs of the nodes whose results were scored", "被评分的节点 ID"),
    scores: additional(listOf(number), "Score of each node, in the order of `scored`", "各节点的得分，顺序同 `scored`"),
  },
});

export const got_node_failed = defineEvent({
  exportKey: "GotNodeFailed",
  about: "GoT: a node failed",
  zh: "GoT：节点失败",
  fields: {
    id: required(string, "ID of the graph node", "图节点 ID"),
    error: required(string, "Error message", "错误信息"),
    skipped: additional(
      boolean,
      "If true, the node never started, because a node it depends on has no result",
      "为 true 时表示节点未执行，因为它依赖的节点没有结果",
    ),
  },
});

export const got_expand = defineEvent({
  exportKey: "GotExpand",
  about: "AGoT: a node was expanded into a subgraph",
  zh: "AGoT：节点已扩展为子图",
  fields: {
    node_id: required(string, "ID of the expanded graph node", "被扩展的图节点 ID"),
    nodes_added: required(count, "Number of nodes added", "新增节点数"),
    edges_added: required(count, "Number of edges added", "新增边数"),
    nodes: additional(listOf(string), "IDs of the added nodes", "新增节点的 ID"),
    edges,
    labels: additional(
      listOf(string),
      "Label of each added node, in the order of `nodes`",
      "各新增节点的标签，顺序同 `nodes`",
    ),
    operations: additional(
      listOf(operation),
      "Operation of each added node on its inputs, in the order of `nodes`",
      "各新增节点对其输入执行的操作，顺序同 `nodes`",
    ),
  },
});
