/**
 * Returns the URL to load an image from. Inline raster images and plain SVG are used directly; `Ui.imageUrl` decides
 * about everything else, whether it comes from a model, a tool or a document.
 *
 * Invariant: `Ui.imageUrl` never receives a `data:` URL.
 */
import type { Ui } from "../ui/ui-context.tsx";

const RASTER = /^data:image\/(?:png|jpeg|gif|webp|avif);base64,[\da-z+/=\s]+$/i;
const SVG = /^data:image\/svg\+xml;base64,([\da-z+/=]+)$/i;

/** Limits of an inline SVG. */
const MAX_CHARACTERS = 300_000;
const MAX_CLIPS = 100;

/** Matches an allowed tag after each `<`. */
const ELEMENTS =
  /^\/?(?:svg|g|defs|title|desc|path|rect|circle|ellipse|line|polyline|polygon|text|tspan|linearGradient|radialGradient|stop|clipPath)[\s/>]/;

/** The attributes of a tag; their values; and the start of an event handler. */
const ATTRIBUTES = /^(?:"[^"]*"|'[^']*'|[^"'>])*/;
const VALUES = /"[^"]*"|'[^']*'/g;
const HANDLER = /[\s/]on/i;

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

/**
 * Checks that an SVG contains only shapes and text. An SVG image cannot run scripts or load resources, but repeated or
 * filtered content could slow the browser down. Event handlers have no use in an image.
 */
export function isPlainSvg(text: string): boolean {
  if (text.length > MAX_CHARACTERS || text.split("clip-path").length > MAX_CLIPS) return false;
  const [before = "", ...tags] = text.split("<");
  return before.trim() === "" && tags.length > 0 && tags.every((tag) => ELEMENTS.test(tag) && !hasHandler(tag));
}

function hasHandler(tag: string): boolean {
  const [attributes = ""] = ATTRIBUTES.exec(tag) ?? [];
  return HANDLER.test(attributes.replaceAll(VALUES, " "));
}
