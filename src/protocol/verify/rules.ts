/** The rules of a run's life. Musts of the specification are errors, recommendations are warnings. */
import type { RuleTable } from "../rules.ts";

export const LIFECYCLE_RULES = {
  "run-start-late": {
    level: "error",
    section: "001 §4.2",
    about: { en: "run_start comes after other frames of its run", zh: "run_start 出现在该运行的其他帧之后" },
  },
  "run-start-twice": {
    level: "error",
    section: "001 §4.2",
    about: { en: "A run that is going is started again", zh: "进行中的运行被再次开始" },
  },
  "run-unended": {
    level: "warning",
    section: "001 §5",
    about: {
      en: "A run begins before the last one, which has no name, got its reply",
      zh: "上一个（无 run_id 的）运行尚无回复便开始了新运行",
    },
  },
  "run-start-missing": {
    level: "warning",
    section: "001 §4.2",
    about: { en: "A run has no run_start", zh: "运行缺少 run_start" },
  },
  "run-start-node-id": {
    level: "warning",
    section: "001 §2",
    about: {
      en: "run_start carries a node_id, though no node has begun",
      zh: "run_start 带有 node_id，但尚无节点开始",
    },
  },
  "event-id-duplicate": {
    level: "error",
    section: "001 §2",
    about: { en: "Two frames have the same event_id", zh: "两帧的 event_id 相同" },
  },
  "event-id-order": {
    level: "error",
    section: "001 §3",
    about: { en: "event_id goes backwards", zh: "event_id 倒退" },
  },
  "event-id-gap": {
    level: "error",
    section: "001 §2",
    about: {
      en: "Frames are missing: the ids of this stream are contiguous and jump",
      zh: "缺帧：连续编号的流出现跳号",
    },
  },
  "event-id-jump": {
    level: "warning",
    section: "001 §2",
    about: { en: "event_id jumps; frames may be missing", zh: "event_id 跳号，可能缺帧" },
  },
  "event-id-zero": {
    level: "warning",
    section: "001 §7.1",
    about: { en: "event_id starts at 0; senders should start at 1", zh: "event_id 从 0 开始；建议从 1 起" },
  },
  "envelope-missing": {
    level: "warning",
    section: "001 §7.1",
    about: {
      en: "Frames carry no event_id or no session_id; senders should include them",
      zh: "帧不带 event_id 或 session_id；建议包含",
    },
  },
  "span-enter-twice": {
    level: "error",
    section: "001 §2",
    about: { en: "node_enter for a node run that is open", zh: "对已打开的节点运行再次 node_enter" },
  },
  "span-exit-unopened": {
    level: "error",
    section: "001 §1.2",
    about: { en: "node_exit without its node_enter", zh: "node_exit 没有对应的 node_enter" },
  },
  "span-exit-name": {
    level: "error",
    section: "001 §4.2",
    about: { en: "node_exit names another node than its node_enter", zh: "node_exit 与 node_enter 的节点名不一致" },
  },
  "span-not-open": {
    level: "error",
    section: "001 §2",
    about: { en: "A frame carries the node_id of a node run that is not open", zh: "帧的 node_id 所指节点运行未打开" },
  },
  "span-unclosed": {
    level: "error",
    section: "001 §1.2",
    about: { en: "The run ended while a node run was open", zh: "运行结束时仍有节点运行未关闭" },
  },
  "span-parent": {
    level: "warning",
    section: "001 §8",
    about: {
      en: "node_enter says it is inside a node run that is not open",
      zh: "node_enter 的 parent 所指节点运行未打开",
    },
  },
  "chunk-node-name": {
    level: "warning",
    section: "001 §4.2",
    about: {
      en: "A message_chunk names another node than the one it is in",
      zh: "message_chunk 的节点名与所在节点不符",
    },
  },
  "chunk-outside-span": {
    level: "warning",
    section: "001 §4.2",
    about: { en: "A message_chunk comes from a node that is not running", zh: "message_chunk 来自未运行的节点" },
  },
  "after-reply": {
    level: "error",
    section: "001 §1.2",
    about: {
      en: "A frame of a run comes after its reply, or after the run_end that ended it",
      zh: "运行的 reply 或结束之后仍有该运行的帧",
    },
  },
  "run-end-last": {
    level: "error",
    section: "001 §8",
    about: { en: "Something other than the reply follows run_end", zh: "run_end 之后出现 reply 以外的帧" },
  },
  "reply-text": {
    level: "warning",
    section: "001 §5",
    about: { en: "The reply is not the text that was streamed", zh: "reply 与流式文本不一致" },
  },
  "run-end-proof": {
    level: "error",
    section: "001 §8",
    about: { en: "run_end says the run has other frames than those that came", zh: "run_end 声明的帧与实际不符" },
  },
  "tool-start-uncalled": {
    level: "warning",
    section: "001 §4.2",
    about: { en: "A tool starts that was not called", zh: "未调用的工具开始执行" },
  },
  "tool-start-twice": {
    level: "error",
    section: "001 §4.2",
    about: { en: "A call starts twice", zh: "同一调用开始两次" },
  },
  "tool-start-rejected": {
    level: "error",
    section: "001 §4.2",
    about: { en: "A tool starts though its approval was refused", zh: "未获批准的工具开始执行" },
  },
  "tool-output-unstarted": {
    level: "error",
    section: "001 §4.2",
    about: { en: "Output or progress of a tool that is not running", zh: "未在执行的工具产生输出或进度" },
  },
  "tool-end-uncalled": {
    level: "error",
    section: "001 §4.2",
    about: { en: "A tool ends that was neither called nor started", zh: "既未调用也未开始的工具结束" },
  },
  "tool-end-unstarted": {
    level: "warning",
    section: "001 §4.2",
    about: { en: "A tool succeeds without having started", zh: "工具未开始即成功结束" },
  },
  "tool-end-twice": { level: "error", section: "001 §4.2", about: { en: "A call ends twice", zh: "同一调用结束两次" } },
  "tool-call-twice": {
    level: "error",
    section: "001 §4.2",
    about: { en: "A call id is used for two calls", zh: "call_id 被用于两次调用" },
  },
  "tool-unended": {
    level: "error",
    section: "001 §4.2",
    about: { en: "The run ended while a tool was running", zh: "运行结束时工具仍在执行" },
  },
  "tool-unanswered": {
    level: "warning",
    section: "001 §4.2",
    about: { en: "The run ended and a call was never carried out", zh: "运行结束时有调用未执行" },
  },
  "tool-name": {
    level: "error",
    section: "001 §4.2",
    about: { en: "Frames of one call name different tools", zh: "同一调用的帧工具名不一致" },
  },
  "tool-arguments": {
    level: "warning",
    section: "001 §4.2",
    about: { en: "The arguments of a call are not those that were streamed", zh: "调用参数与流式参数不一致" },
  },
  "tool-approval-late": {
    level: "error",
    section: "001 §4.2",
    about: { en: "Approval is asked for a call that has started", zh: "对已开始的调用请求确认" },
  },
  "tool-approval-unasked": {
    level: "error",
    section: "001 §8",
    about: { en: "An approval is answered that was not asked for, or twice", zh: "答复了未请求或已答复的确认" },
  },
  "tot-chosen": {
    level: "error",
    section: "001 §4.2",
    about: { en: "`chosen` is no index into `scores`", zh: "chosen 不是 scores 的下标" },
  },
  "tot-kept": {
    level: "warning",
    section: "001 §8",
    about: { en: "A thought is kept that is not among those judged", zh: "保留的思路不在被评估者之中" },
  },
  "tot-thought-unknown": {
    level: "warning",
    section: "001 §8",
    about: {
      en: "A thought is judged or left that no tot_expand has named",
      zh: "评估或回溯的思路未出现在任何 tot_expand 中",
    },
  },
  "tot-chosen-dropped": {
    level: "warning",
    section: "001 §8",
    about: { en: "The thought that is chosen is not among those kept", zh: "被选中的思路不在保留者之中" },
  },
  "thought-id-twice": {
    level: "warning",
    section: "001 §8",
    about: { en: "A list of ids names a thought or a node twice", zh: "ID 列表中同一思路或节点出现两次" },
  },
  "thought-id-length": {
    level: "warning",
    section: "001 §8",
    about: {
      en: "The id of a thought or a node has more than 1,000 characters, and is not followed",
      zh: "思路或节点的 ID 超过 1000 个字符，不予跟踪",
    },
  },
  "thought-ids": {
    level: "error",
    section: "001 §8",
    about: { en: "A list of ids or labels has another length than what it names", zh: "ID 或标签列表长度不符" },
  },
  "got-counts": {
    level: "error",
    section: "001 §4.2",
    about: { en: "A count is not the length of the list it counts", zh: "计数与列表长度不符" },
  },
  "got-edge": {
    level: "error",
    section: "001 §8",
    about: { en: "An edge is not a pair of known nodes", zh: "边不是两个已知节点" },
  },
  "got-cycle": {
    level: "error",
    section: "001 §8",
    about: { en: "The graph of thoughts has a cycle", zh: "思维图存在环" },
  },
  "got-node-unknown": {
    level: "error",
    section: "001 §4.2",
    about: { en: "A node of the graph is in no plan", zh: "图节点不在计划中" },
  },
  "got-node-order": {
    level: "error",
    section: "001 §4.2",
    about: {
      en: "A node of the graph is done without having begun, or begins while it runs or after it was done",
      zh: "图节点未开始即完成，或在执行中、完成后再次开始",
    },
  },
  "got-node-needs": {
    level: "warning",
    section: "001 §8",
    about: {
      en: "A node of the graph begins, though one it needs is not done",
      zh: "图节点开始执行，但其依赖的节点尚未完成",
    },
  },
  "got-node-unended": {
    level: "warning",
    section: "001 §8",
    about: {
      en: "A node of the graph began and has no end, though the run has its reply",
      zh: "运行已有回复，但图节点开始后没有结束",
    },
  },
  "todo-unknown": {
    level: "error",
    section: "004 §8",
    about: { en: "A to-do update names a list or an item that does not exist", zh: "更新了不存在的清单或条目" },
  },
  "usage-total": {
    level: "warning",
    section: "001 §4.2",
    about: { en: "total_tokens is not the sum of the two others", zh: "total_tokens 不等于两者之和" },
  },
  "checkpoint-time": {
    level: "warning",
    section: "001 §4.2",
    about: { en: "`timestamp` of a checkpoint is no ISO 8601 time", zh: "检查点的 timestamp 不是 ISO 8601 时间" },
  },
  "checkpoint-step": {
    level: "warning",
    section: "001 §4.2",
    about: { en: "`step` of a checkpoint goes back", zh: "检查点的 step 倒退" },
  },
  "delta-unbased": {
    level: "warning",
    section: "001 §4.2",
    about: {
      en: "A state is told as what changed, and no whole one came before it in the run",
      zh: "状态以增量形式给出，但此前该运行没有完整状态",
    },
  },
  "llm-order": {
    level: "error",
    section: "001 §8",
    about: { en: "A model call ends without having begun, or begins twice", zh: "模型调用未开始即结束，或重复开始" },
  },
} as const satisfies RuleTable;

export type LifecycleRule = keyof typeof LIFECYCLE_RULES;

/** Told of each rule that is broken. */
export type Report = (rule: LifecycleRule, message: string) => void;
