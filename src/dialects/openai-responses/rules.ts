/** Rules for streams of the `openai-responses` dialect: what the `openai` client does not accept. */
import type { RuleTable } from "../../protocol/rules.ts";

const section = "Responses API";

export const OPENAI_RESPONSES_RULES = {
  "openai-responses-created-first": { level: "error", section },
  "openai-responses-id-changed": { level: "error", section },
  "openai-responses-after-end": { level: "error", section },
  "openai-responses-sequence": { level: "warning", section },
  "openai-responses-item-unknown": { level: "error", section },
  "openai-responses-item-repeated": { level: "error", section },
  "openai-responses-item-open": { level: "error", section },
  "openai-responses-type-unknown": { level: "warning", section },
  "openai-responses-reply-limit": { level: "error", section },
  "openai-responses-end-missing": { level: "warning", section },
} as const satisfies RuleTable;
