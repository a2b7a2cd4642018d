/**
 * Who may come in at all, before anybody asks who they are: a page of another site must not make a browser speak to this
 * server, neither under our name (Origin) nor under a name of its own that leads here (Host).
 *
 * Invariant: nothing behind it is reached by what it refuses, over HTTP or as a socket.
 */
import { LoomError } from "../../protocol/index.ts";
import type { KnownAsker } from "./read-asker.ts";

export interface GuardOptions {
  /** Names by which the server may be asked, with their port; undefined: by any. May grow after it was given. */
  readonly hosts: ReadonlySet<string> | undefined;
  /** Other sites whose pages may ask. */
  readonly origins: ReadonlySet<string>;
}

export interface Visit {
  /** A person who follows a link comes from another site, too. */
  readonly isPage: boolean;
  /** Where the connection came in, as a host would name it; a bare address is no name that could lead astray. */
  readonly local?: string | undefined;
}

export interface Guard {
  /** The origin that has to be told it may read the answer, if any. Throws `forbidden`. */
  admit(asker: KnownAsker, visit: Visit): string | undefined;
}

export function createGuard({ hosts, origins }: GuardOptions): Guard {
  const isKnown = (host: string, local: string | undefined): boolean =>
    hosts === undefined || hosts.has(host) || host === local;
  return {
    admit(asker, visit) {
      const { directHost, host } = asker;
      for (const name of new Set([directHost, host]))
        if (!isKnown(name, visit.local))
          throw refuse(`this server is not asked by the name ${show(name)}; the option \`hosts\` allows names`);
      return admitOrigin(asker, visit, origins);
    },
  };
}

function admitOrigin(asker: KnownAsker, visit: Visit, origins: ReadonlySet<string>): string | undefined {
  const { headers } = asker;
  const origin = headers.get("origin");
  if (origin === null || origin === "") {
    const site = headers.get("sec-fetch-site");
    const isElsewhere = site === "cross-site" || site === "same-site";
    if (isElsewhere && !(visit.isPage && headers.get("sec-fetch-mode") === "navigate"))
      throw refuse("pages of other sites may not ask this server");
    return undefined;
  }
  if (origins.has(origin)) return origin;
  if (origin.toLowerCase() === asker.origin) return undefined;
  throw refuse(
    `pages of ${show(origin)} may not ask this server, which is ${show(asker.origin)} to them; ` +
      "the option `origins` allows others, and behind a proxy `trustedProxies` lets it say by which name it was asked",
  );
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

function show(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}

function refuse(message: string): LoomError {
  return new LoomError("forbidden", message);
}
