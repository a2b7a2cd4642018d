/** The frames of 004, declared once. All twelve base fields are on every frame; what a type does not use is null. */
import {
  additional,
  boolean,
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

/** The twelve base fields, `type` among them as the tag. */
const BASE: { readonly [name: string]: Field } = {
  id: required(string, "Id of the frame; chunks of one message share one", "帧 ID；同一消息的 chunk 共享"),
  role: required(oneOf("assistant"), "Always assistant", "固定为 assistant"),
  session_id: required(string, "Id of the session", "会话 ID"),
  conversation_id: required(text, "Id of the conversation", "对话 ID"),
  tool_use_id: required(text, "Id of the tool call", "工具调用 ID"),
  content: required(text, "Text", "文本内容"),
  toolName: required(text, "Name of the tool", "工具名"),
  args: required(nullable(map), "Arguments of the tool", "工具参数"),
  result: required(nullable(json), "Result of the tool", "工具结果"),
  status: required(text, "State of what the frame is about", "状态"),
  error: required(text, "What went wrong", "错误信息"),
};

function frame(section: string, en: string, zh: string, fields: Shape["fields"]): Shape {
  return { section, about: { en, zh }, fields: { ...BASE, ...fields } };
}

const tool_use_id = required(string, "Id of the tool call", "工具调用 ID");
const toolName = required(string, "Name of the tool", "工具名");
const list_id = required(string, "Id of the list", "清单 ID");

export const LUMINE_FRAMES = {
  session_id: frame("004 §1", "Which session this is; always first", "会话初始化，必须为首帧", {}),
  chunk: frame("004 §2", "A piece of the answer; `[DONE]` ends the request", "流式文本；[DONE] 表示结束", {
    content: required(string, "The piece", "文本片段"),
  }),
  reasoning: frame("004 §4", "A piece of the model's thinking", "思考过程", {
    content: required(string, "The piece", "思考内容"),
    status: required(oneOf("thinking", "done"), "done ends it", "done 表示思考结束"),
  }),
  tool_use: frame("004 §5", "A tool is being called", "发起工具调用", {
    tool_use_id,
    toolName,
    args: required(map, "The arguments", "参数"),
    status: required(openSet("running", "awaiting_approval"), "running, or waiting for consent", "running 或等待确认"),
  }),
  tool_result: frame("004 §6", "What a tool returned", "工具执行结果", {
    tool_use_id,
    toolName,
    status: required(oneOf("completed", "error"), "How it ended", "结束状态"),
    code: additional(string, "Code of the failure", "错误代码"),
  }),
  todo_list: frame("004 §7", "A to-do list", "创建待办清单", {
    list_id,
    title: optional(string, "Its title", "标题"),
    items: EVENTS.todo_list.fields.items,
  }),
  todo_update: frame("004 §8", "One item changed", "更新单个条目", {
    list_id,
    item_id: required(string, "Id of the item", "条目 ID"),
    completed: optional(boolean, "Whether it is done; null: unchanged", "是否完成；null 为不变"),
    text: optional(string, "New text; null: unchanged", "新内容；null 为不变"),
  }),
  image: frame("004 §9", "An image", "图片", {
    url: required(string, "Where it is", "图片地址"),
    mediaType: optional(string, "E.g. image/png", "如 image/png"),
    alt: optional(string, "What it shows, in words", "替代文本"),
  }),
  error: frame("004 §10", "An error banner", "错误信息", {
    error: required(string, "What went wrong", "错误信息"),
    code: optional(string, "Code of the error", "错误代码"),
  }),
} as const satisfies { readonly [type: string]: Shape };

export type LumineFrameType = keyof typeof LUMINE_FRAMES;
