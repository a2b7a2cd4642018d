/** What kind of image some bytes begin like. Pixels only: what can hold a script is no image here. */
const MARKS: readonly (readonly [mediaType: string, at: number, mark: string])[] = [
  ["image/png", 0, "\u0089PNG\r\n\u001a\n"],
  ["image/jpeg", 0, "\u00ff\u00d8\u00ff"],
  ["image/gif", 0, "GIF87a"],
  ["image/gif", 0, "GIF89a"],
  ["image/webp", 8, "WEBP"],
  ["image/avif", 4, "ftypavif"],
  ["image/avif", 4, "ftypavis"],
];

export const IMAGE_TYPES: ReadonlySet<string> = new Set(MARKS.map(([mediaType]) => mediaType));

/** Undefined where it is none that is known. */
export function sniffImage(bytes: Uint8Array): string | undefined {
  const head = String.fromCharCode(...bytes.subarray(0, 16));
  const [mediaType] = MARKS.find(([, at, mark]) => head.startsWith(mark, at)) ?? [];
  return mediaType === "image/webp" && !head.startsWith("RIFF") ? undefined : mediaType;
}
