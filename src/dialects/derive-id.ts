/**
 * Derives an ID from its parts: the same parts give the same ID in every process and every replay. IDs have the format
 * of a UUID version 8 and are not secret.
 */
export function deriveId(...parts: readonly (string | number)[]): string {
  const text = parts.join("\u0000");
  let hex = "";
  for (const seed of [0x811c9dc5, 0x9e3779b9, 0x85ebca6b, 0xc2b2ae35])
    hex += hash(text, seed).toString(16).padStart(8, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** 32-bit FNV-1a over UTF-16 code units, with a final mix so that similar texts get different hashes. */
function hash(text: string, seed: number): number {
  let h = seed;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x7feb352d);
  h = Math.imul(h ^ (h >>> 15), 0x846ca68b);
  return (h ^ (h >>> 16)) >>> 0;
}
