/**
 * What a server of Node would answer by itself, in our words: heads that cannot be read, are too long or take too long,
 * and expectations nobody can meet. It knows no door.
 */
import { randomUUID } from "node:crypto";
import type { Server } from "node:http";
import type { Duplex } from "node:stream";
import { LoomError } from "../../protocol/index.ts";
import { createAnswerHeaders, readRequestId } from "./answer-headers.ts";
import { describeProblem, refuseRequest } from "./refuse-request.ts";
import { refuseUpgrade } from "./refuse-upgrade.ts";

/** All that is said here is known beforehand: there is nothing to report. */
const QUIET = { report: (): string => randomUUID() };

/** Before the server takes connections. */
export function answerMalformed(server: Server): void {
  /** An answer is under way there: another would be read as a part of it. */
  const busy = new WeakSet<Duplex>();
  const mark = (socket: Duplex, answer: { once(event: "close", listener: () => void): unknown }): void => {
    busy.add(socket);
    answer.once("close", () => busy.delete(socket));
  };
  server.on("request", ({ socket }, outgoing) => mark(socket, outgoing));
  server.on("checkExpectation", (incoming, outgoing) => {
    mark(incoming.socket, outgoing);
    const requestId = readRequestId(null);
    const error = new LoomError("unsupported", "what is expected of this server in `Expect` it cannot do");
    const { problem, headers } = describeProblem(QUIET, error, requestId, { status: 417 });
    const plain = createAnswerHeaders({ requestId, origin: undefined, variesByOrigin: false });
    const body = JSON.stringify(problem);
    const length = { "content-length": Buffer.byteLength(body), connection: "close" };
    outgoing.writeHead(problem.status, { ...plain, ...headers, ...length });
    outgoing.end(body);
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    if (error.code === "ECONNRESET" || !socket.writable || busy.has(socket)) {
      socket.destroy();
      return;
    }
    const [refused, status] = TROUBLES[error.code ?? ""] ?? UNREADABLE;
    refuseUpgrade(QUIET, socket, refused(), { status });
  });
}

/** To one that wants to become a socket where there is none. */
export function refuseStrayUpgrade(socket: Duplex): void {
  refuseUpgrade(QUIET, socket, new LoomError("not_found", "there is no WebSocket at this address"));
}

/** To an address or a host from which no request can be made. */
export function refuseMalformed(): Response {
  const requestId = readRequestId(null);
  const error = new LoomError("invalid_request", "the address or the host is not well written");
  const plain = createAnswerHeaders({ requestId, origin: undefined, variesByOrigin: false });
  const response = refuseRequest(QUIET, error, requestId);
  for (const [name, value] of Object.entries(plain)) response.headers.set(name, response.headers.get(name) ?? value);
  return response;
}

type Trouble = readonly [refused: () => LoomError, status: number];

const UNREADABLE: Trouble = [() => new LoomError("invalid_request", "this is no request that can be read"), 400];

const TROUBLES: { readonly [code: string]: Trouble } = {
  HPE_HEADER_OVERFLOW: [() => new LoomError("invalid_request", "the head of the request is too long"), 431],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [() => new LoomError("body_too_large", "the chunks say too much"), 413],
  ERR_HTTP_REQUEST_TIMEOUT: [() => new LoomError("request_timeout", "the request took too long to come"), 408],
};
