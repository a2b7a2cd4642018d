/**
 * Who asks, and by which name they have reached us: past the proxies that are trusted, and no further. It knows no rule
 * about who may.
 */
import type { RequestInfo } from "./authorize.ts";
import { type Proxies, readAddress } from "./read-proxies.ts";

export interface Arrival {
  /** `GET` when absent. */
  readonly method?: string;
  readonly headers: Headers;
  /** As it came in. */
  readonly url: URL;
  /** The other end of the connection; undefined where it is not known. */
  readonly peer: string | undefined;
}

export interface CheckedRequestInfo extends RequestInfo {
  /** `host` of the connection itself, whatever a proxy says. */
  readonly directHost: string;
  /** As whoever asks has written it. */
  readonly host: string;
}

export function readRequestInfo({ method = "GET", headers, url, peer }: Arrival, proxies: Proxies): CheckedRequestInfo {
  const directHost = readHost(headers.get("host") ?? url.host, url.protocol.slice(0, -1));
  const { address, hops } = findAsker(headers, peer, proxies);
  const told = pickHop(headers.get("x-forwarded-proto"), hops)?.toLowerCase();
  const scheme = told === "http" || told === "https" ? told : url.protocol.slice(0, -1);
  const named = pickHop(headers.get("x-forwarded-host"), hops);
  const host = named === undefined ? directHost : readHost(named, scheme);
  const origin = `${scheme}://${host}`;
  return { method, headers, url: readSeen(url, origin), address, directHost, host, origin };
}

/** A path that begins with two slashes is a path, and no name of another server. */
function readSeen(url: URL, origin: string): URL {
  const seen = URL.parse(origin);
  if (seen === null) return url;
  seen.pathname = url.pathname;
  seen.search = url.search;
  return seen;
}

/** As it is compared, and as a browser writes an origin: small, without the port that goes without saying. */
export function readHost(host: string, scheme: string): string {
  const port = scheme === "https" ? ":443" : ":80";
  const small = host.trim().toLowerCase();
  return small.endsWith(port) ? small.slice(0, -port.length) : small;
}

/** The nearest that is no trusted proxy, and how many of those lie before it. */
function findAsker(
  headers: Headers,
  peer: string | undefined,
  proxies: Proxies,
): { readonly address: string | undefined; readonly hops: number } {
  let address = peer === undefined ? undefined : (readAddress(peer) ?? peer);
  if (address === undefined || !proxies.has(address)) return { address, hops: 0 };
  const named = splitList(headers.get("x-forwarded-for"));
  let hops = 1;
  for (;;) {
    const next = named.pop();
    if (next === undefined) return { address, hops };
    const read = readAddress(next);
    // What a trusted proxy calls unknown, or something we cannot read, is where our knowledge ends.
    if (read === undefined) return { address: undefined, hops };
    address = read;
    if (!proxies.has(address)) return { address, hops };
    hops++;
  }
}

/** What the outermost trusted proxy has said. Where fewer have spoken, the first who did. */
function pickHop(header: string | null, hops: number): string | undefined {
  if (hops === 0) return undefined;
  const values = splitList(header);
  return values.at(-hops) ?? values[0];
}

function splitList(header: string | null): string[] {
  return (header ?? "")
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}
