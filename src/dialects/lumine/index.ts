/** The `lumine` dialect (004): twelve base fields on every frame, `[DONE]` at the end. */
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
  folds: true,
  ledger: LUMINE_TABLE,
  rules: LUMINE_RULES,
  unended: { name: "done-missing", rule: LUMINE_RULES["done-missing"] },
  frames: LUMINE_FRAMES,
  unsaid: ["envelope-missing", "run-unended"],
};
