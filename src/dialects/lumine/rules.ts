/** What a stream of 004 can break beyond the rules every stream shares. */
import type { RuleTable } from "../../protocol/index.ts";

export const LUMINE_RULES = {
  "lumine-base-fields": {
    perFrame: true,
    level: "error",
    section: "004 Base Fields",
    about: { en: "A frame lacks one of the twelve base fields", zh: "帧缺少十二个基础字段之一" },
  },
  "lumine-session-first": {
    level: "error",
    section: "004 §1",
    about: { en: "A request is not opened by a session_id frame", zh: "请求未以 session_id 帧开始" },
  },
  "lumine-session-changed": {
    level: "error",
    section: "004 §1",
    about: { en: "A frame names another session than the stream's", zh: "帧的 session_id 与流不一致" },
  },
  "lumine-after-done": {
    level: "error",
    section: "004 §3",
    about: { en: "A frame comes after [DONE]", zh: "[DONE] 之后仍有帧" },
  },
  "lumine-new-request": {
    level: "error",
    section: "004 §3",
    about: { en: "A new request is answered before the last one's [DONE]", zh: "上一请求的 [DONE] 之前开始了新请求" },
  },
  "lumine-bare-done": {
    perFrame: true,
    level: "warning",
    section: "004 §3",
    about: { en: "[DONE] came as bare text instead of a chunk frame", zh: "[DONE] 以裸文本而非 chunk 帧发送" },
  },
  "lumine-error-null": {
    perFrame: true,
    level: "warning",
    section: "004 §6",
    about: { en: "A tool failed and `error` does not say why", zh: "工具失败但未说明原因" },
  },
  "lumine-reply-limit": {
    level: "error",
    section: "004 §2",
    about: { en: "The answer is longer than can be held", zh: "答案超过可保存的长度" },
  },
  "done-missing": {
    level: "error",
    section: "004 §3",
    about: { en: "The stream was cut: no [DONE]", zh: "流被截断：缺少 [DONE]" },
  },
} as const satisfies RuleTable;
