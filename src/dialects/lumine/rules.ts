/** Rules for streams of the `lumine` dialect (004). */
import type { RuleTable } from "../../protocol/rules.ts";

export const LUMINE_RULES = {
  "lumine-base-fields": { level: "error", section: "004 Base Fields", perFrame: true },
  "lumine-session-first": { level: "error", section: "004 §1" },
  "lumine-session-changed": { level: "error", section: "004 §1" },
  "lumine-after-done": { level: "error", section: "004 §3" },
  "lumine-new-request": { level: "error", section: "004 §3" },
  "lumine-bare-done": { level: "warning", section: "004 §3", perFrame: true },
  "lumine-error-null": { level: "warning", section: "004 §6", perFrame: true },
  "lumine-result-unstarted": { level: "warning", section: "004 §5" },
  "lumine-thoughts-mixed": { level: "warning", section: "004 §4" },
  "lumine-reply-limit": { level: "error", section: "004 §2" },
  "done-missing": { level: "error", section: "004 §3" },
} as const satisfies RuleTable;
