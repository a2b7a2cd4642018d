/**
 * Replaces Node's own error responses with problem documents: unreadable, oversized or slow request heads, and
 * unsupported `Expect` headers.
 */
import { randomUUID } from "node:crypto";
import type { Server } from "node:http";
import type { Duplex } from "node:stream";
import { LoomError } from "../../protocol/index.ts";
import { createResponseHeaders, readRequestId } from "./response-headers.ts";
import { describeProblem, refuseRequest } from "../api/refuse-request.ts";
import { refuseUpgrade } from "./refuse-upgrade.ts";

/** These errors are expected and not reported. */
const QUIET = { report: (): string => randomUUID() };

/** Installs the handlers. Call it before the server accepts connections. */
export function answerMalformed(server: Server): void {
  /** Connections with a response in progress: a second response would be read as part of it. */
  const busy = new WeakSet<Duplex>();
  const mark = (socket: Duplex, answer: { once(event: "close", listener: () => void): unknown }): void => {
    busy.add(socket);
    answer.once("close", () => busy.delete(socket));
  };
  server.on("request", ({ socket }, outgoing) => mark(socket, outgoing));
  server.on("checkExpectation", (incoming, outgoing) => {
    mark(incoming.socket, outgoing);
    const requestId = readRequestId(null);
    const error = new LoomError("unsupported", "The `Expect` header of this request is not supported");
    const { problem, headers } = describeProblem(QUIET, error, requestId, { status: 417 });
    const plain = createResponseHeaders({ requestId });
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
    const [refused, status] = CLIENT_ERRORS[error.code ?? ""] ?? MALFORMED_REQUEST;
    refuseUpgrade(QUIET, socket, refused(), { status });
  });
}

/** Rejects a WebSocket upgrade at a path without a socket endpoint. */
export function refuseUnknownUpgrade(socket: Duplex): void {
  refuseUpgrade(QUIET, socket, new LoomError("not_found", "No WebSocket endpoint at this URL"));
}

/** Response to a URL or host that cannot be parsed. */
export function refuseMalformed(): Response {
  const requestId = readRequestId(null);
  const error = new LoomError("invalid_request", "The URL or the Host header is malformed");
  const plain = createResponseHeaders({ requestId });
  const response = refuseRequest(QUIET, error, requestId);
  for (const [name, value] of Object.entries(plain)) response.headers.set(name, response.headers.get(name) ?? value);
  return response;
}

type ClientErrorResponse = readonly [refused: () => LoomError, status: number];

const MALFORMED_REQUEST: ClientErrorResponse = [
  () => new LoomError("invalid_request", "The HTTP request is malformed"),
  400,
];

const CLIENT_ERRORS: { readonly [code: string]: ClientErrorResponse } = {
  HPE_HEADER_OVERFLOW: [() => new LoomError("invalid_request", "The request headers are too long"), 431],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [
    () => new LoomError("body_too_large", "The chunk extensions of the request body are too long"),
    413,
  ],
  ERR_HTTP_REQUEST_TIMEOUT: [() => new LoomError("request_timeout", "The request took too long to arrive"), 408],
};
