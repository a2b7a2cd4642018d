/**
 * The whole server as a handler: functions that another server mounts, on Node or on any runtime with `Request` and
 * `Response`. It does not listen, and it does not close the log or the blob store.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { getRequestListener } from "@hono/node-server";
import { createCallbackObserver } from "../observe/index.ts";
import { shield } from "../observe/shield.ts";
import { isLoomError } from "../protocol/index.ts";
import { openResponseStream } from "./clients/openai/start-response.ts";
import { OPERATIONS } from "./operations.ts";
import { createAgentBlobs } from "./blobs/create-agent-blobs.ts";
import { createCommandHost } from "./commands/command-host.ts";
import { type Auditor, createAuditor, NO_AUDIT, sourceOf } from "./auth/audit/auditor.ts";
import { createAccess } from "./auth/create-access.ts";
import { createOpenAccess, type LinkStore } from "./auth/open-access.ts";
import type { Authorize } from "./auth/authorize.ts";
import { OutageReporter } from "./guard/outage-reporter.ts";
import { createGuard, type GuardOptions } from "./guard/create-guard.ts";
import { warnOfNotice } from "./guard/notice.ts";
import { readHost } from "./guard/read-request-info.ts";
import { readProxies } from "./guard/read-proxies.ts";
import { checkHandlerOptions, type LoomHandlerOptions } from "./handler-options.ts";
import { admitUpgrade } from "./http/admit-upgrade.ts";
import { refuseMalformed, refuseUnknownUpgrade } from "./http/answer-malformed.ts";
import { answerRequest, type RequestPipeline } from "./http/answer-request.ts";
import { createApp } from "./http/create-app.ts";
import { findOriginalUrl, readNodeBindings } from "./http/node-bindings.ts";
import { shouldStream, sendOnNode } from "./http/send-on-node.ts";
import { readBasePath } from "./http/strip-base.ts";
import { readPackageVersion } from "./read-package-version.ts";
import { createRunDispatcher } from "./runs/create-run-dispatcher.ts";
import { createGates } from "./api/gates.ts";
import type { ServerCore } from "./api/server-core.ts";
import { readLimits } from "./guard/server-limits.ts";
import { createSockets, SOCKET_PATHS } from "./sockets/create-sockets.ts";
import { createStreams } from "./streams/create-streams.ts";

/** Options of `LoomHandler.close` and `LoomServer.close`. */
export interface CloseHandlerOptions {
  /** Milliseconds that live runs have to finish. Default: the limit `graceMs`. */
  readonly graceMs?: number;
}

/** The server as functions that another server mounts. */
export interface LoomHandler {
  /**
   * Answers a request, for runtimes with `Request` and `Response`: `Bun.serve`, a Hono route, a Next.js route. On Node
   * with Hono pass `context.env` as `env`, so that streams are written to the socket directly.
   */
  readonly fetch: (request: Request, env?: unknown) => Promise<Response>;
  /**
   * Request listener for Node: `createServer(handler.listener)`, or `app.use("/agents", handler.listener)` in Express.
   */
  readonly listener: (incoming: IncomingMessage, outgoing: ServerResponse) => void;
  /**
   * Handles the `upgrade` event of a Node server. Returns false, and leaves the socket alone, if the path is not one of
   * this handler's WebSocket paths.
   */
  readonly upgrade: (incoming: IncomingMessage, socket: Duplex, head: Buffer) => boolean;
  /**
   * Resolves when the first search for runs that other processes abandoned has finished. The handler answers requests
   * before that, and `/readyz` reports 503. Rejects if the store cannot be read; the handler retries every second.
   */
  readonly ready: Promise<void>;
  /**
   * Makes `/readyz` answer 503, so that load balancers stop sending requests; all requests are still answered. Call it
   * some seconds before `close`.
   */
  drain(): void;
  /**
   * Shuts the handler down: rejects new runs, waits up to `graceMs` for live runs, closes streams and sockets so that
   * clients reconnect and resume, and releases the sessions. It does not close the log or the blob store. Further calls
   * return the same promise.
   */
  close(options?: CloseHandlerOptions): Promise<void>;
}

/** Delay before the next attempt to search the store for abandoned runs. */
const RECOVERY_RETRY_MS = 1000;

/**
 * Creates the whole server as a handler without a port, to mount in another server. Throws `invalid_arguments` for an
 * invalid option. Close it before the log. Without `auth` and `allowPublic` it answers only requests that come directly
 * from this machine, and those with a share link.
 *
 * ```ts
 * const auth = { credentials: openCredentials("chats.db-auth") };
 * const loom = createLoomHandler({ log: new MemoryLog(), agents: { helper }, basePath: "/agents", auth });
 * const server = createServer(loom.listener);
 * server.on("upgrade", (request, socket, head) => {
 *   if (!loom.upgrade(request, socket, head)) socket.destroy();
 * });
 * ```
 */
