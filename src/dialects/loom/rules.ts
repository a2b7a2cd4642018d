/** Rules for streams of the `loom` dialect (000/001) that its decoder does not enforce. */
import type { RuleTable } from "../../protocol/index.ts";

export const LOOM_RULES = {
  "checkpoint-fields": {
    perFrame: true,
    level: "error",
    section: "001 §4.2",
    about: {
      en: "A checkpoint has no `thread_id` or no `checkpoint_ns` (empty for the root graph)",
      zh: "检查点缺少 `thread_id` 或 `checkpoint_ns`（根图为空字符串）",
    },
  },
} as const satisfies RuleTable;
