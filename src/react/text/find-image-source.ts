/**
 * Where an image is loaded from. One that came as data is there already, if it is pixels, or a drawing of shapes alone;
 * of any other the page is asked. It holds whoever wrote the address: a model, a tool, a document.
 *
 * Invariant: the page is never asked about data.
 */
import type { Ui } from "../ui/ui-context.tsx";
import { isPlainSvg } from "./is-plain-svg.ts";

const PICTURE = /^data:image\/(?:png|jpeg|gif|webp|avif);base64,[\da-z+/=\s]+$/i;
const DRAWING = /^data:image\/svg\+xml;base64,([\da-z+/=]+)$/i;

/** Undefined: it is not shown. */
export function findImageSource(url: string, { imageUrl }: Pick<Ui, "imageUrl">): string | undefined {
  const address = url.trim();
  if (!/^data:/i.test(address)) return imageUrl(address);
  return PICTURE.test(address) || isDrawing(address) ? address : undefined;
}

function isDrawing(url: string): boolean {
  const text = DRAWING.exec(url)?.[1];
  try {
    return text !== undefined && isPlainSvg(atob(text));
  } catch {
    return false;
  }
}
