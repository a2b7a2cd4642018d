/** All dialects by name, with detection, conversion and checking of streams. */
import { detectDecoder } from "./decoders.ts";
import type { Dialect } from "./dialect.ts";
import { DIALECTS } from "./dialects.ts";

/** Detects the dialect from the first frames of a stream; undefined if no dialect matches. */
export function detectDialect(texts: readonly string[]): Dialect | undefined {
  const name = detectDecoder(texts);
  return name === undefined ? undefined : DIALECTS[name];
}

export { DIALECTS } from "./dialects.ts";
export { DECODERS } from "./decoders.ts";
export {
  type Decoded,
  type Decoder,
  type Decoders,
  type Decoding,
  type Dialect,
  DIALECT_NAMES,
  type DialectName,
  type Encoder,
  type EncoderOptions,
  isDialectName,
} from "./dialect.ts";
export type { DialectFrames, LoomFrame } from "./dialect-frames.ts";
export type { AgUiFrame } from "./ag-ui/frames.generated.ts";
export type { AiSdkFrame } from "./ai-sdk/frames.generated.ts";
export type { EngineFrame } from "./engine/frames.generated.ts";
export type { LegacyEngineFrame } from "./engine/legacy.ts";
export type { LumineFrame } from "./lumine/frames.generated.ts";
export type { OpenaiChatFrame } from "./openai-chat/frames.generated.ts";
export type { OpenaiResponsesFrame } from "./openai-responses/frames.generated.ts";
export type { StreamEventFrame } from "./stream-event/frames.generated.ts";
export type { LedgerEntry } from "./ledger.ts";
export { type CheckedFrame, type CheckOptions, createStreamCheck, type StreamCheck } from "./check-stream.ts";
export { type Converted, type ConvertOptions, createStreamConverter, type StreamConverter } from "./convert-stream.ts";
export { LOOM_DECODING } from "./loom/decode.ts";
export { createStamper } from "./stamp.ts";
export { dialectSchemas } from "./schemas.ts";
