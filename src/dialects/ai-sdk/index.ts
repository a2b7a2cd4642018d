/** The `ai-sdk` dialect: UI message chunks, as `useChat` and other clients of the AI SDK read them. */
import type { Dialect } from "../dialect.ts";
import { AI_SDK_DECODING } from "./decode.ts";
import { AI_SDK_TABLE, createAiSdkEncoder } from "./encode.ts";
import { AI_SDK_FRAMES } from "./frames.ts";
import { AI_SDK_RULES } from "./rules.ts";

export const aiSdk: Dialect = {
  ...AI_SDK_DECODING,
  name: "ai-sdk",
  title: "UI message stream of the AI SDK",
  createEncoder: createAiSdkEncoder,
  options: ["version"],
  isStateful: true,
  carriesUnknown: false,
  carriesDeltas: false,
  ledger: AI_SDK_TABLE,
  rules: AI_SDK_RULES,
  unendedRule: { name: "ai-sdk-finish-missing", rule: AI_SDK_RULES["ai-sdk-finish-missing"] },
  ignoredRules: ["envelope-missing", "run-unended"],
  frames: AI_SDK_FRAMES,
};
