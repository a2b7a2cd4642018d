/**
 * Which addresses of an answer may become a link or an image. Whoever writes the answer is not trusted: an address that
 * is not plainly one of the web's is shown as text.
 *
 * Invariant: what is returned is an absolute address of an allowed scheme, written anew by the URL parser.
 */
const LINK = /^(?:https?:\/\/|mailto:)/i;
const IMAGE = /^https?:\/\//i;
/** Images that are pixels; an SVG is a document. */
const PIXELS = /^image\/(?:png|jpeg|gif|webp|avif)$/i;
const PIXEL_DATA = /^data:image\/(?:png|jpeg|gif|webp|avif);base64,[\d+/=a-z]+$/i;
// oxlint-disable-next-line no-control-regex -- browsers drop some of these from addresses, so a scheme can hide among them
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/;

/** Longer addresses are no addresses. Images in themselves may be longer. */
const LONGEST = 4096;
const LONGEST_IMAGE = 2_000_000;

/** The address a link leads to; undefined where there must be none. */
export function judgeLink(written: string): string | undefined {
  const address = written.trim();
  if (address.length > LONGEST || CONTROL.test(address) || !LINK.test(address)) return undefined;
  const url = parseUrl(address);
  if (url === undefined) return undefined;
  if (url.protocol === "mailto:") return url.href;
  // A name before the host makes one host look like another.
  return isWeb(url) && url.username === "" && url.password === "" ? url.href : undefined;
}

/** The address an image may be asked for by, of the server that fetches it; undefined where there must be none. */
export function judgeImage(written: string): string | undefined {
  const address = written.trim();
  if (address.startsWith("data:")) return address.length <= LONGEST_IMAGE && isPixelData(address) ? address : undefined;
  if (address.length > LONGEST || CONTROL.test(address) || !IMAGE.test(address)) return undefined;
  const url = parseUrl(address);
  return url !== undefined && isWeb(url) ? url.href : undefined;
}

/** Whether a kind of file is pixels and nothing else. */
export function isPixelType(mediaType: string): boolean {
  return PIXELS.test(mediaType);
}

/** Whether an address holds such an image itself. */
export function isPixelData(address: string): boolean {
  return PIXEL_DATA.test(address);
}

function isWeb({ protocol }: URL): boolean {
  return protocol === "https:" || protocol === "http:";
}

function parseUrl(address: string): URL | undefined {
  return URL.canParse(address) ? new URL(address) : undefined;
}
