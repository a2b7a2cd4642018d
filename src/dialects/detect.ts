/**
 * Tells the dialect of a stream from its first frames: each dialect says how surely a frame is its own, and the one
 * that claims most wins; at a tie, the first in the list.
 */
import { isJsonObject } from "../protocol/index.ts";
import type { Dialect } from "./dialect.ts";

/** As many frames as detection looks at. */
export const DETECTION_FRAMES = 8;

export function detectDialect(texts: readonly string[], dialects: readonly Dialect[]): Dialect | undefined {
  const frames = texts.slice(0, DETECTION_FRAMES).flatMap((text) => {
    try {
      const value: unknown = JSON.parse(text);
      return isJsonObject(value) ? [value] : [];
    } catch {
      return [];
    }
  });
  let best: Dialect | undefined;
  let bestClaim = 0;
  for (const dialect of dialects) {
    const claim = frames.reduce((sum, frame) => sum + dialect.claim(frame), 0);
    if (claim > bestClaim) {
      best = dialect;
      bestClaim = claim;
    }
  }
  return best;
}
