/**
 * Detects the dialect of a stream from its first frames. Each dialect rates the frames; the highest sum wins, and in a
 * tie the first dialect in the list.
 */
import { isJsonObject, type JsonObject } from "../protocol/json.ts";
import type { Decoding } from "./dialect.ts";

/** Number of frames used for detection. */
export const DETECTION_FRAMES = 8;

/**
 * Returns the name of the dialect with the highest confidence, or undefined if it is 0 for all. Frames may be strings
 * or parsed.
 */
export function detectAmong<N extends string>(
  given: readonly (string | JsonObject)[],
  decodings: readonly (readonly [N, Decoding])[],
): N | undefined {
  const frames = given.slice(0, DETECTION_FRAMES).flatMap((frame) => {
    try {
      const value: unknown = typeof frame === "string" ? JSON.parse(frame) : frame;
      return isJsonObject(value) ? [value] : [];
    } catch {
      return [];
    }
  });
  let best: N | undefined;
  let bestScore = 0;
  for (const [name, decoding] of decodings) {
    const score = frames.reduce((sum, frame) => sum + decoding.confidence(frame), 0);
    if (score > bestScore) {
      best = name;
      bestScore = score;
    }
  }
  return best;
}
