/** All dialects by name, with detection, conversion and checking of streams. */
import { detectDecoder } from "./decoders.ts";
import { type Dialect, DIALECT_NAMES, type DialectName } from "./dialect.ts";
import { engine } from "./engine/index.ts";
import { exportDialect } from "./export/index.ts";
import { loom } from "./loom/index.ts";
import { lumine } from "./lumine/index.ts";
import { streamEvent } from "./stream-event/index.ts";

/** All dialects by name. */
export const DIALECTS: { readonly [N in DialectName]: Dialect } = {
  loom,
  export: exportDialect,
  engine,
  lumine,
  "stream-event": streamEvent,
};

/** True for the name of a dialect. */
export function isDialectName(name: string): name is DialectName {
  return (DIALECT_NAMES as readonly string[]).includes(name);
}

/** Detects the dialect from the first frames of a stream; undefined if no dialect matches. */
export function detectDialect(texts: readonly string[]): Dialect | undefined {
  const name = detectDecoder(texts);
  return name === undefined ? undefined : DIALECTS[name];
}

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
} from "./dialect.ts";
export type { LedgerEntry } from "./ledger.ts";
export { type CheckedFrame, type CheckOptions, createStreamCheck, type StreamCheck } from "./check-stream.ts";
export { type Converted, type ConvertOptions, createStreamConverter, type StreamConverter } from "./convert-stream.ts";
export { LOOM_DECODING } from "./loom/decode.ts";
export { createStamper } from "./stamp.ts";
export { dialectSchemas } from "./schemas.ts";
