/** Bytes ↔ frames: NDJSON and server-sent events. Browser-safe; knows no event and no JSON. */
export { ByteWriter } from "./byte-writer.ts";
export { detectFraming, type Framing } from "./detect.ts";
export {
  DEFAULT_MAX_LINE_BYTES,
  type FrameDecoder,
  type FrameOutcome,
  type FramingFault,
  type FramingOptions,
} from "./frame.ts";
export { createNdjsonDecoder, encodeNdjson, encodeNdjsonBatch } from "./ndjson.ts";
export { readFrames } from "./pull.ts";
export { createSseDecoder, encodeSse, encodeSseComment, type SseEvent } from "./sse.ts";
