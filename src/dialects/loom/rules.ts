/** Rules for streams of the `loom` dialect (000/001) that its decoder does not enforce. */
import type { RuleTable } from "../../protocol/rules.ts";

export const LOOM_RULES = {
  "checkpoint-fields": { level: "error", section: "001 §4.2", perFrame: true },
} as const satisfies RuleTable;
