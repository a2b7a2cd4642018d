/** The objects of Node under a request, where there are some. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { NodeBindings } from "../api/operation.ts";
import { formatHost } from "../guard/create-guard.ts";
import { readAddress } from "../guard/read-proxies.ts";

/** From what a server on Node hands on with a request; nothing where it is another. */
export function readNodeBindings(env: unknown): NodeBindings {
  if (typeof env !== "object" || env === null) return {};
  const { incoming, outgoing } = env as { readonly incoming?: IncomingMessage; readonly outgoing?: ServerResponse };
  if (typeof incoming?.socket !== "object" || typeof outgoing?.writeHead !== "function") return {};
  return { incoming, outgoing };
}

/** Where a connection came in, as a host would name it. */
export function describeLocal(incoming: IncomingMessage | undefined): string | undefined {
  const { localAddress, localPort } = incoming?.socket ?? {};
  if (localAddress === undefined || localPort === undefined) return undefined;
  const address = readAddress(localAddress);
  return address === undefined ? undefined : formatHost(address, localPort);
}

/**
 * The name in the target of a request that is a whole address, as those to proxies are; undefined where it is a path.
 * Empty where it cannot be read.
 */
export function readTarget(incoming: IncomingMessage | undefined): string | undefined {
  const target = incoming?.url ?? "/";
  if (target.startsWith("/") || target === "*") return undefined;
  return URL.parse(target)?.host ?? "";
}

/** Somebody who mounts us under a path takes it off `url`, and keeps the whole as `originalUrl`. */
export function findWholeUrl(incoming: IncomingMessage, basePath: string): string | undefined {
  const { originalUrl } = incoming as { readonly originalUrl?: unknown };
  if (basePath === "" || typeof originalUrl !== "string" || !originalUrl.startsWith(basePath)) return undefined;
  return originalUrl;
}
