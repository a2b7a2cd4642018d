/** Rules for streams of the `lumine` dialect (004). */
import type { RuleTable } from "../../protocol/index.ts";

export const LUMINE_RULES = {
  "lumine-base-fields": {
    perFrame: true,
    level: "error",
    section: "004 Base Fields",
    about: { en: "A frame lacks one or more of the twelve base fields", zh: "帧缺少十二个基本字段中的一个或多个" },
  },
  "lumine-session-first": {
    level: "error",
    section: "004 §1",
    about: { en: "A request does not start with a `session_id` frame", zh: "请求没有以 `session_id` 帧开始" },
  },
  "lumine-session-changed": {
    level: "error",
    section: "004 §1",
    about: { en: "A frame names a different session than the stream", zh: "帧的会话 ID 与流的会话 ID 不同" },
  },
  "lumine-after-done": {
    level: "error",
    section: "004 §3",
    about: { en: "A frame follows `[DONE]`", zh: "在 `[DONE]` 之后仍有帧" },
  },
  "lumine-new-request": {
    level: "error",
    section: "004 §3",
    about: {
      en: "A request starts before the `[DONE]` of the previous one",
      zh: "上一个请求的 `[DONE]` 之前，新的请求就开始了",
    },
  },
  "lumine-bare-done": {
    perFrame: true,
    level: "warning",
    section: "004 §3",
    about: {
      en: "`[DONE]` is sent as plain text instead of in a chunk frame",
      zh: "`[DONE]` 以纯文本而不是 `chunk` 帧发送",
    },
  },
  "lumine-error-null": {
    perFrame: true,
    level: "warning",
    section: "004 §6",
    about: { en: "A failed tool call has no error message", zh: "失败的工具调用没有错误信息" },
  },
  "lumine-result-unstarted": {
    level: "warning",
    section: "004 §5",
    about: {
      en: "A `tool_result` has no running `tool_use` before it",
      zh: "`tool_result` 之前没有状态为 `running` 的 `tool_use`",
    },
  },
  "lumine-thoughts-mixed": {
    level: "warning",
    section: "004 §4",
    about: {
      en: "Pieces of several thoughts are mixed in one reasoning text",
      zh: "多个想法的片段混在同一段推理文本中",
    },
  },
  "lumine-reply-limit": {
    level: "error",
    section: "004 §2",
    about: { en: "The answer is longer than the decoder can store", zh: "回答超过解码器可保存的长度" },
  },
  "done-missing": {
    level: "error",
    section: "004 §3",
    about: { en: "The stream ended before `[DONE]`", zh: "流在 `[DONE]` 之前结束" },
  },
} as const satisfies RuleTable;
