/** Rules for streams of the `openai-chat` dialect: what the `openai` client does not accept. */
import type { RuleTable } from "../../protocol/index.ts";

const section = "Chat Completions API";

export const OPENAI_CHAT_RULES = {
  "openai-chat-role-missing": {
    level: "error",
    section,
    about: {
      en: "A message ends without a `role`; the client's stream helper rejects it",
      zh: "消息结束时没有 `role`，客户端的流式辅助函数会拒绝",
    },
  },
  "openai-chat-call-incomplete": {
    level: "error",
    section,
    about: {
      en: "A message ends with a tool call without `id`, `type` or name; the client's stream helper rejects it",
      zh: "消息结束时有工具调用缺少 `id`、`type` 或名称，客户端的流式辅助函数会拒绝",
    },
  },
  "openai-chat-index-limit": {
    level: "error",
    section,
    about: {
      en: "A choice or a tool call has an index of 128 or more; the client stops there",
      zh: "候选或工具调用的 index 不小于 128，客户端会在此终止",
    },
  },
  "openai-chat-id-changed": {
    level: "warning",
    section,
    about: { en: "The ID of the message changes before it ends", zh: "消息结束之前 ID 发生变化" },
  },
  "openai-chat-after-finish": {
    level: "error",
    section,
    about: { en: "Content follows the `finish_reason` of its message", zh: "`finish_reason` 之后仍有内容" },
  },
  "openai-chat-reply-limit": {
    level: "error",
    section,
    about: { en: "The answer is too long to be kept for the reply", zh: "回答过长，无法完整保留为回复" },
  },
  "openai-chat-finish-missing": {
    level: "warning",
    section,
    about: {
      en: "The stream ended before `finish_reason`; the client's stream helper rejects it",
      zh: "流在 `finish_reason` 之前结束，客户端的流式辅助函数会拒绝",
    },
  },
} as const satisfies RuleTable;
