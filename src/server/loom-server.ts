/**
 * The handler with a server of its own, on Node: it listens, bounds what connections may do, and stops in good order. On
 * this machine only, unless told otherwise.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { LoomError } from "../protocol/index.ts";
import { formatHost, listLoopbackHosts } from "./guard/create-guard.ts";
import { isLoopback } from "./guard/read-proxies.ts";
import { checkHandlerOptions, type LoomHandlerOptions } from "./handler-options.ts";
import { answerMalformed, refuseStrayUpgrade } from "./http/answer-malformed.ts";
import { readBasePath } from "./http/strip-base.ts";
import { buildHandler, type CloseHandlerOptions, type LoomHandler, readHosts } from "./loom-handler.ts";
import { readLimits, type ServerLimits } from "./server-limits.ts";

const DEFAULT_PORT = 10338;

export interface LoomServerOptions extends LoomHandlerOptions {
  /** 127.0.0.1 when absent. */
  readonly host?: string | undefined;
  /** 10338 when absent; 0 for any that is free. */
  readonly port?: number | undefined;
  /** Needed for a host that others can reach where `auth` asks nobody who they are. */
  readonly allowPublic?: boolean | undefined;
}

export interface LoomServer {
  /** With the base path, without a slash at its end. */
  readonly url: string;
  readonly port: number;
  readonly handler: LoomHandler;
  /** Takes nothing new, lets runs end within the time, tells readers to come back, then ends what is left. */
  close(options?: CloseHandlerOptions): Promise<void>;
}

export async function startLoomServer(options: LoomServerOptions): Promise<LoomServer> {
  const { host = "127.0.0.1", port = DEFAULT_PORT, allowPublic = false, ...rest } = options;
  checkHandlerOptions(rest);
  assertAddress(host, port, allowPublic || rest.auth !== undefined);
  const limits = readLimits(rest.limits);
  const basePath = readBasePath(rest.basePath);
  const server = createNodeServer(limits);
  answerMalformed(server);
  const sockets = trackSockets(server);
  const { hosts: named = [] } = rest;
  const hosts = readHosts(named);
  const address = await listen(server, host, port);
  for (const name of listLoopbackHosts(address.port)) hosts.add(name);
  hosts.add(formatHost(host, address.port));
  let handler: LoomHandler;
  try {
    handler = buildHandler(rest, hosts);
  } catch (error) {
    server.close();
    throw error;
  }
  server.on("request", handler.listener);
  server.on("upgrade", (incoming, socket, head) => {
    // A proxy may have taken the base away.
    if (basePath !== "" && !(incoming.url ?? "").startsWith(`${basePath}/`))
      incoming.url = basePath + (incoming.url ?? "/");
    if (handler.upgrade(incoming, socket, head)) return;
    refuseStrayUpgrade(socket);
  });
  let closed: Promise<void> | undefined;
  return {
    url: `http://${formatHost(nameOf(host), address.port)}${basePath}`,
    port: address.port,
    handler,
    close: (how = {}) => (closed ??= closeServer(server, sockets, handler, limits, how)),
  };
}

function createNodeServer(limits: ServerLimits): Server {
  const server = createServer({
    headersTimeout: limits.headersTimeoutMs,
    // A run that is streamed in has no longest time; bodies in JSON have one of their own.
    requestTimeout: 0,
    keepAliveTimeout: limits.keepAliveMs,
    maxHeaderSize: limits.maxHeaderBytes,
    // Answered by ourselves, as everything that is malformed.
    requireHostHeader: false,
    // Other upgrades that clients offer, to HTTP/2 say, are not taken: they are answered as if they had not.
    shouldUpgradeCallback: ({ headers: { upgrade = "" } }) => upgrade.toLowerCase() === "websocket",
    connectionsCheckingInterval: Math.min(5_000, limits.headersTimeoutMs),
    // Peers that vanish are noticed, if late.
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
    noDelay: true,
  });
  server.maxConnections = limits.maxConnections;
  return server;
}

function assertAddress(host: string, port: number, mayBePublic: boolean): void {
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new LoomError("invalid_arguments", `\`port\` must be a whole number from 0 to 65535, not ${String(port)}`);
  if (typeof host !== "string" || host === "" || /[\s/]/.test(host))
    throw new LoomError("invalid_arguments", "`host` must be a name or an address of this machine");
  if (host === "localhost" || isLoopback(host) || mayBePublic) return;
  throw new LoomError(
    "invalid_arguments",
    `\`host\` is ${host}, which others can reach, and whoever reaches this server can use its agents and tools: ` +
      "say whom to let in with `auth`, or `allowPublic: true` if all of them are meant",
  );
}

async function listen(server: Server, host: string, port: number): Promise<AddressInfo> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen({ host, port }, resolve);
  try {
    await promise;
  } catch (error) {
    throw describeListenError(error, host, port);
  } finally {
    server.off("error", reject);
  }
  return server.address() as AddressInfo;
}

function describeListenError(error: unknown, host: string, port: number): LoomError {
  const { code } = error as { readonly code?: string };
  const where = formatHost(host, port);
  const why =
    code === "EADDRINUSE"
      ? "another program listens there already"
      : code === "EACCES"
        ? "this user may not listen there"
        : code === "EADDRNOTAVAIL" || code === "ENOTFOUND"
          ? "it is no address of this machine"
          : `the system says ${code ?? "no"}`;
  return new LoomError("listen_failed", `cannot listen on ${where}: ${why}`, { host, port }, { cause: error });
}

/** Those that became sockets, too, which the server itself forgets. */
function trackSockets(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  return sockets;
}

async function closeServer(
  server: Server,
  sockets: ReadonlySet<Socket>,
  handler: LoomHandler,
  { closeMs }: ServerLimits,
  how: CloseHandlerOptions,
): Promise<void> {
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  await handler.close(how);
  // Answers that are under way may end; connections that wait for another request need not.
  server.closeIdleConnections();
  const timer = setTimeout(() => {
    for (const socket of sockets) socket.destroy();
  }, closeMs);
  await ended;
  clearTimeout(timer);
}

/** An address that means all of them is none to write down. */
function nameOf(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  return host === "::" ? "::1" : host;
}
