/** Rules for streams of the `stream-event` dialect (002). */
import type { RuleTable } from "../../protocol/rules.ts";

export const STREAM_EVENT_RULES = {
  "request-start-first": { level: "warning", section: "002" },
  "request-start-early": { level: "error", section: "002" },
  "after-agent-finish": { level: "error", section: "002" },
  "source-changed": { level: "error", section: "002" },
  "request-id-changed": { level: "error", section: "002" },
  "ts-backwards": { level: "warning", section: "002" },
  "agent-finish-missing": { level: "warning", section: "002" },
} as const satisfies RuleTable;
