/**
 * Runs the handler in its own Node HTTP server: listens, limits connections and shuts down in order. Listens only on
 * this machine by default.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { describeValue } from "../protocol/fault.ts";
import { LoomError } from "../protocol/index.ts";
import { formatHost, isLoopbackHost, listLoopbackHosts } from "./guard/create-guard.ts";
import { isLoopback } from "./guard/read-proxies.ts";
import { checkHandlerOptions, type LoomHandlerOptions } from "./handler-options.ts";
import { answerMalformed, refuseUnknownUpgrade } from "./http/answer-malformed.ts";
import { readBasePath } from "./http/strip-base.ts";
import { buildHandler, type CloseHandlerOptions, type LoomHandler, readHosts } from "./loom-handler.ts";
import { readLimits, type ServerLimits } from "./guard/server-limits.ts";

const DEFAULT_PORT = 10338;

/** Options of `startLoomServer`: those of the handler and the address to listen on. */
export interface LoomServerOptions extends LoomHandlerOptions {
  /** Host name or IP address to listen on. Default: `127.0.0.1`. */
  readonly host?: string | undefined;
  /** Port to listen on; 0 picks a free one. Default: 10338. */
  readonly port?: number | undefined;
  /**
   * Let other machines open share links, and nothing else, although `auth` is not set. Requests through a proxy count as
   * those of another machine then. Default: false.
   */
  readonly allowLinks?: boolean | undefined;
}

/** Options of `LoomServer.close`. */
export interface CloseServerOptions extends CloseHandlerOptions {
  /** Milliseconds in which `/readyz` answers 503 before the shutdown begins. Default: the limit `drainMs`. */
  readonly drainMs?: number;
}

/** A listening server. */
export interface LoomServer {
  /** URL of the server with the base path, without a trailing slash. */
  readonly url: string;
  /** Port it listens on. */
  readonly port: number;
  /** Handler that answers its requests. */
  readonly handler: LoomHandler;
  /**
   * Shuts the server down: answers 503 on `/readyz` for `drainMs`, stops accepting connections, closes the handler (see
   * `LoomHandler.close`), then ends the remaining connections after at most the limit `closeMs`. Further calls return
   * the same promise.
   */
  close(options?: CloseServerOptions): Promise<void>;
}

/**
 * Starts an HTTP and WebSocket server on Node and resolves when it listens.
 *
 * Throws `invalid_arguments` for an invalid option, and `listen_failed` if the address is not available. By default it
 * listens on `127.0.0.1:10338`; a host that other machines can reach needs `auth`, `allowLinks` or `allowPublic`. The server accepts
 * `Host` headers with a loopback name or with its `host` and `port`; add further names with `hosts`.
 *
 * ```ts
 * const server = await startLoomServer({ log: new MemoryLog(), agents: { main: agent({ provider: "offline" }) } });
 * console.log(server.url);
 * await server.close();
 * ```
 */
export async function startLoomServer(options: LoomServerOptions): Promise<LoomServer> {
  const { host = "127.0.0.1", port = DEFAULT_PORT, allowLinks = false, ...rest } = options;
  checkHandlerOptions(rest);
  if (typeof allowLinks !== "boolean")
    throw new LoomError("invalid_arguments", `\`allowLinks\` must be true or false, not ${describeValue(allowLinks)}`);
  const isOpen = rest.auth === undefined && rest.allowPublic !== true;
  assertAddress(host, port, !isOpen || allowLinks);
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
    const networkOrigin = (): string | undefined => findNetworkOrigin(host, address.port);
    handler = buildHandler(rest, hosts, { isLocalOnly: isOpen && allowLinks, networkOrigin });
  } catch (error) {
    server.close();
    throw error;
  }
  server.on("request", handler.listener);
  server.on("upgrade", (incoming, socket, head) => {
    // A proxy may have removed the base path.
    if (basePath !== "" && !(incoming.url ?? "").startsWith(`${basePath}/`))
      incoming.url = basePath + (incoming.url ?? "/");
    if (handler.upgrade(incoming, socket, head)) return;
    refuseUnknownUpgrade(socket);
  });
  let closed: Promise<void> | undefined;
  return {
    url: `http://${formatHost(toConnectHost(host), address.port)}${basePath}`,
    port: address.port,
    handler,
    close: (closeOptions = {}) => (closed ??= closeServer(server, sockets, handler, limits, closeOptions)),
  };
}

