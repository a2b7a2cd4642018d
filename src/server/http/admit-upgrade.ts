/**
 * A connection that wants to become a socket: the same checks as for a request, before anything is accepted. Paths that
 * are not ours are left alone, for whoever else is there.
 */
import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { LoomError } from "../../protocol/index.ts";
import type { Asker } from "../guard/authorize.ts";
import { readAsker } from "../guard/read-asker.ts";
import type { Entrance } from "./answer-request.ts";
import { describeLocal } from "./node-bindings.ts";
import { describeRefusal } from "./refuse-request.ts";
import { statusOf } from "./status-of.ts";

/** Whoever asks; `refused` where they were told no, undefined where the path is not ours. */
export function admitUpgrade(
  { core, guard, proxies }: Entrance,
  request: IncomingMessage,
  socket: Duplex,
  socketPaths: ReadonlySet<string>,
): Asker | "refused" | undefined {
  const isSecure = "encrypted" in request.socket && request.socket.encrypted === true;
  const url = URL.parse(request.url ?? "/", `${isSecure ? "https" : "http"}://${request.headers.host ?? "localhost"}`);
  if (url === null || !url.pathname.startsWith(core.basePath)) return undefined;
  if (!socketPaths.has(url.pathname.slice(core.basePath.length))) return undefined;
  try {
    const peer = request.socket.remoteAddress;
    const asker = readAsker({ headers: readHeaders(request), url, peer }, proxies);
    guard.admit(asker, { isPage: false, local: describeLocal(request) });
    if (core.closing.aborted)
      throw new LoomError("shutting_down", "the server is about to stop: ask again in a moment");
    return asker;
  } catch (error) {
    refuseUpgrade(core, socket, error);
    return "refused";
  }
}

function refuseUpgrade(core: Entrance["core"], socket: Duplex, error: unknown): void {
  const refusal = describeRefusal(core, error);
  const status = statusOf(refusal.code);
  const body = JSON.stringify(refusal);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
    "connection: close",
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    ...(status === 503 ? ["retry-after: 1"] : []),
  ];
  // Whoever is refused may be gone already.
  socket.on("error", () => undefined);
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}

function readHeaders({ headersDistinct }: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(headersDistinct))
    for (const value of values) headers.append(name, value);
  return headers;
}
