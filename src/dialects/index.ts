/** All dialects by name, with detection, conversion and checking of streams. */
import { agUi } from "./ag-ui/index.ts";
import { aiSdk } from "./ai-sdk/index.ts";
import { detectDecoder } from "./decoders.ts";
import type { Dialect, DialectName } from "./dialect.ts";
import { engine } from "./engine/index.ts";
import { exportDialect } from "./export/index.ts";
import { loom } from "./loom/index.ts";
import { lumine } from "./lumine/index.ts";
import { openaiChat } from "./openai-chat/index.ts";
import { openaiResponses } from "./openai-responses/index.ts";
import { streamEvent } from "./stream-event/index.ts";

/** All dialects by name. */
export const DIALECTS: { readonly [N in DialectName]: Dialect } = {
  loom,
  export: exportDialect,
  engine,
  lumine,
  "stream-event": streamEvent,
  "ai-sdk": aiSdk,
  "ag-ui": agUi,
  "openai-responses": openaiResponses,
  "openai-chat": openaiChat,
};

/**
 * Detects the dialect from the first frames of a stream; undefined if no dialect matches.
 *
 * ```ts
 * detectDialect(['{"type":"run_start","run_id":"r1"}'])?.name; // "loom"
 * ```
 */
export function detectDialect(texts: readonly string[]): Dialect | undefined {
  const name = detectDecoder(texts);
  return name === undefined ? undefined : DIALECTS[name];
}

export {
  type Decoder,
  type Dialect,
  DIALECT_NAMES,
  type DialectName,
  type Encoder,
  type EncoderOptions,
} from "./dialect.ts";
export type { DialectFrames } from "./dialect-frames.ts";
export { createStreamCheck, type StreamCheck } from "./check-stream.ts";
export { createStreamConverter, type StreamConverter } from "./convert-stream.ts";
export { createStamper } from "./stamp.ts";
