/** Rules for streams of the `ai-sdk` dialect: what its clients do not accept. */
import type { RuleTable } from "../../protocol/index.ts";

export const AI_SDK_RULES = {
  "ai-sdk-start-first": {
    level: "warning",
    section: "AI SDK 7",
    about: { en: "A message does not start with `start`", zh: "消息没有以 `start` 开始" },
  },
  "ai-sdk-start-once": {
    level: "warning",
    section: "AI SDK 7",
    about: { en: "A message has a second `start`", zh: "消息出现第二个 `start`" },
  },
  "ai-sdk-after-finish": {
    level: "error",
    section: "AI SDK 7",
    about: { en: "A chunk follows the end of its message", zh: "消息结束之后仍有数据块" },
  },
  "ai-sdk-part-unknown": {
    level: "error",
    section: "AI SDK 7",
    about: {
      en: "A chunk names a text or reasoning part that is not open; clients stop there",
      zh: "数据块引用了未打开的文本或推理部件，客户端会在此终止",
    },
  },
  "ai-sdk-call-unknown": {
    level: "error",
    section: "AI SDK 7",
    about: {
      en: "A chunk names a tool call or an approval that was not sent; clients stop there",
      zh: "数据块引用了未发送的工具调用或审批，客户端会在此终止",
    },
  },
  "ai-sdk-reply-limit": {
    level: "error",
    section: "AI SDK 7",
    about: { en: "The answer is too long to be kept for the reply", zh: "回答过长，无法完整保留为回复" },
  },
  "ai-sdk-finish-missing": {
    level: "warning",
    section: "AI SDK 7",
    about: { en: "The stream ended before `finish`", zh: "流在 `finish` 之前结束" },
  },
} as const satisfies RuleTable;
