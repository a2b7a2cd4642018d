/** Detects the type of a raster image from its first bytes. SVG is excluded because it can contain scripts. */
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

/** Returns the media type, or undefined if the image type is not supported. */
export function sniffImage(bytes: Uint8Array): string | undefined {
  const head = String.fromCharCode(...bytes.subarray(0, 16));
  const [mediaType] = MARKS.find(([, at, mark]) => head.startsWith(mark, at)) ?? [];
  return mediaType === "image/webp" && !head.startsWith("RIFF") ? undefined : mediaType;
}
