/**
 * Many records to NDJSON bytes in any dialect: the dialect's own fast way where it has one, otherwise its frames put
 * together and converted once.
 */
import { encodeNdjsonBatch } from "../framing/index.ts";
import type { BatchEncoder, Dialect, EncoderOptions } from "./dialect.ts";

export function createBatchEncoder(dialect: Dialect, options: EncoderOptions = {}): BatchEncoder {
  const own = dialect.createBatchEncoder?.(options);
  if (own !== undefined) return own;
  const encoder = dialect.createEncoder(options);
  return { encode: (records) => encodeNdjsonBatch(records.flatMap((record) => encoder.encode(record))) };
}
