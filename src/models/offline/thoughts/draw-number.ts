/** Chance that is none: the same words and the same seed give the same number, and a small change gives another. */

/** From 0 to below 1. */
export function drawNumber(seed: number, words: string): number {
  let hash = 2166136261 ^ Math.imul(seed | 0, 2654435769);
  for (let at = 0; at < words.length; at++) hash = Math.imul(hash ^ words.charCodeAt(at), 16777619);
  // The last signs have to reach the first bits, too.
  hash = Math.imul(hash ^ (hash >>> 15), 2246822519);
  hash = Math.imul(hash ^ (hash >>> 13), 3266489917);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
