/**
 * Checks the `Host` and `Origin` of every request before authentication, against cross-site requests and DNS rebinding.
 * Names are compared exactly, as browsers write them.
 *
 * Invariant: a rejected request reaches no endpoint and opens no socket. The client learns which option decides, but not
 * which names are allowed; the operator receives a notice.
 */
import { type JsonObject, LoomError } from "../../protocol/index.ts";
import { limitNotices, type Notice, type Notify } from "./notice.ts";
import { isLoopback } from "./read-proxies.ts";
import { type CheckedRequestInfo, readHost } from "./read-request-info.ts";

export interface GuardOptions {
  /** Accepted host names, with port; undefined accepts any valid host. The set may grow later. */
  readonly hosts: ReadonlySet<string> | undefined;
  /** Other origins whose pages may call the server. */
  readonly origins: ReadonlySet<string>;
  /** Whether pages of this machine, on any port, may call the server under its loopback names. For development. */
  readonly devOrigins?: boolean | undefined;
  /** Whether only requests from this machine are admitted, and from others those that may have a share link. */
  readonly isLocalOnly?: boolean | undefined;
  /** With `isLocalOnly`: host names of requests from this machine, in addition to the loopback names. */
  readonly localHosts?: ReadonlySet<string> | undefined;
  /** Receives a notice for each rejected name, at most once per minute. */
  readonly notify?: Notify | undefined;
}

export interface GuardContext {
  /** The request is for the page itself; following a link from another site is allowed. */
  readonly isPage: boolean;
  /** Address of the other end of the connection; undefined if unknown. */
  readonly peer?: string | undefined;
  /** Local address of the connection, as a host; a request by IP address cannot be DNS rebinding. */
  readonly local?: string | undefined;
  /** Host in the request target, if that is an absolute URL. */
  readonly target?: string | undefined;
  /** Authorization decides by the share link of the request. */
  readonly isForLink?: boolean | undefined;
}

export interface Guard {
  /** Throws `forbidden`. */
  admit(caller: CheckedRequestInfo, context: GuardContext): Admission;
}

/** A request that was admitted. */
interface Admission {
  /** The origin that needs CORS headers, if any. */
  readonly origin: string | undefined;
  /** Whether only this machine is admitted and the request may come from another one. What is unknown counts as that. */
  readonly isRemote: boolean;
}

const MAX_SHOWN = 200;
/** Headers that proxies add. */
const FORWARDING_HEADER =
  /forwarded|^(?:via|cdn-loop|x-original-(?:for|host)|x-envoy-external-address)$|(?:client|real|connect(?:ing|ion)|originating|remote|user)-?(?:ip|addr)$/;

export function createGuard(options: GuardOptions): Guard {
  const { hosts, origins, devOrigins = false, isLocalOnly = false, localHosts, notify } = options;
  const report = notify === undefined ? undefined : limitNotices(notify);
  const isKnown = (host: string, local: string | undefined): boolean =>
    hosts === undefined ? isValidHost(host) : hosts.has(host) || host === local;
  /**
   * Why the request may come from another machine. The host is checked too: with DNS rebinding, the page of another site
   * sends requests from this machine with its own host name.
   */
  function findRemote(caller: CheckedRequestInfo, context: GuardContext): LoomError | undefined {
    if (!isLocalOnly) return undefined;
    const why = describeRemote(context.peer, caller.headers);
    if (why !== undefined) return refuseRemote(why);
    const isLocal = (name: string): boolean => isLoopbackHost(name) || localHosts?.has(name) === true;
    if ([...listHosts(caller, context)].every(isLocal)) return undefined;
    return refuseRemote("the host name of this request is not a loopback name; the option `hosts` allows others");
  }
  function findOrigin(caller: CheckedRequestInfo, context: GuardContext): string | undefined {
    const origin = caller.headers.get("origin") ?? "";
    if (origin === "") {
      if (isCrossSite(caller, context)) throw refuse("Requests from pages of other sites are not allowed");
      return undefined;
    }
    if (origins.has(origin)) return origin;
    if (origin === caller.origin) return undefined;
    const isLocal = findLocalOrigin(caller) !== undefined;
    if (isLocal && devOrigins) return origin;
    report?.(describeOrigin(origin));
    const settings = isLocal ? ["dev-origins", "origins"] : ["origins"];
    throw refuse(
      isLocal
        ? "Requests from pages of this origin are not allowed; set --dev-origins (option `devOrigins`) to allow pages of this machine, or add the origin to --origins (option `origins`)"
        : "Requests from pages of this origin are not allowed; add it to --origins (option `origins`) to allow it",
      { settings },
    );
  }
  return {
    admit(caller, context) {
      const remote = findRemote(caller, context);
      if (remote !== undefined && context.isForLink !== true) {
        report?.({ kind: "client_refused", name: remote.message, option: "auth" });
        throw remote;
      }
      for (const name of listHosts(caller, context)) {
        if (isKnown(name, context.local)) continue;
        if (hosts !== undefined) report?.(describeHost(name));
        throw refuse("This host name is not allowed; the server's log says how to allow it");
      }
      return { origin: findOrigin(caller, context), isRemote: remote !== undefined };
    },
  };
}

