/** The `engine` dialect (003): `type`, `data`, `metadata`, with a sequence per request. */
import type { Dialect } from "../dialect.ts";
import { ENGINE_DECODING } from "./decode.ts";
import { createEngineEncoder, ENGINE_TABLE } from "./encode.ts";
import { ENGINE_FRAMES } from "./frames.ts";
import { ENGINE_RULES } from "./rules.ts";

export const engine: Dialect = {
  ...ENGINE_DECODING,
  name: "engine",
  title: "Streaming output protocol of the engine (003)",
  createEncoder: createEngineEncoder,
  folds: true,
  ledger: ENGINE_TABLE,
  rules: ENGINE_RULES,
  unended: { name: "session-end-missing", rule: ENGINE_RULES["session-end-missing"] },
  frames: ENGINE_FRAMES,
  unsaid: ["envelope-missing", "run-unended"],
};
