/** Declares the frames of 004. Every frame has all twelve base fields; those that its type does not use are null. */
import {
  additional,
  boolean,
  count,
  type Field,
  json,
  map,
  nullable,
  oneOf,
  openSet,
  optional,
  required,
  type Shape,
  string,
} from "../../protocol/schema.ts";
import { EVENTS } from "../../protocol/events/index.ts";

const text = nullable(string);

/** The base fields without `type`, which is the tag. */
const BASE: { readonly [name: string]: Field } = {
  id: required(string, "ID of the frame; chunks of one message share an ID", "帧 ID；同一消息的各段使用相同的 ID"),
  role: required(oneOf("assistant"), "Always `assistant`", "固定为 `assistant`"),
  session_id: required(string, "ID of the session", "会话 ID"),
  conversation_id: required(text, "ID of the conversation", "对话 ID"),
  tool_use_id: required(text, "ID of the tool call", "工具调用 ID"),
  content: required(text, "Text", "文本内容"),
  toolName: required(text, "Name of the tool", "工具名"),
  args: required(nullable(map), "Arguments of the tool call", "工具调用参数"),
  result: required(nullable(json), "Result of the tool", "工具返回的结果"),
  status: required(text, "Status; its values depend on the type", "状态，取值取决于类型"),
  error: required(text, "Error message", "错误信息"),
};

function frame(section: string, en: string, zh: string, fields: Shape["fields"]): Shape {
  return { section, about: { en, zh }, fields: { ...BASE, ...fields } };
}

const tool_use_id = required(string, "ID of the tool call", "工具调用 ID");
const detail = additional(
  string,
  "Original message, if `error` is a translation or a text for users",
  "原始错误信息；`error` 为译文或面向用户的文本时提供",
);
const toolName = required(string, "Name of the tool", "工具名");
const list_id = required(string, "ID of the list", "清单 ID");

export const LUMINE_FRAMES = {
  session_id: frame("004 §1", "Names the session; always the first frame", "给出会话 ID，始终是第一帧", {}),
  chunk: frame("004 §2", "A chunk of the answer; `[DONE]` ends the request", "回答的一段文本；`[DONE]` 表示请求结束", {
    content: required(string, "Text of the chunk", "文本内容"),
  }),
  reasoning: frame("004 §4", "A chunk of the model's reasoning", "模型推理过程的一段文本", {
    content: required(string, "Text of the chunk", "文本内容"),
    status: required(oneOf("thinking", "done"), "`done` on the last chunk", "最后一段为 `done`"),
  }),
  tool_use: frame("004 §5", "A tool is called", "调用工具", {
    tool_use_id,
    toolName,
    args: required(map, "Arguments of the call", "调用参数"),
    status: required(
      openSet("running", "awaiting_approval"),
      "`running`, or `awaiting_approval` while the call waits for the user",
      "执行中为 `running`，等待用户审批时为 `awaiting_approval`",
    ),
    code: additional(
      string,
      "Why the call is not executed, if the user was asked and refused it; its `tool_result` follows",
      "询问用户后被拒绝的调用不会执行，此为其原因；随后是 `tool_result`",
    ),
  }),
  tool_result: frame("004 §6", "A tool call ended", "工具调用结束", {
    tool_use_id,
    toolName,
    status: required(oneOf("completed", "error"), "How it ended", "结束状态"),
    code: additional(string, "Error code", "错误码"),
    detail,
  }),
  todo_list: frame("004 §7", "A to-do list", "待办清单", {
    list_id,
    title: optional(string, "Title of the list", "清单标题"),
    items: EVENTS.todo_list.fields.items,
  }),
  todo_update: frame("004 §8", "An item of a to-do list changed", "待办清单中的一个条目发生变化", {
    list_id,
    item_id: required(string, "ID of the item", "条目 ID"),
    completed: optional(boolean, "New state; unchanged if null", "新状态；为 null 时不变"),
    text: optional(string, "New text; unchanged if null", "新内容；为 null 时不变"),
  }),
  image: frame("004 §9", "An image", "图片", {
    url: required(string, "URL of the image", "图片 URL"),
    mediaType: optional(string, "Media type, such as `image/png`", "媒体类型，如 `image/png`"),
    alt: optional(string, "Alternative text", "替代文本"),
  }),
  error: frame("004 §10", "An error occurred", "发生错误", {
    error: required(string, "Error message", "错误信息"),
    code: optional(string, "Error code", "错误码"),
    attempt: additional(
      count,
      "With code `interrupted`: the run continues with this attempt, from 2",
      "错误码为 `interrupted` 时：运行以第几次尝试继续，从 2 开始",
    ),
    detail,
  }),
} as const satisfies { readonly [type: string]: Shape };

export type LumineFrameType = keyof typeof LUMINE_FRAMES;
