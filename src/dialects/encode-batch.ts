/**
 * Encodes many records as NDJSON bytes. Uses the dialect's batch encoder if it has one; otherwise encodes each record
 * and converts the text once.
 */
import { encodeNdjsonBatch } from "../framing/ndjson.ts";
import type { BatchEncoder, Dialect, EncoderOptions } from "./dialect.ts";

/** Creates a batch encoder for a dialect. */
export function createBatchEncoder(dialect: Dialect, options: EncoderOptions = {}): BatchEncoder {
  const own = dialect.createBatchEncoder?.(options);
  if (own !== undefined) return own;
  const encoder = dialect.createEncoder(options);
  return { encode: (records) => encodeNdjsonBatch(records.flatMap((record) => encoder.encode(record))) };
}
