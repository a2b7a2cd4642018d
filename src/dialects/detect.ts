/**
 * Tells the dialect of a stream from its first frames: each dialect says how surely a frame is its own, and the one
 * that claims most wins; at a tie, the first in the list.
 */
import { isJsonObject, type JsonObject } from "../protocol/json.ts";
import type { Decoding } from "./dialect.ts";

/** As many frames as detection looks at. */
export const DETECTION_FRAMES = 8;

/** The name that claims most; a frame may be given as its text, or parsed. */
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
  let bestClaim = 0;
  for (const [name, decoding] of decodings) {
    const claim = frames.reduce((sum, frame) => sum + decoding.claim(frame), 0);
    if (claim > bestClaim) {
      best = name;
      bestClaim = claim;
    }
  }
  return best;
}