export function createLoomHandler(options: LoomHandlerOptions): LoomHandler {
  const { hosts } = options;
  checkHandlerOptions(options);
  const { auth, allowPublic = false } = options;
  const isLocalOnly = auth === undefined && !allowPublic;
  const named = hosts === undefined ? undefined : readHosts(hosts);
  return buildHandler(options, named, { isLocalOnly, localHosts: named });
}

export function readHosts(hosts: readonly string[]): Set<string> {
  return new Set(hosts.map((host) => readHost(host, "http")));
}

/** How a handler is reached. */
export interface HandlerReach extends Pick<GuardOptions, "isLocalOnly" | "localHosts"> {
  readonly networkOrigin?: ServerCore["networkOrigin"];
}

/**
 * Creates the handler from checked options. `hosts` are the accepted `Host` headers, undefined for any;
 * `startLoomServer` knows them only after it listens. `isLocalOnly` refuses requests that may come from other machines,
 * except those with a share link.
 */
export function buildHandler(
  options: LoomHandlerOptions,
  hosts: ReadonlySet<string> | undefined,
  { networkOrigin, ...reach }: HandlerReach,
): LoomHandler {
  const { origins = [], devOrigins = false, notify = warnOfNotice, trustedProxies = [], page, images = true } = options;
  const closing = new AbortController();
  const state = { isReady: false, isDraining: false };
  const reporter = new OutageReporter(options.log.monitor, options.onError);
  const { onError } = reporter;
  const report = (error: unknown): string => reporter.report(error);
  const onLoginError = (error: unknown): void => void reporter.reportOrWarn(error);
  const { callbacks = [] } = options;
  const callbackObserver = callbacks.length === 0 ? undefined : createCallbackObserver(callbacks, { onError: report });
  const observers = [...(options.observers ?? []), ...(callbackObserver === undefined ? [] : [callbackObserver])];
  const core = createCore(
    { ...options, observers, ...(onError === undefined ? {} : { onError }) },
    {
      closing: closing.signal,
      report,
      isReady: () => state.isReady,
      isDraining: () => state.isDraining,
      networkOrigin,
    },
    onLoginError,
  );
  const { meter } = options;
  const unwatchStore = options.log.monitor?.watch((fault, warning) => {
    if (warning !== undefined) report(warning);
    if (fault === undefined || !reporter.reportFault(fault)) return;
    shield(() => meter?.countStoreFault?.(fault.code), report);
  });
  const operations = images ? OPERATIONS : OPERATIONS.filter(({ action }) => action !== "images.read");
  const pipeline: RequestPipeline = {
    core,
    app: createApp(core, { operations, page, socketPaths: SOCKET_PATHS }),
    guard: createGuard({ hosts, origins: new Set(origins), devOrigins, ...reach, notify }),
    proxies: readProxies(trustedProxies),
    variesByOrigin: devOrigins || origins.length > 0,
  };
  const sockets = createSockets(core, openResponseStream);
  const unwatchServer = meter?.watchServer?.({
    log: options.log.monitor,
    heldBytes: { channels: () => core.streams.heldBytes, sockets: () => sockets.pendingBytes },
    heldSessions: () => core.runs.size,
    openSockets: () => sockets.size,
  });
  const fetch = (request: Request, env?: unknown): Promise<Response> => answerRequest(pipeline, request, env);
  const listen = createListener(core, fetch);
  let retryTimer: NodeJS.Timeout | undefined;
  const recover = async (): Promise<void> => {
    try {
      await core.runs.start();
      state.isReady = true;
    } catch (error) {
      // The store may only be busy for a moment. `/readyz` reports 503 until an attempt succeeds.
      const retry = (): void => void recover().catch((cause: unknown) => core.report(cause));
      if (!closing.signal.aborted) retryTimer = setTimeout(retry, RECOVERY_RETRY_MS).unref();
      throw error;
    }
  };
  const ready = recover();
  ready.catch((error: unknown) => core.report(error));
  let closed: Promise<void> | undefined;
  const close = async ({ graceMs = core.limits.graceMs }: CloseHandlerOptions): Promise<void> => {
    closing.abort();
    clearTimeout(retryTimer);
    unwatchStore?.();
    // Every step runs even if an earlier one fails, so that no client is left waiting.
    const steps = [
      () => core.runs.close({ graceMs }),
      () => core.streams.close(),
      () => sockets.close(),
      () => core.access.close(),
      () => core.auditor.close(),
      () => callbackObserver?.flush(),
      () => callbackObserver?.close(),
      () => unwatchServer?.(),
    ];
    for (const step of steps)
      try {
        await step();
      } catch (error) {
        core.report(error);
      }
  };
  return {
    fetch,
    listener: listen,
    upgrade(incoming, socket, head) {
      const admitted = admitUpgrade(pipeline, incoming, socket, SOCKET_PATHS);
      if (admitted === undefined) return false;
      void admitted.then((caller) => {
        if (caller === undefined || sockets.upgrade(incoming, socket, head, caller)) return;
        refuseUnknownUpgrade(socket);
      });
      return true;
    },
    ready,
    drain() {
      state.isDraining = true;
    },
    close: (closeOptions = {}) => (closed ??= close(closeOptions)),
  };
}

