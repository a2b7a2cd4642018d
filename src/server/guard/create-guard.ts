/**
 * Who may come in at all, before anybody asks who they are: a page of another site must not make a browser speak to this
 * server, neither under our name (Origin) nor under a name of its own that leads here (Host). Names are compared to the
 * letter, as browsers write them.
 *
 * Invariant: nothing behind it is reached by what it refuses, over HTTP or as a socket. Whoever is refused does not learn
 * who would not be; whoever runs the server does.
 */
import { LoomError } from "../../protocol/index.ts";
import { limitNotices } from "./limit-notices.ts";
import type { Notice, Notify } from "./notice.ts";
import { type CheckedRequestInfo, readHost } from "./read-request-info.ts";

export interface GuardOptions {
  /** Names by which the server may be asked, with their port; undefined: by any. May grow after it was given. */
  readonly hosts: ReadonlySet<string> | undefined;
  /** Other sites whose pages may ask. */
  readonly origins: ReadonlySet<string>;
  /** Told of those who were refused, each once in a minute. */
  readonly notify?: Notify | undefined;
}

export interface Visit {
  /** A person who follows a link comes from another site, too. */
  readonly isPage: boolean;
  /** Where the connection came in, as a host would name it; a bare address is no name that could lead astray. */
  readonly local?: string | undefined;
  /** The name in the request's target, where that is a whole address. */
  readonly target?: string | undefined;
}

export interface Guard {
  /** The origin that has to be told it may read the answer, if any. Throws `forbidden`. */
  admit(caller: CheckedRequestInfo, visit: Visit): string | undefined;
}

const MAX_SHOWN = 200;

export function createGuard({ hosts, origins, notify }: GuardOptions): Guard {
  const tell = notify === undefined ? undefined : limitNotices(notify);
  const isKnown = (host: string, local: string | undefined): boolean =>
    hosts === undefined ? isWellWritten(host) : hosts.has(host) || host === local;
  return {
    admit(caller, visit) {
      for (const name of listNames(caller, visit)) {
        if (isKnown(name, visit.local)) continue;
        if (hosts !== undefined) tell?.(describeHost(name));
        throw refuse("this server is not asked by this name; its log says how to allow it");
      }
      const origin = caller.headers.get("origin") ?? "";
      if (origin === "") {
        if (isOfAnotherSite(caller, visit)) throw refuse("pages of other sites may not ask this server");
        return undefined;
      }
      if (origins.has(origin)) return origin;
      if (origin === caller.origin) return undefined;
      tell?.(describeOrigin(origin));
      throw refuse("pages of this origin may not ask this server; its log says how to allow it");
    },
  };
}

/** All by which the server was asked: that of the connection, what a trusted proxy says, what the target says. */
function listNames({ directHost, host, url }: CheckedRequestInfo, { target }: Visit): ReadonlySet<string> {
  const names = new Set([directHost, host]);
  if (target !== undefined) names.add(readHost(target, url.protocol.slice(0, -1)));
  return names;
}

/** Browsers say so where they hide the origin. */
function isOfAnotherSite({ headers }: CheckedRequestInfo, { isPage }: Visit): boolean {
  const site = headers.get("sec-fetch-site");
  const isElsewhere = site === "cross-site" || site === "same-site";
  return isElsewhere && !(isPage && headers.get("sec-fetch-mode") === "navigate");
}

/** One name with a port at most: not two, and nobody's name before it. */
function isWellWritten(host: string): boolean {
  return URL.parse(`http://${host}/`)?.host === host || URL.parse(`https://${host}/`)?.host === host;
}

function describeHost(name: string): Notice {
  const allow = name.length <= MAX_SHOWN && isWellWritten(name) ? name : undefined;
  return { what: "host_refused", name: name.slice(0, MAX_SHOWN), option: "hosts", allow };
}

function describeOrigin(origin: string): Notice {
  const url = URL.parse(origin);
  const isOne = url !== null && /^https?:$/.test(url.protocol) && url.origin === origin;
  const allow = isOne && origin.length <= MAX_SHOWN ? origin : undefined;
  return { what: "origin_refused", name: origin.slice(0, MAX_SHOWN), option: "origins", allow };
}

/** The names of this machine for itself. */
export function listLoopbackHosts(port: number): readonly string[] {
  return ["localhost", "127.0.0.1", "::1"].map((name) => formatHost(name, port));
}

/** A name or a bare address and a port, as a browser writes them. */
export function formatHost(address: string, port: number): string {
  const host = address.includes(":") ? `[${address}]` : address;
  return port === 80 ? host : `${host}:${port}`;
}

function refuse(message: string): LoomError {
  return new LoomError("forbidden", message);
}
