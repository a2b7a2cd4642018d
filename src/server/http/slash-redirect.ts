/**
 * Redirects `/agents` to `/agents/`, because the page uses relative URLs. Only the original URL shows which of the two
 * the client requested: a framework that mounts the handler may have normalized the path.
 */
import type { IncomingMessage } from "node:http";

/** Returns the redirect target, relative to the requested URL; undefined if the URL already ends with a slash. */
export function findSlashRedirect(url: URL, incoming: IncomingMessage | undefined): string | undefined {
  const { originalUrl, url: seen } = (incoming ?? {}) as { readonly originalUrl?: unknown; readonly url?: unknown };
  const written = [originalUrl, seen].find((each) => typeof each === "string") ?? url.pathname;
  const [path = ""] = written.split(/[?#]/, 1);
  // An absolute URL or `*` is not a request for the page.
  if (!path.startsWith("/") || path.endsWith("/")) return undefined;
  // Starts with a dot, so that it can never name another host.
  return `./${path.slice(path.lastIndexOf("/") + 1)}/${url.search}`;
}
