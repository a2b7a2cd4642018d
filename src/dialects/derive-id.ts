/**
 * Ids that follow from what they name: the same parts give the same id in every process, now and in a replay. They have
 * the form of a UUID (version 8, whose bits are free) and are not secret.
 */
export function deriveId(...parts: readonly (string | number)[]): string {
  const text = parts.join("\u0000");
  let hex = "";
  for (const seed of [0x811c9dc5, 0x9e3779b9, 0x85ebca6b, 0xc2b2ae35])
    hex += hash(text, seed).toString(16).padStart(8, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** 32 bits of FNV-1a over the UTF-16 units, then mixed so that near texts lie far apart. */
function hash(text: string, seed: number): number {
  let h = seed;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x7feb352d);
  h = Math.imul(h ^ (h >>> 15), 0x846ca68b);
  return (h ^ (h >>> 16)) >>> 0;
}
