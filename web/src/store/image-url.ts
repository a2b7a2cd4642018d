/**
 * Restricts image URLs to the page's own server. Images from other hosts go through its proxy. URLs may come from a
 * model, a tool or a document.
 */
import { readSharedRoute } from "./route.ts";

const MAX_ADDRESS = 8192;

/** Returns undefined if the image must not be loaded. `base` is the URL of the page. */
export function resolveImageUrl(url: string, base: string): string | undefined {
  if (url.length > MAX_ADDRESS) return undefined;
  const page = new URL(base);
  const found = parse(url, base);
  if (found === undefined || found.username !== "" || found.password !== "") return undefined;
  const home = page.pathname.slice(0, page.pathname.lastIndexOf("/") + 1);
  // On the own server, only session blobs are images.
  if (found.origin === page.origin) {
    const isBlob =
      found.pathname.startsWith(`${home}v1/sessions/`) &&
      /^[^/]+\/blobs\/[\da-f]+$/.test(found.pathname.slice(`${home}v1/sessions/`.length));
    if (!isBlob) return undefined;
    return readSharedRoute(page.hash) === undefined ? found.pathname : `${found.pathname}?access=link`;
  }
  return found.protocol === "https:" ? `./v1/images?url=${encodeURIComponent(found.href)}` : undefined;
}

function parse(url: string, base: string): URL | undefined {
  try {
    return new URL(url, base);
  } catch {
    return undefined;
  }
}
