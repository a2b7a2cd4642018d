/** Rules for streams of the `ag-ui` dialect: what the clients of AG-UI 1.0 and 0.0.59 refuse. */
import type { RuleTable } from "../../protocol/rules.ts";
import { createReporter } from "../frame-decoder.ts";

const section = "AG-UI 1.0";

export const AG_UI_RULES = {
  "ag-ui-type-unknown": { level: "warning", section, perFrame: true },
  "ag-ui-thinking": { level: "warning", section, perFrame: true },
  "ag-ui-null": { level: "error", section, perFrame: true },
  "ag-ui-started-first": { level: "error", section },
  "ag-ui-started-twice": { level: "error", section },
  "ag-ui-after-end": { level: "error", section },
  "ag-ui-open-at-end": { level: "error", section },
  "ag-ui-open-twice": { level: "error", section },
  "ag-ui-not-open": { level: "error", section },
  "ag-ui-subagent-again": { level: "error", section },
  "ag-ui-owner": { level: "error", section },
  "ag-ui-chunk-first": { level: "error", section },
  "ag-ui-interrupt-empty": { level: "error", section, perFrame: true },
  "ag-ui-delta-first": { level: "warning", section },
  "ag-ui-patch": { level: "error", section },
  "ag-ui-text-limit": { level: "error", section },
  "ag-ui-end-missing": { level: "warning", section },
} as const satisfies RuleTable;

/** Adds an issue for one of these rules. */
export const report = /* @__PURE__ */ createReporter(AG_UI_RULES);
