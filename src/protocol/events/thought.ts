/** Trees of thoughts (ToT) and graphs of thoughts (GoT, AGoT). With the additional fields a receiver rebuilds either from events alone. */
import { additional, boolean, count, listOf, number, openSet, required, string } from "../schema.ts";
import { defineEvent } from "./define.ts";

const SECTION = "001 §4.2";
const ids = additional(listOf(string), "Ids of the thoughts, in the same order", "各思路的 ID，次序一致");
const depth = additional(count, "Depth of these thoughts; the root is 0", "思路所在深度，根为 0");
const edges = additional(listOf(listOf(string)), "Pairs of ids, from → to", "边：[起点, 终点] 列表");
const operation = openSet("generate", "aggregate", "refine", "score");

export const tot_expand = defineEvent({
  section: SECTION,
  exportKey: "TotExpand",
  about: { en: "Candidate thoughts were generated", zh: "ToT 扩展" },
  fields: {
    candidates: required(listOf(string), "The thoughts", "候选思路"),
    ids,
    parent: additional(string, "Id of the thought they continue", "父思路 ID"),
    depth,
  },
});

export const tot_evaluate = defineEvent({
  section: SECTION,
  exportKey: "TotEvaluate",
  about: { en: "Candidate thoughts were scored", zh: "ToT 评估" },
  fields: {
    chosen: required(count, "0-based index of the best", "最佳候选的下标（从 0 起）"),
    scores: required(listOf(number), "One score per candidate", "每个候选的得分"),
    ids,
    kept: additional(listOf(string), "Ids that stay in the search", "保留的思路 ID"),
    depth,
  },
});

export const tot_backtrack = defineEvent({
  section: SECTION,
  exportKey: "TotBacktrack",
  about: { en: "The search gave up a branch", zh: "ToT 回溯" },
  fields: {
    reason: required(string, "Why", "原因"),
    to_depth: required(count, "Depth it returned to", "回到的深度"),
    from: additional(string, "Id of the thought given up", "放弃的思路 ID"),
    to: additional(string, "Id of the thought returned to", "回到的思路 ID"),
  },
});

export const got_plan = defineEvent({
  section: SECTION,
  exportKey: "GotPlan",
  about: { en: "The graph of thoughts was planned", zh: "GoT 计划" },
  fields: {
    node_count: required(count, "How many nodes", "节点数"),
    edge_count: required(count, "How many edges", "边数"),
    node_ids: required(listOf(string), "Ids of the nodes", "节点 ID 列表"),
    edges,
    labels: additional(
      listOf(string),
      "What each node is about, in the order of node_ids",
      "各节点的主题，次序同 node_ids",
    ),
    operations: additional(
      listOf(operation),
      "What each node does with the results it needs, in the order of node_ids",
      "各节点对所需结果的操作，次序同 node_ids",
    ),
  },
});

export const got_node_start = defineEvent({
  section: SECTION,
  exportKey: "GotNodeStart",
  about: { en: "A node of the graph began", zh: "GoT 节点开始" },
  fields: { id: required(string, "Id of the graph's node", "图节点 ID") },
});

export const got_node_complete = defineEvent({
  section: SECTION,
  exportKey: "GotNodeComplete",
  about: { en: "A node of the graph is done", zh: "GoT 节点完成" },
  fields: {
    id: required(string, "Id of the graph's node", "图节点 ID"),
    result_summary: required(string, "Its result in short", "结果摘要"),
    scored: additional(listOf(string), "Ids of the nodes whose results it has compared", "被评分的节点 ID"),
    scores: additional(listOf(number), "One score per node, in the order of scored", "各节点的得分，次序同 scored"),
  },
});

export const got_node_failed = defineEvent({
  section: SECTION,
  exportKey: "GotNodeFailed",
  about: { en: "A node of the graph failed", zh: "GoT 节点失败" },
  fields: {
    id: required(string, "Id of the graph's node", "图节点 ID"),
    error: required(string, "Why", "错误信息"),
    skipped: additional(
      boolean,
      "True: it was not begun, because one it needs has no result",
      "为 true 时因所依赖的节点没有结果而未执行",
    ),
  },
});

export const got_expand = defineEvent({
  section: SECTION,
  exportKey: "GotExpand",
  about: { en: "A node was expanded into a subgraph (AGoT)", zh: "AGoT 扩展" },
  fields: {
    node_id: required(string, "Id of the graph's node that grew", "被扩展的图节点 ID"),
    nodes_added: required(count, "How many nodes were added", "新增节点数"),
    edges_added: required(count, "How many edges were added", "新增边数"),
    nodes: additional(listOf(string), "Ids of the nodes added", "新增节点 ID"),
    edges,
    labels: additional(listOf(string), "What each node is about, in the order of nodes", "各节点的主题，次序同 nodes"),
    operations: additional(
      listOf(operation),
      "What each node does with the results it needs, in the order of nodes",
      "各节点对所需结果的操作，次序同 nodes",
    ),
  },
});