function createNodeServer(limits: ServerLimits): Server {
  const server = createServer({
    headersTimeout: limits.headersTimeoutMs,
    // An ingested run may be streamed for hours. JSON bodies have their own timeout.
    requestTimeout: 0,
    keepAliveTimeout: limits.keepAliveMs,
    maxHeaderSize: limits.maxHeaderBytes,
    // `answerMalformed` answers these requests, like all malformed ones.
    requireHostHeader: false,
    // Ignore offers of other protocols, such as HTTP/2, and answer over HTTP/1.1.
    shouldUpgradeCallback: ({ headers: { upgrade = "" } }) => upgrade.toLowerCase() === "websocket",
    connectionsCheckingInterval: Math.min(5_000, limits.headersTimeoutMs),
    // TCP keep-alive detects clients that disappeared without closing the connection.
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
    noDelay: true,
  });
  server.maxConnections = limits.maxConnections;
  return server;
}

function assertAddress(host: string, port: number, mayBePublic: boolean): void {
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new LoomError("invalid_arguments", `\`port\` must be an integer from 0 to 65535, not ${String(port)}`);
  if (typeof host !== "string" || host === "" || /[\s/]/.test(host))
    throw new LoomError("invalid_arguments", "`host` must be a host name or IP address of this machine");
  if (host === "localhost" || isLoopback(host) || mayBePublic) return;
  throw new LoomError(
    "invalid_arguments",
    `\`host\` is ${host}, which other machines can reach, and authentication is off: ` +
      "set `auth`, or set `allowLinks: true` to let them open share links only, or `allowPublic: true` to let every client use the agents and tools",
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
      ? "the address is already in use"
      : code === "EACCES"
        ? "permission denied"
        : code === "EADDRNOTAVAIL" || code === "ENOTFOUND"
          ? "not an address of this machine"
          : `the system reports ${code ?? "an unknown error"}`;
  return new LoomError("listen_failed", `Cannot listen on ${where}: ${why}`, { host, port }, { cause: error });
}

/** All connections, including those that were upgraded to WebSockets, which the server does not track itself. */
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
  limits: ServerLimits,
  { drainMs = limits.drainMs, ...options }: CloseServerOptions,
): Promise<void> {
  const { closeMs } = limits;
  handler.drain();
  if (drainMs > 0) await pause(drainMs);
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  await handler.close(options);
  // Responses in progress may finish; idle connections are closed at once.
  server.closeIdleConnections();
  const timer = setTimeout(() => {
    for (const socket of sockets) socket.destroy();
  }, closeMs);
  await ended;
  clearTimeout(timer);
}

/** The origin under which other machines reach the server; undefined if it listens on this machine only. */
function findNetworkOrigin(host: string, port: number): string | undefined {
  if (isLoopbackHost(formatHost(host, port))) return undefined;
  if (host !== "0.0.0.0" && host !== "::") return `http://${formatHost(host, port)}`;
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const reachable = addresses.filter(({ internal, address }) => !internal && !address.startsWith("fe80:"));
  const found = reachable.find(({ family }) => family === "IPv4") ?? (host === "::" ? reachable[0] : undefined);
  return found === undefined ? undefined : `http://${formatHost(found.address, port)}`;
}

/** Returns a host that clients can connect to. A wildcard address is replaced by the loopback address. */
function toConnectHost(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  return host === "::" ? "::1" : host;
}
