/**
 * Checks whether a URL can be fetched, and resolves its host. The host is resolved once, and the request must connect
 * to the returned addresses, so that a DNS change after the check has no effect.
 */
import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { LoomError } from "../../protocol/index.ts";
import { isPublicAddress } from "./public-address.ts";
import { untilAborted } from "../../protocol/until-aborted.ts";

export interface UrlRules {
  /**
   * Hosts that can be fetched although they are not public: `host`, or `host:port` to also allow that port. Default:
   * none.
   */
  readonly allow?: readonly string[] | undefined;
  /** Default: 80 and 443. */
  readonly ports?: readonly number[] | undefined;
  /** Default: http URLs are allowed too. */
  readonly httpsOnly?: boolean;
  /** Default: the resolver of the system. */
  readonly resolve?: ResolveHost | undefined;
}

/** Returns all addresses of a host name. */
export type ResolveHost = (host: string) => Promise<readonly LookupAddress[]>;

export interface CheckedUrl {
  readonly url: URL;
  /** Never empty. */
  readonly addresses: readonly LookupAddress[];
}

const MAX_URL_LENGTH = 4096;

/** Throws `url_refused`, or `tool_failed` if the host cannot be resolved. */
export async function checkUrl(text: string, rules: UrlRules, signal: AbortSignal): Promise<CheckedUrl> {
  const { allow = [], ports = [80, 443], httpsOnly = false, resolve = lookupHost } = rules;
  const url = parseUrl(text, httpsOnly);
  const host = hostOf(url);
  const isAllowed = allow.some((entry) => entry === host || entry === hostAndPort(url));
  const port = portOf(url);
  if (!ports.includes(port) && !allow.includes(hostAndPort(url))) throw refuseUrl(url, `port ${port} is not allowed`);

  const addresses =
    isIP(host) === 0 ? await resolveHost(host, resolve, signal) : [{ address: host, family: isIP(host) }];
  // All addresses must be public, because any of them may be used.
  if (!isAllowed && !addresses.every(({ address }) => isPublicAddress(address)))
    throw refuseUrl(url, "its address is not public");
  return { url, addresses };
}

function parseUrl(text: string, httpsOnly: boolean): URL {
  if (text.length > MAX_URL_LENGTH)
    throw new LoomError("url_refused", `The URL is longer than ${MAX_URL_LENGTH} characters`);
  const url = URL.parse(text);
  if (url === null)
    throw new LoomError("url_refused", "Invalid URL. Use a full URL, such as https://example.org/page.");
  if (url.protocol !== "https:" && (httpsOnly || url.protocol !== "http:")) {
    const names = httpsOnly ? "https" : "http and https";
    throw new LoomError("url_refused", `Only ${names} URLs can be fetched, not ${url.protocol.slice(0, 32)}`);
  }
  if (url.username !== "" || url.password !== "") throw refuseUrl(url, "it contains a user name or password");
  url.hash = "";
  return url;
}

const lookupHost: ResolveHost = async (host) => lookup(host, { all: true, order: "verbatim" });

async function resolveHost(host: string, resolve: ResolveHost, signal: AbortSignal): Promise<readonly LookupAddress[]> {
  // A DNS lookup cannot be cancelled; a late result is ignored.
  const addresses = await untilAborted(resolve(host), signal).catch((error: unknown) => {
    signal.throwIfAborted();
    throw new LoomError("tool_failed", `The host ${host} could not be resolved`, {}, { cause: error });
  });
  if (addresses.length === 0) throw new LoomError("tool_failed", `The host ${host} has no address`);
  return addresses;
}

/** Removes the brackets of an IPv6 address and the final dot of a full name. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
}

function hostAndPort(url: URL): string {
  const host = hostOf(url);
  return `${host.includes(":") ? `[${host}]` : host}:${portOf(url)}`;
}

function portOf(url: URL): number {
  if (url.port !== "") return Number(url.port);
  return url.protocol === "https:" ? 443 : 80;
}

function refuseUrl(url: URL, why: string): LoomError {
  return new LoomError("url_refused", `${url.host.slice(0, 200)} cannot be fetched: ${why}`);
}
