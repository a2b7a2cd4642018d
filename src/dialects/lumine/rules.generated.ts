/**
 * Generated from the declarations by `npm run generate`; edit those instead.
 * How grave each rule is and which section it comes from.
 */
import type { GradeTable } from "../../protocol/rules.ts";

export const LUMINE_GRADES = {
  "lumine-base-fields": { level: "error", section: "004 Base Fields", perFrame: true },
  "lumine-session-first": { level: "error", section: "004 §1" },
  "lumine-session-changed": { level: "error", section: "004 §1" },
  "lumine-after-done": { level: "error", section: "004 §3" },
  "lumine-new-request": { level: "error", section: "004 §3" },
  "lumine-bare-done": { level: "warning", section: "004 §3", perFrame: true },
  "lumine-error-null": { level: "warning", section: "004 §6", perFrame: true },
  "lumine-reply-limit": { level: "error", section: "004 §2" },
  "done-missing": { level: "error", section: "004 §3" },
} as const satisfies GradeTable;
