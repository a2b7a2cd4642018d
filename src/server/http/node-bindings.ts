/** Access to Node's request and response objects behind a web `Request`. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { NodeBindings } from "../api/operation.ts";
import { formatHost } from "../guard/create-guard.ts";
import { readAddress } from "../guard/read-proxies.ts";

/** Reads them from the environment that a Node adapter passes on; empty on other servers. */
export function readNodeBindings(env: unknown): NodeBindings {
  if (typeof env !== "object" || env === null) return {};
  const { incoming, outgoing } = env as { readonly incoming?: IncomingMessage; readonly outgoing?: ServerResponse };
  if (typeof incoming?.socket !== "object" || typeof outgoing?.writeHead !== "function") return {};
  return { incoming, outgoing };
}

/** Local address of the connection, formatted as a host. */
export function describeLocal(incoming: IncomingMessage | undefined): string | undefined {
  const { localAddress, localPort } = incoming?.socket ?? {};
  if (localAddress === undefined || localPort === undefined) return undefined;
  const address = readAddress(localAddress);
  return address === undefined ? undefined : formatHost(address, localPort);
}

/**
 * Returns the host of a request target that is an absolute URL, as in requests to proxies; undefined for a path, empty
 * if it cannot be parsed.
 */
export function readTarget(incoming: IncomingMessage | undefined): string | undefined {
  const target = incoming?.url ?? "/";
  if (target.startsWith("/") || target === "*") return undefined;
  return URL.parse(target)?.host ?? "";
}

/** Frameworks remove the mount path from `url` and keep the full path in `originalUrl`. */
export function findOriginalUrl(incoming: IncomingMessage, basePath: string): string | undefined {
  const { originalUrl } = incoming as { readonly originalUrl?: unknown };
  if (basePath === "" || typeof originalUrl !== "string" || !originalUrl.startsWith(basePath)) return undefined;
  return originalUrl;
}
