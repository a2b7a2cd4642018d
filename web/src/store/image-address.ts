/**
 * Where the page may load an image from: its own server, by its proxy for what lies elsewhere. It holds whoever wrote the
 * address: a model, a tool, a document.
 */
const MAX_ADDRESS = 8192;

/** Undefined: it is not shown. `base` is the page's own address. */
export function findImageAddress(url: string, base: string): string | undefined {
  if (url.length > MAX_ADDRESS) return undefined;
  const page = new URL(base);
  const found = parse(url, base);
  if (found === undefined || found.username !== "" || found.password !== "") return undefined;
  const home = page.pathname.slice(0, page.pathname.lastIndexOf("/") + 1);
  // Files of sessions; nothing else of the server is an image.
  if (found.origin === page.origin) {
    const isBlob =
      found.pathname.startsWith(`${home}v1/sessions/`) &&
      /^[^/]+\/blobs\/[\da-f]+$/.test(found.pathname.slice(`${home}v1/sessions/`.length));
    return isBlob ? found.pathname : undefined;
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
