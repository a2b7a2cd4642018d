/**
 * Framing: converts bytes to frames and back, as NDJSON or server-sent events. Runs in browsers; does not parse the
 * frames.
 */
export type { FrameDecoder, FrameOutcome } from "./frame.ts";
export { createNdjsonDecoder, encodeNdjson } from "./ndjson.ts";
export { readFrames } from "./read-frames.ts";
export { createSseDecoder, encodeSse } from "./sse.ts";
