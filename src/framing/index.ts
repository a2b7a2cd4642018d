/**
 * Framing: converts bytes to frames and back, as NDJSON or server-sent events. Runs in browsers; does not parse the
 * frames.
 */
export { ByteWriter } from "./byte-writer.ts";
export { detectFraming, type Framing } from "./detect-framing.ts";
export {
  DEFAULT_MAX_LINE_BYTES,
  type FrameDecoder,
  type FrameOutcome,
  type FramingFault,
  type FramingOptions,
} from "./frame.ts";
export { createNdjsonDecoder, encodeNdjson, encodeNdjsonBatch } from "./ndjson.ts";
export { readFrames } from "./read-frames.ts";
export { createSseDecoder, encodeSse, encodeSseComment, type SseEvent } from "./sse.ts";
