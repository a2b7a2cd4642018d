/** All dialects by name, with detection, conversion and checking of streams. */
import { detectDecoder } from "./decoders.ts";
import type { Dialect } from "./dialect.ts";
import { DIALECTS } from "./dialects.ts";

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

export { DIALECTS } from "./dialects.ts";
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
