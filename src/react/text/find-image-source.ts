/**
 * Returns the URL to load an image from. Inline raster images and plain SVG are used directly; `Ui.imageUrl` decides
 * about everything else, whether it comes from a model, a tool or a document.
 *
 * Invariant: `Ui.imageUrl` never receives a `data:` URL.
 */
import type { Ui } from "../ui/ui-context.tsx";
import { isPlainSvg } from "./is-plain-svg.ts";

const RASTER = /^data:image\/(?:png|jpeg|gif|webp|avif);base64,[\da-z+/=\s]+$/i;
const SVG = /^data:image\/svg\+xml;base64,([\da-z+/=]+)$/i;

/** Undefined: the image is blocked. */
export function findImageSource(url: string, { imageUrl }: Pick<Ui, "imageUrl">): string | undefined {
  const address = url.trim();
  if (!/^data:/i.test(address)) return imageUrl(address);
  return RASTER.test(address) || isDrawing(address) ? address : undefined;
}

function isDrawing(url: string): boolean {
  const text = SVG.exec(url)?.[1];
  try {
    return text !== undefined && isPlainSvg(atob(text));
  } catch {
    return false;
  }
}
