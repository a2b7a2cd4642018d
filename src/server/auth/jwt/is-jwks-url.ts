/**
 * Whether keys may be fetched from a URL: only https, or http on localhost, because altered keys could forge any token.
 */
import { isLoopback } from "../../guard/read-proxies.ts";

export function isJwksUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.username !== "" || url.password !== "") return false;
  const host = url.hostname.replaceAll(/^\[|\]$/g, "");
  return url.protocol === "https:" || (url.protocol === "http:" && (host === "localhost" || isLoopback(host)));
}
