/** The `lumine` dialect (004): twelve base fields on every frame, `[DONE]` at the end. */
import type { Dialect } from "../dialect.ts";
import { createLumineDecoder } from "./decode.ts";
import { createLumineEncoder, LUMINE_TABLE } from "./encode.ts";
import { findLumineFrameFault } from "./frames.generated.ts";
import { LUMINE_FRAMES } from "./frames.ts";
import { LUMINE_RULES } from "./rules.ts";

export const lumine: Dialect = {
  name: "lumine",
  title: "Lumine WebSocket messages (004)",
  createDecoder: createLumineDecoder,
  createEncoder: createLumineEncoder,
  folds: true,
  ledger: LUMINE_TABLE,
  rules: LUMINE_RULES,
  unended: { name: "done-missing", rule: LUMINE_RULES["done-missing"] },
  frames: LUMINE_FRAMES,
  unsaid: ["envelope-missing", "run-unended"],
  claim(frame) {
    const { type } = frame;
    if (typeof type !== "string" || !Object.hasOwn(LUMINE_FRAMES, type)) return 0;
    if (!("role" in frame) && !("conversation_id" in frame)) return 1;
    return findLumineFrameFault(frame) === undefined ? 2 : 1;
  },
};
