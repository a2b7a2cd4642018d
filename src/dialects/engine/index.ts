/** The `engine` dialect (003): `type`, `data` and `metadata`, with a sequence number per request. */
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
  options: ["debug", "timestamps"],
  isStateful: true,
  carriesUnknown: false,
  carriesDeltas: false,
  ledger: ENGINE_TABLE,
  rules: ENGINE_RULES,
  unendedRule: { name: "session-end-missing", rule: ENGINE_RULES["session-end-missing"] },
  frames: ENGINE_FRAMES,
  ignoredRules: ["envelope-missing", "run-unended"],
};
