/** Declares the frames of the `ai-sdk` dialect, the UI message chunks of the AI SDK; types and forms are generated from it. */
import {
  additional,
  boolean,
  json,
  listOf,
  map,
  objectOf,
  oneOf,
  optional,
  required,
  type Shape,
  string,
} from "../../protocol/schema.ts";

const SECTION = "AI SDK 7";

function chunk(en: string, zh: string, fields: Shape["fields"] = {}): Shape {
  return { section: SECTION, about: { en, zh }, fields };
}

/** A data part. A later part with the same type and ID replaces it. */
function part(en: string, zh: string, data = map): Shape {
  return chunk(en, zh, {
    id: optional(string, "ID of the part", "部件 ID"),
    data: required(data, "The fields of the event", "事件的字段"),
    transient: optional(boolean, "True if clients do not keep the part", "客户端是否不保留该部件"),
  });
}

const partId = required(string, "ID of the part", "部件 ID");
const delta = required(string, "Text to append", "要追加的文本");
const toolCallId = required(string, "ID of the tool call", "工具调用 ID");
const toolName = required(string, "Name of the tool", "工具名");
const title = optional(string, "Description of the call for the user", "面向用户的调用说明");
const input = required(json, "Arguments of the call", "调用参数");
const errorText = required(string, "Error message for the user", "面向用户的错误信息");
const approvalId = required(string, "ID of the approval request", "审批请求 ID");
const mediaType = required(string, "Media type", "媒体类型");
const url = required(string, "URL of the file", "文件的 URL");
const sourceId = required(string, "ID of the source", "来源 ID");
const repeats = additional(string, "Type of the data part that has the same source", "包含同一来源的数据部件类型");
const metadata = optional(json, "Application data of the message", "消息的应用数据");

