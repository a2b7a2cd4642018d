/** Rules for streams of the `engine` dialect (003). */
import type { RuleTable } from "../../protocol/index.ts";

export const ENGINE_RULES = {
  "engine-start-first": {
    level: "error",
    section: "003 §1.1",
    about: { en: "A request does not start with `session_start`", zh: "请求没有以 `session_start` 开始" },
  },
  "engine-start-once": {
    level: "error",
    section: "003 §1.1",
    about: { en: "A request has a second `session_start`", zh: "请求出现第二个 `session_start`" },
  },
  "engine-after-end": {
    level: "error",
    section: "003 §1.1",
    about: { en: "A message follows the `session_end` of its request", zh: "在 `session_end` 之后仍有该请求的消息" },
  },
  "engine-sequence": {
    level: "error",
    section: "003 §1.2",
    about: {
      en: "`metadata.sequence` does not start at 0 or does not increase by 1",
      zh: "`metadata.sequence` 没有从 0 开始逐一递增",
    },
  },
  "engine-metadata": {
    perFrame: true,
    level: "error",
    section: "003 §1.2",
    about: { en: "A field of `metadata` is missing or invalid", zh: "`metadata` 的字段缺失或无效" },
  },
  "engine-request-id": {
    perFrame: true,
    level: "error",
    section: "003 §1.2",
    about: { en: "`session_start` has two different request IDs", zh: "`session_start` 中的两个 `request_id` 不同" },
  },
  "engine-error-field": {
    perFrame: true,
    level: "error",
    section: "003 §1.3",
    about: { en: "A successful tool call has an error", zh: "成功的工具调用带有 `error`" },
  },
  "engine-error-missing": {
    perFrame: true,
    level: "warning",
    section: "003 §1.3",
    about: { en: "A failed tool call has no error message", zh: "失败的工具调用没有错误信息" },
  },
  "engine-error-code": {
    level: "warning",
    section: "003 §1.3",
    about: { en: "A failed tool call has no error code", zh: "失败的工具调用没有错误代码" },
  },
  "engine-end-unstarted": {
    level: "warning",
    section: "003 §1.1",
    about: {
      en: "A `tool_call_end` has no `tool_call_start` before it",
      zh: "`tool_call_end` 之前没有 `tool_call_start`",
    },
  },
  "engine-thoughts-mixed": {
    level: "warning",
    section: "003 §1.3",
    about: {
      en: "Pieces of several thoughts are mixed in one thinking text",
      zh: "多个想法的片段混在同一段思考文本中",
    },
  },
  "engine-legacy": {
    perFrame: true,
    level: "warning",
    section: "003 §6",
    about: { en: "A message is in the legacy form", zh: "消息使用旧格式" },
  },
  "engine-reply-limit": {
    level: "error",
    section: "003 §1.1",
    about: { en: "The answer is longer than the decoder can store", zh: "回答超过解码器可保存的长度" },
  },
  "session-end-missing": {
    level: "error",
    section: "003 §1.1",
    about: { en: "The stream ended before `session_end`", zh: "流在 `session_end` 之前结束" },
  },
} as const satisfies RuleTable;
