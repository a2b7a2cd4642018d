/** The `openai-responses` dialect: stream events of the Responses API, as the `openai` client reads them. */
import type { Dialect } from "../dialect.ts";
import { OPENAI_RESPONSES_DECODING } from "./decode.ts";
import { createOpenaiResponsesEncoder, OPENAI_RESPONSES_TABLE } from "./encode.ts";
import { OPENAI_RESPONSES_FRAMES } from "./frames.ts";
import { OPENAI_RESPONSES_RULES } from "./rules.ts";

export const openaiResponses: Dialect = {
  ...OPENAI_RESPONSES_DECODING,
  name: "openai-responses",
  title: "Stream events of the OpenAI Responses API",
  createEncoder: createOpenaiResponsesEncoder,
  options: [],
  isStateful: true,
  carriesUnknown: false,
  carriesDeltas: false,
  ledger: OPENAI_RESPONSES_TABLE,
  rules: OPENAI_RESPONSES_RULES,
  unendedRule: {
    name: "openai-responses-end-missing",
    rule: OPENAI_RESPONSES_RULES["openai-responses-end-missing"],
  },
  // A response may end with a call for the client, and its reply has no text of an attempt that was repeated.
  ignoredRules: ["envelope-missing", "run-unended", "tool-unanswered", "reply-text"],
  frames: OPENAI_RESPONSES_FRAMES,
};
