/**
 * A page's addresses are relative, so its own must end in a slash: whoever asks for `/agents` is sent to `/agents/`. Which
 * of the two it was is known only from the address as it was written, as whoever mounts us may have made one of both.
 */
import type { IncomingMessage } from "node:http";

/** Where to send whoever asks for the page, relative to what they wrote; nothing where that is right. */
export function findSlashed(url: URL, incoming: IncomingMessage | undefined): string | undefined {
  const { originalUrl, url: seen } = (incoming ?? {}) as { readonly originalUrl?: unknown; readonly url?: unknown };
  const written = [originalUrl, seen].find((each) => typeof each === "string") ?? url.pathname;
  const [path = ""] = written.split(/[?#]/, 1);
  // Written with its host, or as `*`: no page is asked for so.
  if (!path.startsWith("/") || path.endsWith("/")) return undefined;
  // It begins with a dot, so that it never names another host.
  return `./${path.slice(path.lastIndexOf("/") + 1)}/${url.search}`;
}