/** The refusal of a request that may come from another machine. The message names the options that allow it. */
function refuseRemote(why: string): LoomError {
  return new LoomError(
    "forbidden",
    `Authentication is off, so only this machine can connect, others can only open share links, and ${why}. Set the option \`auth\`, or set \`allowPublic: true\` to let every client that reaches this handler use its agents and tools`,
  );
}

/** Undefined if the request comes directly from this machine. What is unknown counts as another one. */
function describeRemote(peer: string | undefined, headers: Headers): string | undefined {
  if (peer === undefined || peer === "")
    return "the address of the client is unknown: route handlers of Next.js, and other callers of `fetch` without the Node request in `env`, do not pass it on";
  if (!isLoopback(peer)) return `this request comes from ${peer.slice(0, 60)}`;
  const forwarding = [...headers.keys()].find((name) => FORWARDING_HEADER.test(name));
  if (forwarding === undefined) return undefined;
  return `a proxy added the header \`${forwarding}\` to this request, as development servers with a proxy do`;
}

/** All host names of a request: of the connection, of a trusted proxy and of the target. */
function listHosts({ directHost, host, url }: CheckedRequestInfo, { target }: GuardContext): ReadonlySet<string> {
  const names = new Set([directHost, host]);
  if (target !== undefined) names.add(readHost(target, url.protocol.slice(0, -1)));
  return names;
}

/**
 * Returns the origin of the request if it is a page of this machine that calls the server under a loopback name. Such a
 * page may read why it is refused, but nothing else.
 */
export function findLocalOrigin({ headers, origin: own }: CheckedRequestInfo): string | undefined {
  const origin = headers.get("origin") ?? "";
  return isLoopbackUrl(origin) && isLoopbackUrl(own) ? origin : undefined;
}

/** Whether this is an http origin of this machine, with any port. */
function isLoopbackUrl(origin: string): boolean {
  const url = URL.parse(origin);
  if (url === null || url.origin !== origin || !/^https?:$/.test(url.protocol)) return false;
  return ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
}

/** Whether the host, with any port, can only be this machine. Browsers never resolve names below `localhost` elsewhere. */
export function isLoopbackHost(host: string): boolean {
  const name = URL.parse(`http://${host}/`)?.hostname ?? "";
  return name === "localhost" || name.endsWith(".localhost") || isLoopback(name);
}

/** Browsers send `Sec-Fetch-Site` even if they omit the origin. */
function isCrossSite({ headers }: CheckedRequestInfo, { isPage }: GuardContext): boolean {
  const site = headers.get("sec-fetch-site");
  const isOtherSite = site === "cross-site" || site === "same-site";
  return isOtherSite && !(isPage && headers.get("sec-fetch-mode") === "navigate");
}

/** One host with an optional port, and no user name. */
function isValidHost(host: string): boolean {
  return URL.parse(`http://${host}/`)?.host === host || URL.parse(`https://${host}/`)?.host === host;
}

function describeHost(name: string): Notice {
  const allow = name.length <= MAX_SHOWN && isValidHost(name) ? name : undefined;
  return { kind: "host_refused", name: name.slice(0, MAX_SHOWN), option: "hosts", allow };
}

function describeOrigin(origin: string): Notice {
  const url = URL.parse(origin);
  const isHttpOrigin = url !== null && /^https?:$/.test(url.protocol) && url.origin === origin;
  const allow = isHttpOrigin && origin.length <= MAX_SHOWN ? origin : undefined;
  return { kind: "origin_refused", name: origin.slice(0, MAX_SHOWN), option: "origins", allow };
}

/** Host names of this machine on the loopback interface. */
export function listLoopbackHosts(port: number): readonly string[] {
  return ["localhost", "127.0.0.1", "::1"].map((name) => formatHost(name, port));
}

/** Formats a name or address with a port, as browsers write it. */
export function formatHost(address: string, port: number): string {
  const host = address.includes(":") ? `[${address}]` : address;
  return port === 80 ? host : `${host}:${port}`;
}

function refuse(message: string, details?: JsonObject): LoomError {
  return new LoomError("forbidden", message, details);
}
