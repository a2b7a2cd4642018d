/**
 * Sends an error response on a raw connection, for rejected WebSocket upgrades and unreadable requests, and closes it.
 * The response has the same headers as every other one.
 */
import { randomUUID } from "node:crypto";
import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { ServerCore } from "../api/server-core.ts";
import { createResponseHeaders } from "./response-headers.ts";
import { describeProblem, type RefuseOptions } from "../api/refuse-request.ts";

export interface RefuseUpgradeOptions extends RefuseOptions {
  readonly requestId?: string;
  /** Whether the client uses https. */
  readonly isSecure?: boolean;
}

export function refuseUpgrade(
  core: Pick<ServerCore, "report">,
  socket: Duplex,
  error: unknown,
  { requestId = randomUUID(), isSecure = false, ...options }: RefuseUpgradeOptions = {},
): void {
  const { problem, headers } = describeProblem(core, error, requestId, options);
  const body = JSON.stringify(problem);
  const head = {
    ...createResponseHeaders({ requestId, isSecure }),
    ...headers,
    connection: "close",
    "content-length": String(Buffer.byteLength(body)),
  };
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`);
  // The client may have disconnected.
  socket.on("error", () => undefined);
  // Do not wait for the client to close its side.
  socket.once("finish", () => socket.destroy());
  const { status } = problem;
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("")}\r\n${body}`);
}
