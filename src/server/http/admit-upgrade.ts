/**
 * A connection that wants to become a socket: the same checks as for a request, before anything is accepted. Paths that
 * are not ours are left alone, for whoever else is there.
 */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { LoomError } from "../../protocol/index.ts";
import { unauthorized } from "../auth/unauthorized.ts";
import type { Caller } from "../guard/authorize.ts";
import { readRequestInfo } from "../guard/read-request-info.ts";
import type { Entrance } from "./answer-request.ts";
import { readRequestId } from "./answer-headers.ts";
import { describeLocal, readTarget } from "./node-bindings.ts";
import { refuseUpgrade } from "./refuse-upgrade.ts";

/**
 * Undefined where the path is not ours: then nothing was done. Else whoever asks, or undefined where they were told no.
 * Never rejects.
 */
export function admitUpgrade(
  { core, guard, proxies }: Entrance,
  request: IncomingMessage,
  socket: Duplex,
  socketPaths: ReadonlySet<string>,
): Promise<Caller | undefined> | undefined {
  const isSecure = "encrypted" in request.socket && request.socket.encrypted === true;
  const url = URL.parse(request.url ?? "/", `${isSecure ? "https" : "http"}://${request.headers.host ?? "localhost"}`);
  if (url === null || !url.pathname.startsWith(core.basePath)) return undefined;
  if (!socketPaths.has(url.pathname.slice(core.basePath.length))) return undefined;
  const peer = request.socket.remoteAddress;
  const stranger = readRequestInfo({ method: "UPGRADE", headers: readHeaders(request), url, peer }, proxies);
  const admit = async (): Promise<Caller> => {
    guard.admit(stranger, { isPage: false, local: describeLocal(request), target: readTarget(request) });
    if (core.closing.aborted)
      throw new LoomError("shutting_down", "the server is about to stop: ask again in a moment");
    const caller = { ...stranger, ...(await core.access.identify(stranger)) };
    // Whatever would be asked for there is not for them.
    if (caller.principal.kind === "nobody" && caller.shares.length === 0) throw unauthorized(false);
    return caller;
  };
  // One who leaves while it is found out who it is must not break anything.
  socket.on("error", ignore);
  return admit()
    .catch((error: unknown) => {
      const requestId = readRequestId(stranger.headers.get("x-request-id"));
      refuseUpgrade(core, socket, error, { requestId, isSecure: stranger.origin.startsWith("https:") });
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
