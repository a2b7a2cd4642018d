/** Declares the frames of the `ag-ui` dialect, the events of AG-UI; types and forms are generated from it. */
import {
  boolean,
  count,
  either,
  type Fields,
  json,
  listOf,
  map,
  objectOf,
  oneOf,
  optional,
  required,
  type Schema,
  type Shape,
  string,
} from "../../protocol/schema.ts";

const SECTION = "AG-UI 1.0";

/** An integer that a number represents exactly. */
const integer: Schema = { kind: "integer", min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER };

/** Fields of every event. */
const BASE: Fields = {
  timestamp: optional(integer, "Time in milliseconds since 1970", "时间，Unix 毫秒时间戳"),
  rawEvent: optional(json, "Event of the framework behind the server", "服务器框架的原始事件"),
  metadata: optional(map, "Additional data; Loom uses the key `loom`", "附加数据；Loom 使用键 `loom`"),
};

/** An event of the whole run. */
function event(en: string, zh: string, fields: Fields = {}): Shape {
  return { section: SECTION, about: { en, zh }, fields: { ...fields, ...BASE } };
}

const subagentRunId = optional(string, "ID of the subagent that sent it", "发送它的子智能体的 ID");

/** An event that may come from a subagent. */
function part(en: string, zh: string, fields: Fields = {}): Shape {
  return event(en, zh, { ...fields, subagentRunId });
}

const threadId = required(string, "ID of the thread: the session", "会话线程 ID，即会话 ID");
const runId = required(string, "ID of the run", "运行 ID");
const messageId = required(string, "ID of the message", "消息 ID");
const chunkMessageId = optional(string, "ID of the message; the first chunk has it", "消息 ID，第一段必须带有");
const delta = required(string, "Text to append", "要追加的文本");
const chunkDelta = optional(string, "Text to append", "要追加的文本");
const toolCallId = required(string, "ID of the tool call", "工具调用 ID");
const parentMessageId = optional(string, "ID of the message that has the call", "包含该调用的消息 ID");
const stepName = required(string, "Name of the step, unique among open steps", "步骤名，在未结束的步骤中唯一");
const activityType = required(
  string,
  "Kind of the activity, such as `loom.todo_list`",
  "活动的种类，如 `loom.todo_list`",
);
const patch = required(
  listOf(
    objectOf({
      op: required(oneOf("add", "remove", "replace", "move", "copy", "test"), "Operation", "操作"),
      path: required(string, "JSON Pointer of the value", "值的 JSON Pointer"),
      value: optional(json, "New value", "新值"),
      from: optional(string, "JSON Pointer of the source", "来源的 JSON Pointer"),
    }),
  ),
  "Changes as JSON Patch (RFC 6902)",
  "以 JSON Patch（RFC 6902）表示的修改",
);
const role = optional(
  oneOf("developer", "system", "assistant", "user"),
  "Role; default `assistant`",
  "角色，默认为 `assistant`",
);
const name = optional(string, "Name of the author", "作者名");
const subagent = required(string, "ID of the subagent run", "子智能体运行 ID");
const usage = optional(
  listOf(
    objectOf({
      provider: optional(string, "Provider of the model", "模型提供方"),
      model: optional(string, "Name of the model", "模型名"),
      inputTokens: optional(count, "Input tokens", "输入 token 数"),
      outputTokens: optional(count, "Output tokens", "输出 token 数"),
      totalTokens: optional(count, "All tokens", "token 总数"),
      reasoningTokens: optional(count, "Tokens of the reasoning", "推理 token 数"),
      cachedInputTokens: optional(count, "Input tokens that were cached", "命中缓存的输入 token 数"),
      cacheWriteInputTokens: optional(count, "Input tokens that were written to the cache", "写入缓存的输入 token 数"),
    }),
  ),
  "Tokens by model",
  "各模型的 token 数",
);
const outcome = optional(
  objectOf({
    type: required(oneOf("success", "interrupt", "cancelled"), "How the run ended", "运行如何结束"),
    interrupts: optional(
      listOf(
        objectOf({
          id: required(string, "ID to answer it", "用于答复的 ID"),
          reason: required(string, "Why the run waits", "运行等待的原因"),
          message: optional(string, "Question for the user", "面向用户的问题"),
          toolCallId: optional(string, "ID of the tool call to approve", "待审批的工具调用 ID"),
          responseSchema: optional(map, "JSON Schema of the answer", "答复的 JSON Schema"),
          expiresAt: optional(string, "When it can no longer be answered", "何时起不能再答复"),
          subagentRunId,
          metadata: optional(map, "Additional data", "附加数据"),
        }),
      ),
      "What the run waits for, with `interrupt`",
      "运行等待的内容，仅用于 `interrupt`",
    ),
    pendingToolCallIds: optional(listOf(string), "Calls that the client carries out", "由客户端执行的调用"),
  }),
  "How the run ended; default `success`. Clients before 1.0 do not know `cancelled`",
  "运行如何结束，默认为 `success`；1.0 之前的客户端不认识 `cancelled`",
);

