/**
 * Detects the dialect of a stream from its first frames. Each dialect rates the frames; the highest sum wins, and in a
 * tie the first dialect in the list.
 */
import { type JsonObject, parseObject } from "../protocol/json.ts";
import type { Decoders, Decoding, DialectName } from "./dialect.ts";

/** Number of frames used for detection. */
export const DETECTION_FRAMES = 8;

/**
 * Returns the name of the dialect with the highest confidence, or undefined if it is 0 for all. Frames may be strings
 * or parsed.
 */
export function detectAmong(given: readonly (string | JsonObject)[], decoders: Decoders): DialectName | undefined {
  const frames = given
    .slice(0, DETECTION_FRAMES)
    .map((frame) => (typeof frame === "string" ? parseObject(frame) : frame))
    .filter((frame) => frame !== undefined);
  let best: DialectName | undefined;
  let bestScore = 0;
  for (const [name, decoding] of Object.entries(decoders) as [DialectName, Decoding][]) {
    const score = frames.reduce((sum, frame) => sum + decoding.confidence(frame), 0);
    if (score > bestScore) {
      best = name;
      bestScore = score;
    }
  }
  return best;
}
