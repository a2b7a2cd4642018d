/** Rules for streams of the `engine` dialect (003). */
import type { RuleTable } from "../../protocol/rules.ts";

export const ENGINE_RULES = {
  "engine-start-first": { level: "error", section: "003 §1.1" },
  "engine-start-once": { level: "error", section: "003 §1.1" },
  "engine-after-end": { level: "error", section: "003 §1.1" },
  "engine-sequence": { level: "error", section: "003 §1.2" },
  "engine-metadata": { level: "error", section: "003 §1.2", perFrame: true },
  "engine-request-id": { level: "error", section: "003 §1.2", perFrame: true },
  "engine-error-field": { level: "error", section: "003 §1.3", perFrame: true },
  "engine-error-missing": { level: "warning", section: "003 §1.3", perFrame: true },
  "engine-error-code": { level: "warning", section: "003 §1.3" },
  "engine-end-unstarted": { level: "warning", section: "003 §1.1" },
  "engine-thoughts-mixed": { level: "warning", section: "003 §1.3" },
  "engine-legacy": { level: "warning", section: "003 §6", perFrame: true },
  "engine-reply-limit": { level: "error", section: "003 §1.1" },
  "session-end-missing": { level: "error", section: "003 §1.1" },
} as const satisfies RuleTable;
