/** The `engine` dialect (003): `type`, `data`, `metadata`, with a sequence per request. */
import type { Dialect } from "../dialect.ts";
import { createEngineDecoder } from "./decode.ts";
import { createEngineEncoder, ENGINE_TABLE } from "./encode.ts";
import { findEngineFrameFault } from "./frames.generated.ts";
import { ENGINE_FRAMES } from "./frames.ts";
import { isLegacyType } from "./legacy.ts";
import { ENGINE_RULES } from "./rules.ts";

export const engine: Dialect = {
  name: "engine",
  title: "Streaming output protocol of the engine (003)",
  createDecoder: createEngineDecoder,
  createEncoder: createEngineEncoder,
  folds: true,
  ledger: ENGINE_TABLE,
  rules: ENGINE_RULES,
  unended: { name: "session-end-missing", rule: ENGINE_RULES["session-end-missing"] },
  frames: ENGINE_FRAMES,
  unsaid: ["envelope-missing", "run-unended"],
  claim(frame) {
    const { type, data, metadata } = frame;
    if (typeof type !== "string") return 0;
    if (Object.hasOwn(ENGINE_FRAMES, type) && typeof data === "object" && typeof metadata === "object") {
      return findEngineFrameFault(frame) === undefined ? 2 : 1;
    }
    return isLegacyType(type) || type === "thinking" || Object.hasOwn(ENGINE_FRAMES, type) ? 1 : 0;
  },
};