export const AG_UI_FRAMES = {
  RUN_STARTED: event("A run started, or goes on after an interrupt", "运行开始，或在中断后继续", {
    threadId,
    runId,
    protocolVersion: optional(string, "Version of the protocol, such as `1.0`", "协议版本，如 `1.0`"),
    parentRunId: optional(string, "ID of the run before it", "之前的运行 ID"),
    input: optional(map, "The request", "请求"),
  }),
  RUN_FINISHED: event("A run ended, or waits for an answer", "运行结束，或等待答复", {
    threadId,
    runId,
    result: optional(json, "The reply", "回复"),
    outcome,
    usage,
  }),
  RUN_ERROR: event("A run failed", "运行失败", {
    message: required(string, "Error message", "错误信息"),
    code: optional(string, "Error code", "错误码"),
    usage,
  }),
  STEP_STARTED: part("A step started: a node run", "步骤开始，即节点运行开始", { stepName }),
  STEP_FINISHED: part("A step ended", "步骤结束", { stepName }),
  TEXT_MESSAGE_START: part("A message started, or is continued", "消息开始或继续", { messageId, role, name }),
  TEXT_MESSAGE_CONTENT: part("A piece of a message", "消息的一段", { messageId, delta }),
  TEXT_MESSAGE_END: part("A message ended", "消息结束", { messageId }),
  TEXT_MESSAGE_CHUNK: part("A piece of a message without start and end", "没有开始和结束事件的消息片段", {
    messageId: chunkMessageId,
    role,
    delta: chunkDelta,
    name,
  }),
  TOOL_CALL_START: part("A tool call started", "工具调用开始", {
    toolCallId,
    toolCallName: required(string, "Name of the tool", "工具名"),
    parentMessageId,
  }),
  TOOL_CALL_ARGS: part("A piece of the arguments", "调用参数的一段", {
    toolCallId,
    delta: required(string, "JSON text to append", "要追加的 JSON 文本"),
  }),
  TOOL_CALL_END: part("The arguments are complete", "调用参数已完整", { toolCallId }),
  TOOL_CALL_CHUNK: part("A piece of a call without start and end", "没有开始和结束事件的调用片段", {
    toolCallId: optional(string, "ID of the call; the first chunk has it", "调用 ID，第一段必须带有"),
    toolCallName: optional(string, "Name of the tool; the first chunk has it", "工具名，第一段必须带有"),
    parentMessageId,
    delta: optional(string, "JSON text to append", "要追加的 JSON 文本"),
  }),
  TOOL_CALL_RESULT: part("The result of a call", "调用的结果", {
    messageId,
    toolCallId,
    content: required(either(string, listOf(map)), "The result as text, or as parts", "结果文本或部件"),
    role: optional(oneOf("tool"), "Always `tool`", "固定为 `tool`"),
  }),
  REASONING_START: part("Reasoning started", "推理开始", { messageId }),
  REASONING_MESSAGE_START: part("A text of the reasoning started", "推理文本开始", {
    messageId,
    role: required(oneOf("reasoning"), "Always `reasoning`", "固定为 `reasoning`"),
  }),
  REASONING_MESSAGE_CONTENT: part("A piece of the reasoning", "推理的一段文本", { messageId, delta }),
  REASONING_MESSAGE_END: part("A text of the reasoning ended", "推理文本结束", { messageId }),
  REASONING_MESSAGE_CHUNK: part("A piece of the reasoning without start and end", "没有开始和结束事件的推理片段", {
    messageId: chunkMessageId,
    delta: chunkDelta,
  }),
  REASONING_END: part("Reasoning ended", "推理结束", { messageId }),
  REASONING_ENCRYPTED_VALUE: part("Encrypted reasoning of a provider", "提供方加密的推理内容", {
    subtype: required(oneOf("tool-call", "message"), "What it belongs to", "所属对象的种类"),
    entityId: required(string, "ID of the call or message", "调用或消息 ID"),
    encryptedValue: required(string, "The value", "加密值"),
  }),
  STATE_SNAPSHOT: part("The graph state", "图状态", { snapshot: required(json, "The state", "状态") }),
  STATE_DELTA: part("A change of the state", "状态的修改", { delta: patch }),
  MESSAGES_SNAPSHOT: event("All messages of the thread", "线程的全部消息", {
    messages: required(listOf(map), "The messages", "消息列表"),
  }),
  ACTIVITY_SNAPSHOT: part("A structured message, such as a to-do list", "结构化消息，如待办清单", {
    messageId,
    activityType,
    content: required(map, "The fields of the event", "事件的字段"),
    replace: optional(boolean, "False to keep an existing one; default true", "为 false 时保留已有的，默认 true"),
  }),
  ACTIVITY_DELTA: part("A change of a structured message", "结构化消息的修改", { messageId, activityType, patch }),
  SUBAGENT_STARTED: event("A subagent started", "子智能体开始", {
    subagentRunId: subagent,
    name: required(string, "Name of the subagent", "子智能体名"),
    description: optional(string, "Its task", "它的任务"),
    parentSubagentRunId: optional(string, "ID of the subagent that started it", "启动它的子智能体 ID"),
    parentToolCallId: optional(string, "ID of the call that started it", "启动它的调用 ID"),
    parentMessageId,
  }),
  SUBAGENT_FINISHED: event("A subagent ended", "子智能体结束", {
    subagentRunId: subagent,
    result: optional(json, "Its result", "它的结果"),
    outcome: optional(
      objectOf({
        type: required(oneOf("success", "suspended"), "How it ended", "如何结束"),
        interruptIds: optional(listOf(string), "Interrupts that it waits for", "它等待的中断 ID"),
      }),
      "How it ended",
      "如何结束",
    ),
  }),
  SUBAGENT_ERROR: event("A subagent failed", "子智能体失败", {
    subagentRunId: subagent,
    message: required(string, "Error message", "错误信息"),
    code: optional(string, "Error code", "错误码"),
  }),
  RAW: part("A frame of another dialect", "其他方言的帧", {
    event: required(json, "The frame", "帧"),
    source: optional(string, "Name of the dialect", "方言名"),
  }),
  CUSTOM: part("An event without an equivalent in AG-UI", "AG-UI 中没有对应的事件", {
    name: required(string, "`loom.` and the type of the event", "`loom.` 加事件类型"),
    value: required(json, "The fields of the event", "事件的字段"),
  }),
  THINKING_START: event("Reasoning started, before 1.0", "推理开始（1.0 之前）", {
    title: optional(string, "Title of the reasoning", "推理标题"),
  }),
  THINKING_TEXT_MESSAGE_START: event("A text of the reasoning started, before 1.0", "推理文本开始（1.0 之前）"),
  THINKING_TEXT_MESSAGE_CONTENT: event("A piece of the reasoning, before 1.0", "推理的一段文本（1.0 之前）", { delta }),
  THINKING_TEXT_MESSAGE_END: event("A text of the reasoning ended, before 1.0", "推理文本结束（1.0 之前）"),
  THINKING_END: event("Reasoning ended, before 1.0", "推理结束（1.0 之前）"),
} as const satisfies { readonly [type: string]: Shape };

export type AgUiFrameType = keyof typeof AG_UI_FRAMES;
