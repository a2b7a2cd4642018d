/** The `openai-chat` dialect: chunks of the Chat Completions API, as the `openai` client and many others read them. */
import type { Dialect } from "../dialect.ts";
import { OPENAI_CHAT_DECODING } from "./decode.ts";
import { createOpenaiChatEncoder, OPENAI_CHAT_TABLE } from "./encode.ts";
import { OPENAI_CHAT_FRAMES } from "./frames.ts";
import { OPENAI_CHAT_RULES } from "./rules.ts";

export const openaiChat: Dialect = {
  ...OPENAI_CHAT_DECODING,
  name: "openai-chat",
  title: "Chunks of the OpenAI Chat Completions API",
  createEncoder: createOpenaiChatEncoder,
  options: [],
  isStateful: true,
  carriesUnknown: false,
  carriesDeltas: false,
  ledger: OPENAI_CHAT_TABLE,
  rules: OPENAI_CHAT_RULES,
  unendedRule: { name: "openai-chat-finish-missing", rule: OPENAI_CHAT_RULES["openai-chat-finish-missing"] },
  // A message may end with calls for the client, and its reply has no text of an attempt that was repeated.
  ignoredRules: ["envelope-missing", "run-unended", "tool-unanswered", "reply-text"],
  frames: OPENAI_CHAT_FRAMES,
};
