/** The `lumine` dialect (004): twelve base fields on every frame, and `[DONE]` at the end of each request. */
import type { Dialect } from "../dialect.ts";
import { LUMINE_DECODING } from "./decode.ts";
import { createLumineEncoder, LUMINE_TABLE } from "./encode.ts";
import { LUMINE_FRAMES } from "./frames.ts";
import { LUMINE_RULES } from "./rules.ts";

export const lumine: Dialect = {
  ...LUMINE_DECODING,
  name: "lumine",
  title: "Lumine WebSocket messages (004)",
  createEncoder: createLumineEncoder,
  options: ["follow"],
  isStateful: true,
  carriesUnknown: false,
  carriesDeltas: false,
  ledger: LUMINE_TABLE,
  rules: LUMINE_RULES,
  unendedRule: { name: "done-missing", rule: LUMINE_RULES["done-missing"] },
  frames: LUMINE_FRAMES,
  ignoredRules: ["envelope-missing", "run-unended"],
};
