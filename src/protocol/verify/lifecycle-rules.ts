/** The life-cycle rules of a run. MUST rules of the specification are errors, recommendations are warnings. */
import type { RuleTable } from "../rules.ts";

/** Life-cycle rules, by name. */
export const LIFECYCLE_RULES = {
  "run-start-late": {
    level: "error",
    section: "001 §4.2",
    about: { en: "`run_start` follows other frames of its run", zh: "`run_start` 出现在该运行的其他帧之后" },
  },
  "run-start-twice": {
    level: "error",
    section: "001 §4.2",
    about: { en: "A live run has a second `run_start`", zh: "运行尚未结束，却再次收到 `run_start`" },
  },
  "run-unended": {
    level: "warning",
    section: "001 §5",
    about: {
      en: "A run without a run ID has no reply when the next run starts",
      zh: "没有 `run_id` 的运行尚无回复，下一个运行就开始了",
    },
  },
  "run-start-missing": {
    level: "warning",
    section: "001 §4.2",
    about: { en: "A run has no `run_start`", zh: "运行没有 `run_start`" },
  },
  "session-unmatched": {
    level: "error",
    section: "001 §2",
    about: {
      en: "A frame without `session_id` may belong to several runs",
      zh: "没有 `session_id` 的帧可能属于多个运行",
    },
  },
  "run-start-node-id": {
    level: "warning",
    section: "001 §2",
    about: {
      en: "`run_start` has a `node_id`, but no node has started",
      zh: "`run_start` 带有 `node_id`，但还没有节点开始",
    },
  },
  "event-id-duplicate": {
    level: "error",
    section: "001 §2",
    about: { en: "Two frames have the same `event_id`", zh: "两帧的 `event_id` 相同" },
  },
  "event-id-order": {
    level: "error",
    section: "001 §3",
    about: { en: "`event_id` decreases", zh: "`event_id` 变小" },
  },
  "event-id-gap": {
    level: "error",
    section: "001 §2",
    about: {
      en: "Frames are missing: a stream with contiguous IDs has a gap",
      zh: "缺帧：编号应连续的流中出现缺号",
    },
  },
  "event-id-jump": {
    level: "warning",
    section: "001 §2",
    about: { en: "`event_id` has a gap; frames may be missing", zh: "`event_id` 不连续，可能缺帧" },
  },
  "event-id-zero": {
    level: "warning",
    section: "001 §7.1",
    about: { en: "`event_id` starts at 0; it should start at 1", zh: "`event_id` 从 0 开始，应从 1 开始" },
  },
  "envelope-missing": {
    level: "warning",
    section: "001 §7.1",
    about: {
      en: "Frames have no `event_id` or no `session_id`; senders should include both",
      zh: "帧没有 `event_id` 或 `session_id`，发送方应包含两者",
    },
  },
  "span-enter-twice": {
    level: "error",
    section: "001 §2",
    about: { en: "`node_enter` for a node run that is already open", zh: "对已打开的节点运行再次发送 `node_enter`" },
  },
  "span-exit-unopened": {
    level: "error",
    section: "001 §1.2",
    about: { en: "A `node_exit` has no matching `node_enter`", zh: "没有与 `node_exit` 对应的 `node_enter`" },
  },
  "span-exit-name": {
    level: "error",
    section: "001 §4.2",
    about: {
      en: "`node_exit` and its `node_enter` name different nodes",
      zh: "`node_exit` 与对应的 `node_enter` 节点名不同",
    },
  },
  "span-not-open": {
    level: "error",
    section: "001 §2",
    about: {
      en: "A frame has the `node_id` of a node run that is not open",
      zh: "帧的 `node_id` 指向未打开的节点运行",
    },
  },
  "span-unclosed": {
    level: "error",
    section: "001 §1.2",
    about: { en: "The run ended while a node run was open", zh: "运行结束时仍有未关闭的节点运行" },
  },
  "span-parent": {
    level: "warning",
    section: "001 §8",
    about: {
      en: "The `parent` of a `node_enter` is not an open node run",
      zh: "`node_enter` 的 `parent` 不是已打开的节点运行",
    },
  },
  "span-supersedes": {
    level: "error",
    section: "001 §8",
    about: {
      en: "`supersedes` of a `node_enter` does not name a node run of the run that has ended",
      zh: "`node_enter` 的 `supersedes` 不是该运行中已结束的节点运行",
    },
  },
  "span-node-id-missing": {
    level: "warning",
    section: "001 §2",
    about: {
      en: "A frame inside a node run with a `node_id` has none; all frames of a node run share it",
      zh: "节点运行带有 `node_id`，其中的帧却没有；同一节点运行的帧应共用 `node_id`",
    },
  },
  "updates-node-name": {
    level: "warning",
    section: "001 §4.2",
    about: {
      en: "An `updates` names a different node than its node run",
      zh: "`updates` 的节点名与所在的节点运行不同",
    },
  },
  "chunk-node-name": {
    level: "warning",
    section: "001 §4.2",
    about: {
      en: "A `message_chunk` names a different node than its node run",
      zh: "`message_chunk` 的节点名与所在的节点运行不同",
    },
  },
  "chunk-outside-span": {
    level: "warning",
    section: "001 §4.2",
    about: { en: "A `message_chunk` names a node that is not running", zh: "`message_chunk` 的节点没有在运行" },
  },
  "after-reply": {
    level: "error",
    section: "001 §1.2",
    about: {
      en: "A frame follows the last frame of its run",
      zh: "运行的最后一帧之后仍有该运行的帧",
    },
  },
  "run-end-last": {
    level: "error",
    section: "001 §8",
    about: { en: "A frame other than the reply follows `run_end`", zh: "`run_end` 之后出现回复以外的帧" },
  },
  "reply-node": {
    level: "error",
    section: "001 §5",
    about: {
      en: "The `node_id` of the reply is not the ID of a node run of its run",
      zh: "回复的 `node_id` 不是该运行中任何节点运行的 ID",
    },
  },
  "reply-text": {
    level: "warning",
    section: "001 §5",
    about: { en: "The reply differs from the streamed text", zh: "回复与流式文本不同" },
  },
  "run-end-proof": {
    level: "error",
    section: "001 §8",
    about: { en: "`run_end` does not match the frames that were received", zh: "`run_end` 与实际收到的帧不符" },
  },
  "tool-start-uncalled": {
    level: "warning",
    section: "001 §4.2",
    about: { en: "A tool starts without a call", zh: "工具没有被调用就开始执行" },
  },
  "tool-start-twice": {
    level: "error",
    section: "001 §4.2",
    about: { en: "A tool call starts twice", zh: "工具调用开始了两次" },
  },
  "tool-start-rejected": {
    level: "error",
    section: "001 §4.2",
    about: { en: "A tool starts although its approval was denied", zh: "工具未获批准却开始执行" },
  },
  "tool-output-unstarted": {
    level: "error",
    section: "001 §4.2",
    about: { en: "Output or progress from a tool that is not running", zh: "未在执行的工具产生输出或进度" },
  },
  "tool-end-uncalled": {
    level: "error",
    section: "001 §4.2",
    about: { en: "A tool ends that was neither called nor started", zh: "工具既未调用也未开始就结束" },
  },
  "tool-end-unstarted": {
    level: "warning",
    section: "001 §4.2",
    about: { en: "A tool succeeds without having started", zh: "工具未开始就成功结束" },
  },
  "tool-end-twice": {
    level: "error",
    section: "001 §4.2",
    about: { en: "A tool call ends twice", zh: "工具调用结束了两次" },
  },
  "tool-call-twice": {
    level: "error",
    section: "001 §4.2",
    about: { en: "Two tool calls have the same call ID", zh: "两个工具调用的 ID 相同" },
  },
  "tool-unended": {
    level: "error",
    section: "001 §4.2",
    about: { en: "The run ended while a tool was running", zh: "运行结束时工具仍在执行" },
  },
  "tool-unanswered": {
    level: "warning",
    section: "001 §4.2",
    about: { en: "The run ended with a tool call that was never executed", zh: "运行结束时有工具调用未执行" },
  },
  "tool-name": {
    level: "error",
    section: "001 §4.2",
    about: { en: "The frames of a tool call name different tools", zh: "同一工具调用的各帧工具名不同" },
  },
  "tool-arguments": {
    level: "warning",
    section: "001 §4.2",
    about: { en: "The arguments of a call differ from the streamed arguments", zh: "调用参数与流式参数不同" },
  },
  "tool-approval-late": {
    level: "error",
    section: "001 §4.2",
    about: { en: "Approval is requested for a call that has already started", zh: "为已开始的工具调用请求审批" },
  },
  "tool-approval-unasked": {
    level: "error",
    section: "001 §8",
    about: {
      en: "An approval decision for a call that does not wait for one",
      zh: "工具调用没有等待审批，却收到审批结果",
    },
  },
  "tot-chosen": {
    level: "error",
    section: "001 §4.2",
    about: { en: "`chosen` is out of range for `scores` (an index from 0)", zh: "`chosen` 不是 `scores` 的有效下标" },
  },
  "tot-scores": {
    level: "error",
    section: "001 §4.2",
    about: {
      en: "The number of scores differs from the number of candidates",
      zh: "评分数量与候选数量不同",
    },
  },
  "tot-kept": {
    level: "warning",
    section: "001 §8",
    about: { en: "A kept thought is not among the scored thoughts", zh: "保留的想法不在已评分的想法中" },
  },
  "tot-thought-unknown": {
    level: "warning",
    section: "001 §8",
    about: {
      en: "A thought is scored or backtracked, but appears in no `tot_expand`",
      zh: "被评分或回溯的想法没有出现在任何 `tot_expand` 中",
    },
  },
  "tot-chosen-dropped": {
    level: "warning",
    section: "001 §8",
    about: { en: "The chosen thought is not among the kept thoughts", zh: "被选中的想法不在保留的想法中" },
  },
  "thought-id-twice": {
    level: "warning",
    section: "001 §8",
    about: { en: "A list of IDs contains a thought or a node twice", zh: "ID 列表中同一想法或节点出现两次" },
  },
  "thought-id-length": {
    level: "warning",
    section: "001 §8",
    about: {
      en: "The ID of a thought or a node is longer than 1,000 characters; it is not tracked",
      zh: "想法或节点的 ID 超过 1000 个字符，不会被跟踪",
    },
  },
  "thought-ids": {
    level: "error",
    section: "001 §8",
    about: { en: "A list of IDs or labels does not have the expected length", zh: "ID 或标签列表的长度不符" },
  },
  "got-counts": {
    level: "error",
    section: "001 §4.2",
    about: { en: "A count does not match the length of its list", zh: "数量与列表长度不符" },
  },
  "got-edge": {
    level: "error",
    section: "001 §8",
    about: { en: "An edge is not a pair of known nodes", zh: "边的两端不是已知节点" },
  },
  "got-cycle": {
    level: "error",
    section: "001 §8",
    about: { en: "The graph of thoughts has a cycle", zh: "思维图中存在环" },
  },
  "got-node-unknown": {
    level: "error",
    section: "001 §4.2",
    about: { en: "A graph node is not in the plan", zh: "图节点不在计划中" },
  },
  "got-node-order": {
    level: "error",
    section: "001 §4.2",
    about: {
      en: "A graph node ends without having started, or starts while running or after it completed",
      zh: "图节点未开始就结束，或在执行中、完成后再次开始",
    },
  },
  "got-node-needs": {
    level: "warning",
    section: "001 §8",
    about: {
      en: "A graph node starts before a node it depends on has completed",
      zh: "图节点依赖的节点尚未完成，该节点就已开始",
    },
  },
  "got-node-unended": {
    level: "warning",
    section: "001 §8",
    about: {
      en: "The run has a reply, but a graph node never ended",
      zh: "运行已有回复，但有图节点没有结束",
    },
  },
  "todo-unknown": {
    level: "error",
    section: "004 §8",
    about: { en: "A to-do update names an unknown list or item", zh: "待办更新指向未知的清单或条目" },
  },
  "usage-total": {
    level: "warning",
    section: "001 §4.2",
    about: {
      en: "`total_tokens` is not the sum of prompt and completion tokens",
      zh: "`total_tokens` 不等于另外两项之和",
    },
  },
  "checkpoint-time": {
    level: "warning",
    section: "001 §4.2",
    about: {
      en: "The `timestamp` of a checkpoint is neither a number nor an ISO 8601 time",
      zh: "检查点的 `timestamp` 既不是数字，也不是 ISO 8601 时间",
    },
  },
  "checkpoint-step": {
    level: "warning",
    section: "001 §4.2",
    about: { en: "The `step` of a checkpoint decreases", zh: "检查点的 `step` 变小" },
  },
  "delta-unbased": {
    level: "warning",
    section: "001 §4.2",
    about: {
      en: "A state delta without a preceding full state in the run",
      zh: "运行中出现状态增量，但之前没有完整状态",
    },
  },
  "llm-order": {
    level: "error",
    section: "001 §8",
    about: { en: "A model call ends without having started, or starts twice", zh: "模型调用未开始就结束，或重复开始" },
  },
} as const satisfies RuleTable;

export type LifecycleRule = keyof typeof LIFECYCLE_RULES;

/** Called for each broken rule. */
export type IssueReporter = (rule: LifecycleRule, message: string) => void;
