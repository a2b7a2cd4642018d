/**
 * Framing: converts bytes to frames and back, as NDJSON or server-sent events. Runs in browsers; does not parse the
 * frames.
 */
export { detectFraming, type Framing } from "./detect-framing.ts";
export type { FrameDecoder, FrameOutcome, FramingFault, FramingOptions } from "./frame.ts";
export { createNdjsonDecoder, encodeNdjson } from "./ndjson.ts";
export { readFrames } from "./read-frames.ts";
export { createSseDecoder, encodeSse, encodeSseComment, type SseEvent } from "./sse.ts";
