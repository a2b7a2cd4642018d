/**
 * Whether a URL may be fetched, and at which addresses its host is reached. The name is resolved once; what is answered
 * here is what must be connected to, so that a name that means something else a moment later gains nothing.
 */
import type { LookupAddress } from "node:dns";
import { isIP } from "node:net";
import { LoomError } from "../../protocol/index.ts";
import { untilAborted } from "../until-aborted.ts";
import { isPublicAddress } from "./public-address.ts";

export interface UrlRules {
  /** Hosts that may be reached although they are not public: `host`, or `host:port`, which allows that port too. */
  readonly allow: readonly string[];
  readonly ports: readonly number[];
  readonly maxUrlLength: number;
  readonly resolve: ResolveHost;
}

/** All addresses of a name. */
export type ResolveHost = (host: string) => Promise<readonly LookupAddress[]>;

export interface JudgedUrl {
  readonly url: URL;
  /** Never empty. */
  readonly addresses: readonly LookupAddress[];
}

/** Throws `url_refused`, or `tool_failed` where the name has no address. */
export async function judgeUrl(text: string, rules: UrlRules, signal: AbortSignal): Promise<JudgedUrl> {
  const url = parseUrl(text, rules);
  const host = hostOf(url);
  const isAllowed = rules.allow.some((entry) => entry === host || entry === hostAndPort(url));
  const port = portOf(url);
  if (!rules.ports.includes(port) && !rules.allow.includes(hostAndPort(url)))
    throw refuseUrl(url, `port ${port} is not allowed`);

  const addresses = isIP(host) === 0 ? await resolveHost(host, rules, signal) : [{ address: host, family: isIP(host) }];
  // One that is not public is enough: which of them is connected to is not for the name's owner to choose.
  if (!isAllowed && !addresses.every(({ address }) => isPublicAddress(address)))
    throw refuseUrl(url, "it is not a public address");
  return { url, addresses };
}

function parseUrl(text: string, { maxUrlLength }: UrlRules): URL {
  if (text.length > maxUrlLength)
    throw new LoomError("url_refused", `The URL has more than ${maxUrlLength} characters.`);
  const url = URL.parse(text);
  if (url === null) throw new LoomError("url_refused", "That is not a whole URL, such as https://example.org/page.");
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new LoomError("url_refused", `Only http and https can be fetched, not ${url.protocol.slice(0, 32)}`);
  if (url.username !== "" || url.password !== "") throw refuseUrl(url, "it has a user name or password in it");
  url.hash = "";
  return url;
}

async function resolveHost(host: string, rules: UrlRules, signal: AbortSignal): Promise<readonly LookupAddress[]> {
  // A look-up cannot be called off; what it finds too late is not waited for.
  const addresses = await untilAborted(rules.resolve(host), signal).catch((error: unknown) => {
    signal.throwIfAborted();
    throw new LoomError("tool_failed", `The host ${host} could not be found.`, {}, { cause: error });
  });
  if (addresses.length === 0) throw new LoomError("tool_failed", `The host ${host} has no address.`);
  return addresses;
}

/** Without the brackets of an IPv6 address and without the dot that ends a full name. */
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
  return new LoomError("url_refused", `${url.host.slice(0, 200)} may not be fetched: ${why}.`);
}
