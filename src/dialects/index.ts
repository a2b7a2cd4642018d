/**
 * The dialects, by name. This list is the only place that knows them all.
 */
import { detectDecoder } from "./decoders.ts";
import type { Dialect, DialectName } from "./dialect.ts";
import { engine } from "./engine/index.ts";
import { exportDialect } from "./export/index.ts";
import { loom } from "./loom/index.ts";
import { lumine } from "./lumine/index.ts";
import { streamEvent } from "./stream-event/index.ts";

export const DIALECTS: { readonly [N in DialectName]: Dialect } = {
  loom,
  engine,
  lumine,
  "stream-event": streamEvent,
  export: exportDialect,
};

export const DIALECT_NAMES = /* @__PURE__ */ Object.keys(DIALECTS) as readonly DialectName[];

export function isDialectName(name: string): name is DialectName {
  return Object.hasOwn(DIALECTS, name);
}

/** The dialect of a stream, from the texts of its first frames; undefined when no dialect knows any of them. */
export function detectDialect(texts: readonly string[]): Dialect | undefined {
  const name = detectDecoder(texts);
  return name === undefined ? undefined : DIALECTS[name];
}

export { DECODERS, detectDecoder } from "./decoders.ts";
export { detectAmong, DETECTION_FRAMES } from "./detect.ts";
export type {
  BatchEncoder,
  Decoded,
  Decoder,
  Decoding,
  Dialect,
  DialectName,
  Encoder,
  EncoderOptions,
} from "./dialect.ts";
export type { Fate } from "./ledger.ts";
export {
  type CheckedFrame,
  type CheckOptions,
  createStreamCheck,
  issueOfFraming,
  type StreamCheck,
} from "./check-stream.ts";
export {
  type Converted,
  type ConvertOptions,
  createStreamConverter,
  isCarried,
  type StreamConverter,
} from "./convert-stream.ts";
export { createRecordReader, LOOM_DECODING } from "./loom/decode.ts";
export { createStamper } from "./stamp.ts";
export { dialectSchema, dialectSchemas } from "./schemas.ts";
export { createBatchEncoder } from "./encode-batch.ts";
