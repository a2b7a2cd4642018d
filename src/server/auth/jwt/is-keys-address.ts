/** Whether keys may be fetched from there: who can change them on their way can be anybody. */
import { isLoopback } from "../../guard/read-proxies.ts";

export function isKeysAddress(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.username !== "" || url.password !== "") return false;
  const host = url.hostname.replaceAll(/^\[|\]$/g, "");
  return url.protocol === "https:" || (url.protocol === "http:" && (host === "localhost" || isLoopback(host)));
}
