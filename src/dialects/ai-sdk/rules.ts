/** Rules for streams of the `ai-sdk` dialect: what its clients do not accept. */
import type { RuleTable } from "../../protocol/rules.ts";

export const AI_SDK_RULES = {
  "ai-sdk-start-first": { level: "warning", section: "AI SDK 7" },
  "ai-sdk-start-once": { level: "warning", section: "AI SDK 7" },
  "ai-sdk-after-finish": { level: "error", section: "AI SDK 7" },
  "ai-sdk-part-unknown": { level: "error", section: "AI SDK 7" },
  "ai-sdk-call-unknown": { level: "error", section: "AI SDK 7" },
  "ai-sdk-reply-limit": { level: "error", section: "AI SDK 7" },
  "ai-sdk-finish-missing": { level: "warning", section: "AI SDK 7" },
} as const satisfies RuleTable;
