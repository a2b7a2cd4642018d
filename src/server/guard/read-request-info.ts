/** Determines the client address and the public URL of a request, using the headers of trusted proxies only. */
import { type Proxies, readAddress } from "./read-proxies.ts";

/** A request before it is authenticated. */
export interface RequestInfo {
  /** HTTP method in upper case; `UPGRADE` for a WebSocket. */
  readonly method: string;
  readonly headers: Headers;
  readonly url: URL;
  /** Client address, as reported by trusted proxies; undefined if unknown. */
  readonly address: string | undefined;
  /** Scheme and host as the client sees them: `https://agents.example.com`. */
  readonly origin: string;
  /** ID of the request, as in the header `X-Request-Id` of its response. Absent before it is known. */
  readonly requestId?: string | undefined;
  /** Authentication is off, and the request may come from another machine: only a share link allows it. */
  readonly isRemote?: boolean | undefined;
}

export interface RawRequest {
  /** Default: `GET`. */
  readonly method?: string;
  readonly headers: Headers;
  /** URL as the server received it. */
  readonly url: URL;
  /** Address of the other end of the connection; undefined if unknown. */
  readonly peer: string | undefined;
  readonly requestId?: string | undefined;
}

export interface CheckedRequestInfo extends RequestInfo {
  /** Host of the connection itself, ignoring proxies. */
  readonly directHost: string;
  /** Host as the client sees it. */
  readonly host: string;
}

export function readRequestInfo(
  { method = "GET", headers, url, peer, requestId }: RawRequest,
  proxies: Proxies,
): CheckedRequestInfo {
  const directHost = readHost(headers.get("host") ?? url.host, url.protocol.slice(0, -1));
  const { address, hops } = findClient(headers, peer, proxies);
  const forwardedProto = pickHop(headers.get("x-forwarded-proto"), hops)?.toLowerCase();
  const scheme = forwardedProto === "http" || forwardedProto === "https" ? forwardedProto : url.protocol.slice(0, -1);
  const forwardedHost = pickHop(headers.get("x-forwarded-host"), hops);
  const host = forwardedHost === undefined ? directHost : readHost(forwardedHost, scheme);
  const origin = `${scheme}://${host}`;
  return { method, headers, url: toPublicUrl(url, origin), address, directHost, host, origin, requestId };
}

/** Sets the path separately, because a path that begins with two slashes would be parsed as a host. */
function toPublicUrl(url: URL, origin: string): URL {
  const publicUrl = URL.parse(origin);
  if (publicUrl === null) return url;
  publicUrl.pathname = url.pathname;
  publicUrl.search = url.search;
  return publicUrl;
}

/** Returns the host as browsers write it: lower case, without the default port. */
export function readHost(host: string, scheme: string): string {
  const port = scheme === "https" ? ":443" : ":80";
  const normalized = host.trim().toLowerCase();
  return normalized.endsWith(port) ? normalized.slice(0, -port.length) : normalized;
}

/** Returns the nearest address that is not a trusted proxy, and the number of trusted proxies before it. */
function findClient(
  headers: Headers,
  peer: string | undefined,
  proxies: Proxies,
): { readonly address: string | undefined; readonly hops: number } {
  let address = peer === undefined ? undefined : (readAddress(peer) ?? peer);
  if (address === undefined || !proxies.has(address)) return { address, hops: 0 };
  const forwardedFor = splitList(headers.get("x-forwarded-for"));
  let hops = 1;
  for (;;) {
    const next = forwardedFor.pop();
    if (next === undefined) return { address, hops };
    const read = readAddress(next);
    // The client is unknown if a trusted proxy reports `unknown` or an invalid address.
    if (read === undefined) return { address: undefined, hops };
    address = read;
    if (!proxies.has(address)) return { address, hops };
    hops++;
  }
}

/** Returns the value set by the outermost trusted proxy, or the first value if fewer proxies added one. */
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

/** True for an ID that a client may choose for its request: short, and safe for headers and logs. */
export function isRequestId(given: string): boolean {
  return /^[\w.:-]{1,64}$/.test(given);
}
