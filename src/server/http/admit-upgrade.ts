/**
 * Applies the checks of a request to a WebSocket upgrade, before it is accepted. Upgrades for other paths are left to
 * other handlers of the HTTP server.
 */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { LoomError } from "../../protocol/index.ts";
import { unauthorized } from "../auth/principal.ts";
import type { Caller } from "../auth/authorize.ts";
import { bringsLink } from "../auth/request-credentials.ts";
import { readRequestInfo } from "../guard/read-request-info.ts";
import type { RequestPipeline } from "./answer-request.ts";
import { readRequestId } from "./response-headers.ts";
import { describeLocal, readTarget } from "./node-bindings.ts";
import { assertKnownQuery } from "./read-query.ts";
import { refuseUpgrade } from "./refuse-upgrade.ts";

/**
 * Returns undefined, without touching the socket, if the path is not a socket endpoint. Otherwise resolves to the
 * caller, or to undefined after a rejection was sent. Never rejects.
 */
export function admitUpgrade(
  { core, guard, proxies }: RequestPipeline,
  request: IncomingMessage,
  socket: Duplex,
  socketPaths: ReadonlySet<string>,
): Promise<Caller | undefined> | undefined {
  const isSecure = "encrypted" in request.socket && request.socket.encrypted === true;
  const url = URL.parse(request.url ?? "/", `${isSecure ? "https" : "http"}://${request.headers.host ?? "localhost"}`);
  if (url === null || !url.pathname.startsWith(core.basePath)) return undefined;
  const path = url.pathname.slice(core.basePath.length);
  if (!socketPaths.has(path)) return undefined;
  const peer = request.socket.remoteAddress;
  const headers = readHeaders(request);
  const requestId = readRequestId(headers.get("x-request-id"));
  const info = readRequestInfo({ method: "UPGRADE", headers, url, peer, requestId }, proxies);
  const admit = async (): Promise<Caller> => {
    const { isRemote } = guard.admit(info, {
      isPage: false,
      peer,
      local: describeLocal(request),
      target: readTarget(request),
      isForLink: bringsLink(info),
    });
    if (core.closing.aborted)
      throw new LoomError("shutting_down", "The server is shutting down; try again in a moment");
    const known = { ...info, isRemote };
    const caller = { ...known, ...(await core.access.identify(known)) };
    if (path.startsWith("/v1/")) assertKnownQuery([], url.searchParams);
    // No socket endpoint is public.
    if (caller.principal.kind === "anonymous" && caller.shares.length === 0) throw unauthorized(false);
    return caller;
  };
  // The client may disconnect during authentication.
  socket.on("error", ignore);
  return admit()
    .catch((error: unknown) => {
      refuseUpgrade(core, socket, error, { requestId, isSecure: info.origin.startsWith("https:") });
      return undefined;
    })
    .finally(() => socket.off("error", ignore));
}

function ignore(): void {
  return undefined;
}

function readHeaders({ headersDistinct }: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(headersDistinct))
    for (const value of values) headers.append(name, value);
  return headers;
}