function createCore(
  options: LoomHandlerOptions,
  lifecycle: Pick<ServerCore, "closing" | "report" | "isReady" | "isDraining" | "networkOrigin">,
  onLoginError: (error: unknown) => void,
): ServerCore {
  const { log, agents, defaultAgent, blobs, authorize, meter, register, onError, debug = false } = options;
  const { observers = [], knowledge, strict, timestamps, fetchAttachments = false } = options;
  const limits = readLimits(options.limits);
  const basePath = readBasePath(options.basePath);
  const onFault = (error: unknown): void => void lifecycle.report(error);
  const { audit, auditRequired: isRequired } = options;
  const auditor =
    audit === undefined
      ? NO_AUDIT
      : createAuditor({ audit, isRequired, onError: onFault, onFailure: () => meter?.countAuditFailure?.() });
  const dependencies = { log, onError: onFault, onLoginError, meter, auditor };
  const access =
    options.auth === undefined
      ? createOpenAccess(findLinkStore(options.links), dependencies)
      : createAccess(options.auth, dependencies);
  const authorizeAll = authorize === undefined ? access.authorize : combineAuthorize(access.authorize, authorize);
  const runs = createRunDispatcher({
    ...options.runs,
    log,
    agents,
    admit: ({ request, signal }) => access.admitTurn({ actor: request.actor, signal }),
    onUsage: (actor, tokens) => access.countTokens(actor, tokens),
    observers: [...observers, ...access.observers],
    ...(blobs === undefined ? {} : { blobs: createAgentBlobs(blobs, { basePath, log }) }),
    ...(defaultAgent === undefined ? {} : { defaultAgent }),
    ...(onError === undefined ? {} : { onError }),
  });
  return {
    log,
    limits,
    streams: createStreams({ log, limits, meter, debug, strict, timestamps, onError: lifecycle.report }),
    runs,
    blobs,
    fetchedHosts: fetchAttachments === true ? [] : fetchAttachments === false ? undefined : fetchAttachments.allow,
    knowledge,
    commands: createCommandHost({
      log,
      runs,
      limits,
      blobs,
      maxQueued: options.runs?.session?.maxQueuedRuns,
      report: lifecycle.report,
    }),
    access,
    authorize: auditor === NO_AUDIT ? authorizeAll : recordRefusals(authorizeAll, auditor),
    auditor,
    gates: createGates(limits),
    meter,
    register,
    basePath,
    version: readPackageVersion(),
    ...lifecycle,
  };
}

function findLinkStore(links: LoomHandlerOptions["links"]): LinkStore | undefined {
  if (links === undefined || "open" in links) return links;
  return { find: () => Promise.resolve(links), open: () => Promise.resolve(links) };
}

/** Records refusals of credentials that are valid but do not allow the action. */
function recordRefusals(authorize: Authorize, auditor: Auditor): Authorize {
  return async (request) => {
    try {
      await authorize(request);
    } catch (error) {
      const { caller, action: permission, session } = request;
      const target = { permission, ...(session === undefined ? {} : { session }) };
      if (isLoomError(error, "forbidden"))
        auditor.record({ action: "permission.refuse", source: sourceOf(caller), target }, error.code);
      throw error;
    }
  };
}

function combineAuthorize(first: Authorize, second: Authorize): Authorize {
  return async (request) => {
    await first(request);
    await second(request);
  };
}

function createListener(core: ServerCore, fetch: LoomHandler["fetch"]): LoomHandler["listener"] {
  const answer = async (request: Request, env: unknown): Promise<Response> => {
    const response = await fetch(request, env);
    const { outgoing } = readNodeBindings(env);
    return outgoing !== undefined && shouldStream(response) ? sendOnNode(core, response, outgoing) : response;
  };
  const listen = getRequestListener(answer, {
    overrideGlobalObjects: false,
    errorHandler: () => refuseMalformed(),
  });
  return (incoming, outgoing) => {
    const url = incoming.url;
    const whole = findOriginalUrl(incoming, core.basePath);
    // `listen` reads the URL synchronously. Restore it afterwards for the server that mounted the handler.
    if (whole !== undefined) incoming.url = whole;
    void listen(incoming, outgoing).catch((error: unknown) => core.report(error));
    if (whole !== undefined && url !== undefined) incoming.url = url;
  };
}
