/** The `ag-ui` dialect: the events of AG-UI, as `HttpAgent`, TanStack AI and other clients read them. */
import type { Dialect } from "../dialect.ts";
import { AG_UI_DECODING } from "./decode.ts";
import { AG_UI_TABLE, createAgUiEncoder } from "./encode.ts";
import { AG_UI_FRAMES } from "./frames.ts";
import { AG_UI_RULES } from "./rules.ts";

export const agUi: Dialect = {
  ...AG_UI_DECODING,
  name: "ag-ui",
  title: "Events of AG-UI",
  createEncoder: createAgUiEncoder,
  options: ["legacy"],
  isStateful: true,
  carriesUnknown: false,
  carriesDeltas: true,
  ledger: AG_UI_TABLE,
  rules: AG_UI_RULES,
  unendedRule: { name: "ag-ui-end-missing", rule: AG_UI_RULES["ag-ui-end-missing"] },
  // Clients carry out calls without a result, so a run may end with them.
  ignoredRules: ["envelope-missing", "run-unended", "tool-unanswered"],
  frames: AG_UI_FRAMES,
};
