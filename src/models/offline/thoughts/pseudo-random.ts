/** Deterministic pseudo-random numbers from a seed and a text. */

/** Returns a number from 0 (inclusive) to 1 (exclusive). */
export function pseudoRandom(seed: number, words: string): number {
  let hash = 2166136261 ^ Math.imul(seed | 0, 2654435769);
  for (let at = 0; at < words.length; at++) hash = Math.imul(hash ^ words.charCodeAt(at), 16777619);
  // Mixes the last characters into the high bits.
  hash = Math.imul(hash ^ (hash >>> 15), 2246822519);
  hash = Math.imul(hash ^ (hash >>> 13), 3266489917);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
