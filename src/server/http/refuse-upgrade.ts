/**
 * The answer on a connection that has no response object: one that wanted to become a socket, or that spoke no HTTP that
 * can be read. It bears what every answer bears, and ends the connection.
 */
import { randomUUID } from "node:crypto";
import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { ServerCore } from "../server-core.ts";
import { createAnswerHeaders } from "./answer-headers.ts";
import { describeProblem, type RefuseOptions } from "./refuse-request.ts";

export interface RefuseUpgradeOptions extends RefuseOptions {
  readonly requestId?: string;
  /** Whoever asks came over https. */
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
    ...createAnswerHeaders({ requestId, origin: undefined, variesByOrigin: false, isSecure }),
    ...headers,
    connection: "close",
    "content-length": String(Buffer.byteLength(body)),
  };
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`);
  // Whoever is refused may be gone already.
  socket.on("error", () => undefined);
  // One who stays has no socket to stay on.
  socket.once("finish", () => socket.destroy());
  const { status } = problem;
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("")}\r\n${body}`);
}
