/** Node runs, the state they leave behind, and checkpoints. */
import {
  additional,
  boolean,
  count,
  either,
  json,
  listOf,
  objectOf,
  oneOf,
  optional,
  required,
  string,
} from "../schema.ts";
import { defineEvent } from "./define.ts";

const SECTION = "001 §4.2";

/** A long run would write its state over and over: a log holds what changed, and whoever asks is given the whole. */
const delta = additional(
  boolean,
  "True: `state` is what changed, by channel (`set`, `append` or `merge`), since the state before; false: it is whole, and those after it are changes",
  "为 true 时 state 仅为各通道自上一状态以来的变化（set、append 或 merge）；为 false 时 state 完整，其后者为变化",
);
const checkpoint_ns = additional(
  string,
  "Path of the subgraph whose state it is; absent at the root",
  "所属子图路径，根图缺省",
);

export const node_enter = defineEvent({
  section: SECTION,
  exportKey: "TaskStart",
  about: { en: "A node run started", zh: "节点运行开始" },
  fields: {
    id: required(string, "Name of the node, e.g. think", "节点名，如 think"),
    parent: additional(string, "node_id of the node run it is inside of", "所在节点运行的 node_id"),
  },
});

export const node_exit = defineEvent({
  section: SECTION,
  exportKey: "TaskEnd",
  about: { en: "A node run ended", zh: "节点运行结束" },
  fields: {
    id: required(string, "Name of the node", "节点名"),
    result: required(
      either(oneOf("Ok"), objectOf({ Err: required(string, "What went wrong", "错误信息") })),
      '"Ok", or {"Err": text}',
      '"Ok" 或 {"Err": 文本}',
    ),
  },
});

export const values = defineEvent({
  section: SECTION,
  exportKey: "Values",
  about: { en: "Snapshot of the whole graph state", zh: "完整状态快照" },
  fields: {
    state: required(json, "The state; its shape is the agent's", "状态，结构依 Agent 而定"),
    checkpoint_ns,
    delta,
  },
});

export const updates = defineEvent({
  section: SECTION,
  exportKey: "Updates",
  about: { en: "State after a node's result was merged", zh: "节点合并后的状态" },
  fields: {
    id: required(string, "Name of the node", "节点名"),
    state: required(json, "The channels it wrote, after the merge", "合并后所写通道的状态"),
    task: additional(
      count,
      "Its place among the node runs of its super-step, from 0: the order in which they are merged",
      "在本超步各节点运行中的序号（从 0 起），即合并次序",
    ),
    checkpoint_ns,
    delta,
  },
});

export const custom = defineEvent({
  section: SECTION,
  exportKey: "Custom",
  about: { en: "Any JSON of the application's own", zh: "应用自定义 JSON" },
  fields: { value: required(json, "The value", "任意 JSON") },
});

export const checkpoint = defineEvent({
  section: SECTION,
  exportKey: "Checkpoint",
  about: { en: "The run can be resumed or forked from here", zh: "可由此恢复或分叉的检查点" },
  fields: {
    checkpoint_id: required(string, "Id of the checkpoint", "检查点 ID"),
    timestamp: required(string, "ISO 8601 time", "ISO 8601 时间"),
    step: required(count, "Super-step: 0 for the input, then +1", "超步：输入为 0，其后逐一递增"),
    state: required(json, "The state held", "所存状态"),
    thread_id: optional(string, "The session", "所属会话"),
    checkpoint_ns: optional(string, "Path of the subgraph, empty at the root", "子图路径，根为空"),
    next: additional(
      listOf(
        objectOf({
          id: required(string, "Name of the node", "节点名"),
          input: optional(
            json,
            "What it is given beside the state, where a list was fanned out",
            "扇出时交给该节点的输入",
          ),
        }),
      ),
      "Node runs of the next super-step, in the order of their merge; empty when the graph is done",
      "下一超步的节点运行（按合并次序）；为空即图已完成",
    ),
    delta,
  },
});

export const usage = defineEvent({
  section: SECTION,
  exportKey: "Usage",
  about: { en: "Tokens used by one model call", zh: "一次模型调用的 token 用量" },
  fields: {
    prompt_tokens: required(count, "Tokens sent", "提示 token 数"),
    completion_tokens: required(count, "Tokens received", "生成 token 数"),
    total_tokens: required(count, "Both together", "合计"),
    llm_call_id: additional(string, "The model call", "模型调用 ID"),
  },
});
