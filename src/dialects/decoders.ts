/**
 * The decoders of all dialects, for receivers. Imports no encoder, no declarations and no documentation, so that pages
 * stay small; a test checks the imports.
 */
import type { JsonObject } from "../protocol/json.ts";
import { detectAmong } from "./detect.ts";
import type { Decoding, DialectName } from "./dialect.ts";
import { AG_UI_DECODING } from "./ag-ui/decode.ts";
import { AI_SDK_DECODING } from "./ai-sdk/decode.ts";
import { ENGINE_DECODING } from "./engine/decode.ts";
import { EXPORT_DECODING } from "./export/decode.ts";
import { LOOM_DECODING } from "./loom/decode.ts";
import { LUMINE_DECODING } from "./lumine/decode.ts";
import { OPENAI_CHAT_DECODING } from "./openai-chat/decode.ts";
import { OPENAI_RESPONSES_DECODING } from "./openai-responses/decode.ts";
import { STREAM_EVENT_DECODING } from "./stream-event/decode.ts";

/**
 * All decoders by dialect name, in order of detection: in a tie the first wins. `loom` is last because it allows
 * additional fields, so the other dialect is more likely.
 */
export const DECODERS: { readonly [N in DialectName]: Decoding } = {
  export: EXPORT_DECODING,
  engine: ENGINE_DECODING,
  lumine: LUMINE_DECODING,
  "stream-event": STREAM_EVENT_DECODING,
  "ai-sdk": AI_SDK_DECODING,
  "ag-ui": AG_UI_DECODING,
  "openai-responses": OPENAI_RESPONSES_DECODING,
  "openai-chat": OPENAI_CHAT_DECODING,
  loom: LOOM_DECODING,
};

/** Detects the dialect of a stream from its first frames, as strings or parsed; undefined if no dialect matches. */
export function detectDecoder(frames: readonly (string | JsonObject)[]): DialectName | undefined {
  return detectAmong(frames, DECODERS);
}