export const AI_SDK_FRAMES = {
  start: chunk("A message started", "消息开始", {
    messageId: optional(string, "ID of the message: the ID of the run", "消息 ID，即运行 ID"),
    messageMetadata: metadata,
  }),
  "start-step": chunk("A step started: a model call and its tools", "步骤开始：一次模型调用及其工具"),
  "text-start": chunk("A part of the answer started", "回答的一个部件开始", { id: partId }),
  "text-delta": chunk("A chunk of the answer", "回答的一段文本", { id: partId, delta }),
  "text-end": chunk("A part of the answer ended", "回答的一个部件结束", { id: partId }),
  "reasoning-start": chunk("Reasoning started", "推理开始", { id: partId }),
  "reasoning-delta": chunk("A chunk of reasoning", "推理的一段文本", { id: partId, delta }),
  "reasoning-end": chunk("Reasoning ended", "推理结束", { id: partId }),
  "tool-input-start": chunk("The arguments of a call started", "调用参数开始", { toolCallId, toolName, title }),
  "tool-input-delta": chunk("A piece of the arguments", "调用参数的一段", {
    toolCallId,
    inputTextDelta: required(string, "JSON text to append", "要追加的 JSON 文本"),
  }),
  "tool-input-available": chunk("A call with its arguments", "工具调用及其参数", {
    toolCallId,
    toolName,
    input,
    title,
  }),
  "tool-input-error": chunk("A call with invalid arguments", "参数无效的调用", {
    toolCallId,
    toolName,
    input,
    errorText,
    title,
  }),
  "tool-approval-request": chunk("A call waits for approval", "调用等待审批", {
    approvalId,
    toolCallId,
    input: additional(map, "Arguments to approve", "待审批的参数"),
    isAutomatic: optional(boolean, "True if a rule of the program answers it", "是否由程序的规则自动答复"),
  }),
  "tool-approval-response": chunk("An approval was answered", "审批已答复", {
    approvalId,
    approved: required(boolean, "True if the call may run", "是否允许执行"),
    reason: optional(string, "Reason for the decision", "决定的理由"),
  }),
  "tool-output-available": chunk("A result of a call", "调用的结果", {
    toolCallId,
    output: required(json, "The result", "结果"),
    preliminary: optional(boolean, "True if another result follows and replaces it", "之后是否还有结果替换它"),
  }),
  "tool-output-error": chunk("A call failed", "调用失败", { toolCallId, errorText }),
  "tool-output-denied": chunk("A call was not allowed", "调用未被允许", {
    toolCallId,
    reason: additional(string, "Why it was not allowed", "未被允许的原因"),
  }),
  "source-url": chunk("A web page that the answer uses", "回答所依据的网页", {
    sourceId,
    url,
    title: optional(string, "Title of the page", "网页标题"),
    repeats,
  }),
  "source-document": chunk("A document that the answer uses", "回答所依据的文档", {
    sourceId,
    mediaType,
    title: required(string, "Title of the document", "文档标题"),
    filename: optional(string, "Name of the file", "文件名"),
    repeats,
  }),
  file: chunk("A file", "文件", { url, mediaType }),
  "reasoning-file": chunk("A file of the reasoning", "推理中的文件", { url, mediaType }),
  custom: chunk("A part of a provider", "提供方特有的部件", {
    kind: required(string, "Provider and kind, such as `acme.note`", "提供方与种类，如 `acme.note`"),
  }),
  "steering-message": chunk("A message of the user during the run", "运行期间的用户消息", {
    id: required(string, "ID of the message", "消息 ID"),
    parts: required(json, "Parts of the message", "消息的部件"),
  }),
  "message-metadata": chunk("Application data of the message", "消息的应用数据", {
    messageMetadata: required(json, "The data", "数据"),
  }),
  "data-loom-node": part(
    "A node run started or ended",
    "节点运行开始或结束",
    objectOf({
      name: required(string, "Name of the node", "节点名称"),
      state: required(oneOf("running", "done", "failed"), "State of the node run", "节点运行的状态"),
      parent: optional(string, "ID of the enclosing node run", "所属节点运行 ID"),
      error: optional(string, "Why it failed", "失败的原因"),
    }),
  ),
  "data-loom-superseded": part(
    "The text of this step so far no longer counts: the process died, and the node runs again",
    "该步骤此前的文本不再有效：进程异常退出，节点重新运行",
    objectOf({ node_id: required(string, "ID of the interrupted node run", "被中断的节点运行 ID") }),
  ),
  "data-loom-waiting": part(
    "The run waits for the user, and nothing else happens before an answer; not kept in the message",
    "运行正在等待用户，答复之前不会有其他进展；不保留在消息中",
    objectOf({ call_ids: required(listOf(string), "IDs of the tool calls that wait", "等待中的工具调用 ID") }),
  ),
  "data-loom-notice": part(
    "What the client has to know about its message, before the answer; not kept in the message. A server adds it to a response; it belongs to no record",
    "关于客户端所发消息的提示，先于回答发送；不保留在消息中。由服务器添加到响应，不属于任何记录",
    objectOf({
      code: required(
        oneOf("queued", "missed_messages", "new_version"),
        "`queued`: another run is live. `missed_messages`: the conversation has messages that the client does not show. `new_version`: the same, and the message began a new version without them",
        "`queued`：另一次运行正在进行。`missed_messages`：对话中有客户端未显示的消息。`new_version`：同上，且此消息开始了不含这些消息的新版本",
      ),
      message: required(string, "The same as a sentence", "同一内容的句子"),
    }),
  ),
  "data-loom-cancelled": part(
    "The run was cancelled",
    "运行已取消",
    objectOf({ reason: optional(string, "Why it was cancelled", "取消的原因") }),
  ),
  "data-loom-todo-list": part("A to-do list, with all changes so far", "待办清单，包含此前的全部修改"),
  "data-loom-todo-update": part("A change of a list that the stream does not have", "对流中未出现的清单的修改"),
  "data-loom-data": part("A table, a chart, an image or application data", "表格、图表、图片或应用数据"),
  "data-loom-custom": part("Application data", "应用数据"),
  "data-loom-usage": part("Tokens of a model call", "模型调用的 token 数"),
  "data-loom-error": part("An error that did not end the run", "未结束运行的错误"),
  "data-loom-tool-progress": part("Progress of a running tool", "工具的执行进度"),
  "data-loom-retrieval-complete": part("Documents were retrieved", "检索完成"),
  "data-loom-compression-applied": part("The context was compressed", "上下文已压缩"),
  "data-loom-tot-expand": part("Candidates of a tree of thoughts", "思维树的候选"),
  "data-loom-tot-evaluate": part("Scores of the candidates", "候选的评分"),
  "data-loom-tot-backtrack": part("The search went back", "搜索回溯"),
  "data-loom-got-plan": part("The plan of a graph of thoughts", "思维图的计划"),
  "data-loom-got-node-start": part("A thought started", "思维节点开始"),
  "data-loom-got-node-complete": part("A thought is complete", "思维节点完成"),
  "data-loom-got-node-failed": part("A thought failed", "思维节点失败"),
  "data-loom-got-expand": part("The plan was extended", "计划已扩展"),
  "data-loom-foreign": part("A frame of another dialect", "其他方言的帧"),
  "finish-step": chunk("A step ended", "步骤结束"),
  "reset-step": chunk("The parts of this step no longer count", "该步骤的部件不再有效"),
  error: chunk("The run failed", "运行失败", { errorText }),
  abort: chunk("The run was cancelled", "运行已取消", {
    reason: optional(string, "Why it was cancelled", "取消的原因"),
  }),
  finish: chunk("The message ended", "消息结束", {
    finishReason: optional(
      oneOf("stop", "length", "content-filter", "tool-calls", "error", "interrupted", "other"),
      "Why it ended",
      "结束的原因",
    ),
    messageMetadata: metadata,
  }),
} as const satisfies { readonly [type: string]: Shape };

export type AiSdkFrameType = keyof typeof AI_SDK_FRAMES;
