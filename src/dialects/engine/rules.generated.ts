/**
 * Generated from the declarations by `npm run generate`; edit those instead.
 * How grave each rule is and which section it comes from.
 */
import type { GradeTable } from "../../protocol/rules.ts";

export const ENGINE_GRADES = {
  "engine-start-first": { level: "error", section: "003 §1.1" },
  "engine-start-once": { level: "error", section: "003 §1.1" },
  "engine-after-end": { level: "error", section: "003 §1.1" },
  "engine-sequence": { level: "error", section: "003 §1.2" },
  "engine-metadata": { level: "error", section: "003 §1.2", perFrame: true },
  "engine-request-id": { level: "error", section: "003 §1.2", perFrame: true },
  "engine-error-field": { level: "error", section: "003 §1.3", perFrame: true },
  "engine-error-missing": { level: "warning", section: "003 §1.3", perFrame: true },
  "engine-legacy": { level: "warning", section: "003 §6", perFrame: true },
  "engine-reply-limit": { level: "error", section: "003 §1.1" },
  "session-end-missing": { level: "error", section: "003 §1.1" },
} as const satisfies GradeTable;
