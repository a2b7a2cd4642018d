/** Rules for streams of the `openai-chat` dialect: what the `openai` client does not accept. */
import type { RuleTable } from "../../protocol/rules.ts";

const section = "Chat Completions API";

export const OPENAI_CHAT_RULES = {
  "openai-chat-role-missing": { level: "error", section },
  "openai-chat-call-incomplete": { level: "error", section },
  "openai-chat-index-limit": { level: "error", section },
  "openai-chat-id-changed": { level: "warning", section },
  "openai-chat-after-finish": { level: "error", section },
  "openai-chat-reply-limit": { level: "error", section },
  "openai-chat-finish-missing": { level: "warning", section },
} as const satisfies RuleTable;
