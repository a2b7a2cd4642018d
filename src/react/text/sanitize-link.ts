/**
 * Sanitizes URLs of links and images in answers. Answers are not trusted: a URL that is not plain HTTP, HTTPS or mailto
 * is shown as text.
 *
 * Invariant: a returned URL is absolute, has an allowed scheme, and is serialized by the URL parser.
 */
const LINK = /^(?:https?:\/\/|mailto:)/i;
const IMAGE = /^https?:\/\//i;
/** Raster images only; SVG is a document. */
const RASTER_TYPE = /^image\/(?:png|jpeg|gif|webp|avif)$/i;
const RASTER_DATA_URL = /^data:image\/(?:png|jpeg|gif|webp|avif);base64,[\d+/=a-z]+$/i;
// oxlint-disable-next-line no-control-regex -- browsers remove some of these from URLs, so they can hide a scheme
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/;

/** Maximum length of a URL. Inline images may be longer. */
const MAX_LENGTH = 4096;
const MAX_IMAGE_LENGTH = 2_000_000;

/** Returns a safe link URL, or undefined. */
export function sanitizeLink(written: string): string | undefined {
  const address = written.trim();
  if (address.length > MAX_LENGTH || CONTROL.test(address) || !LINK.test(address)) return undefined;
  const url = parseUrl(address);
  if (url === undefined) return undefined;
  if (url.protocol === "mailto:") return url.href;
  // Credentials in front of the host can disguise it.
  return isWeb(url) && url.username === "" && url.password === "" ? url.href : undefined;
}

/** Returns a safe image URL to request from the image proxy, or undefined. */
export function sanitizeImageUrl(written: string): string | undefined {
  const address = written.trim();
  if (address.startsWith("data:"))
    return address.length <= MAX_IMAGE_LENGTH && isRasterDataUrl(address) ? address : undefined;
  if (address.length > MAX_LENGTH || CONTROL.test(address) || !IMAGE.test(address)) return undefined;
  const url = parseUrl(address);
  return url !== undefined && isWeb(url) ? url.href : undefined;
}

/** Whether a media type is a raster image. */
export function isRasterType(mediaType: string): boolean {
  return RASTER_TYPE.test(mediaType);
}

/** Whether a URL is an inline raster image. */
export function isRasterDataUrl(address: string): boolean {
  return RASTER_DATA_URL.test(address);
}

function isWeb({ protocol }: URL): boolean {
  return protocol === "https:" || protocol === "http:";
}

function parseUrl(address: string): URL | undefined {
  return URL.canParse(address) ? new URL(address) : undefined;
}
