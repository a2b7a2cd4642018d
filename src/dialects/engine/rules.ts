/** What a stream of 003 can break beyond the rules every stream shares. */
import type { RuleTable } from "../../protocol/index.ts";

export const ENGINE_RULES = {
  "engine-start-first": {
    level: "error",
    section: "003 §1.1",
    about: { en: "A request does not begin with session_start", zh: "请求未以 session_start 开始" },
  },
  "engine-start-once": {
    level: "error",
    section: "003 §1.1",
    about: { en: "A request has a second session_start", zh: "请求出现第二个 session_start" },
  },
  "engine-after-end": {
    level: "error",
    section: "003 §1.1",
    about: { en: "A message of a request comes after its session_end", zh: "session_end 之后仍有该请求的消息" },
  },
  "engine-sequence": {
    level: "error",
    section: "003 §1.2",
    about: { en: "metadata.sequence does not grow by 1 from 0", zh: "metadata.sequence 未从 0 起逐一递增" },
  },
  "engine-metadata": {
    perFrame: true,
    level: "error",
    section: "003 §1.2",
    about: { en: "A field of metadata is missing or wrong", zh: "metadata 缺字段或类型错误" },
  },
  "engine-request-id": {
    perFrame: true,
    level: "error",
    section: "003 §1.2",
    about: { en: "session_start names two different requests", zh: "session_start 的两个 request_id 不一致" },
  },
  "engine-error-field": {
    perFrame: true,
    level: "error",
    section: "003 §1.3",
    about: { en: "A tool that succeeded carries an error", zh: "成功的工具调用带有 error" },
  },
  "engine-error-missing": {
    perFrame: true,
    level: "warning",
    section: "003 §1.3",
    about: { en: "A tool that failed does not say why", zh: "失败的工具调用未说明原因" },
  },
  "engine-legacy": {
    perFrame: true,
    level: "warning",
    section: "003 §6",
    about: { en: "A message has a form kept for old senders", zh: "消息为旧格式" },
  },
  "engine-reply-limit": {
    level: "error",
    section: "003 §1.1",
    about: { en: "The answer is longer than can be held", zh: "答案超过可保存的长度" },
  },
  "session-end-missing": {
    level: "error",
    section: "003 §1.1",
    about: { en: "The stream was cut: no session_end", zh: "流被截断：缺少 session_end" },
  },
} as const satisfies RuleTable;
