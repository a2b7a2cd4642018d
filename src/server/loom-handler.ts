/**
 * The whole server as a handler: functions that somebody's server calls, be it on Node or anywhere else where there are
 * Request and Response. It listens nowhere itself, and closes neither the log nor the blobs it was given.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { getRequestListener } from "@hono/node-server";
import { ErrorReporter } from "../engine/index.ts";
import { createCallbackObserver } from "../observe/index.ts";
import { OPERATIONS } from "./api/operations.ts";
import { createAgentBlobs } from "./blobs/create-agent-blobs.ts";
import { createCommandHost } from "./commands/create-command-host.ts";
import { createAccess } from "./auth/create-access.ts";
import { OPEN_ACCESS } from "./auth/open-access.ts";
import type { Authorize } from "./guard/authorize.ts";
import { createGuard } from "./guard/create-guard.ts";
import { readHost } from "./guard/read-request-info.ts";
import { readProxies } from "./guard/read-proxies.ts";
import { checkHandlerOptions, type LoomHandlerOptions } from "./handler-options.ts";
import { admitUpgrade } from "./http/admit-upgrade.ts";
import { refuseMalformed, refuseStrayUpgrade } from "./http/answer-malformed.ts";
import { answerRequest, type Entrance } from "./http/answer-request.ts";
import { createApp } from "./http/create-app.ts";
import { findWholeUrl, readNodeBindings } from "./http/node-bindings.ts";
import { isLong, sendOnNode } from "./http/send-on-node.ts";
import { readBasePath } from "./http/strip-base.ts";
import { readPackageVersion } from "./read-package-version.ts";
import { createRunDesk } from "./runs/create-run-desk.ts";
import type { ServerCore } from "./server-core.ts";
import { readLimits } from "./server-limits.ts";
import { createSockets, SOCKET_PATHS } from "./sockets/create-sockets.ts";
import { createStreams } from "./streams/create-streams.ts";

export interface CloseHandlerOptions {
  /** How long runs may go on; the limit `graceMs` when absent. */
  readonly graceMs?: number;
}

export interface LoomHandler {
  /** Anywhere: `Bun.serve`, a route of Hono or Next. On Node with Hono, hand on its `env`, so that streams go straight out. */
  readonly fetch: (request: Request, env?: unknown) => Promise<Response>;
  /** On Node: `createServer(handler.listener)`, `app.use("/agents", handler.listener)` in Express. */
  readonly listener: (incoming: IncomingMessage, outgoing: ServerResponse) => void;
  /** On Node, for the event `upgrade`. False where the path is not ours: then nothing was done. */
  readonly upgrade: (incoming: IncomingMessage, socket: Duplex, head: Buffer) => boolean;
  /**
   * When what other processes left has been looked through. Until then it works, and says that it is not ready. Rejects
   * where it could not look; it goes on trying, and `/readyz` tells.
   */
  readonly ready: Promise<void>;
  /** Takes no more runs, lets those that go on end within the time, tells readers to come back, and lets go of sessions. */
  close(options?: CloseHandlerOptions): Promise<void>;
}

/** Before a store that could not be looked through is looked through again. */
const LOOK_AGAIN_MS = 1000;

export function createLoomHandler(options: LoomHandlerOptions): LoomHandler {
  const { hosts } = options;
  checkHandlerOptions(options);
  return buildHandler(options, hosts === undefined ? undefined : readHosts(hosts));
}

export function readHosts(hosts: readonly string[]): Set<string> {
  return new Set(hosts.map((host) => readHost(host, "http")));
}

/** With the names by which it may be asked; a server of its own learns them only when it listens. */
export function buildHandler(options: LoomHandlerOptions, hosts: ReadonlySet<string> | undefined): LoomHandler {
  const { origins = [], trustedProxies = [], page, images = true } = options;
  const closing = new AbortController();
  const state = { isReady: false };
  const reporter = new ErrorReporter(options.onError);
  const report = (error: unknown): string => reporter.report(error);
  const { callbacks = [] } = options;
  const told = callbacks.length === 0 ? undefined : createCallbackObserver(callbacks, { onError: report });
  const observers = [...(options.observers ?? []), ...(told === undefined ? [] : [told])];
  const core = createCore({ ...options, observers }, { closing: closing.signal, report, isReady: () => state.isReady });
  const operations = images ? OPERATIONS : OPERATIONS.filter(({ action }) => action !== "images.read");
  const entrance: Entrance = {
    core,
    app: createApp(core, { operations, page, socketPaths: SOCKET_PATHS }),
    guard: createGuard({ hosts, origins: new Set(origins), notify: options.notify }),
    proxies: readProxies(trustedProxies),
    variesByOrigin: origins.length > 0,
  };
  const sockets = createSockets(core);
  const fetch = (request: Request, env?: unknown): Promise<Response> => answerRequest(entrance, request, env);
  const listen = createListener(core, fetch);
  let waiting: NodeJS.Timeout | undefined;
  const lookAround = async (): Promise<void> => {
    try {
      await core.runs.start();
      state.isReady = true;
    } catch (error) {
      // A store that is busy now is not so for good. Whoever does not wait for `ready` learns it from `/readyz`.
      const again = (): void => void lookAround().catch((cause: unknown) => core.report(cause));
      if (!closing.signal.aborted) waiting = setTimeout(again, LOOK_AGAIN_MS).unref();
      throw error;
    }
  };
  const ready = lookAround();
  ready.catch((error: unknown) => core.report(error));
  let closed: Promise<void> | undefined;
  const close = async ({ graceMs = core.limits.graceMs }: CloseHandlerOptions): Promise<void> => {
    closing.abort();
    clearTimeout(waiting);
    // Each in its turn, whatever becomes of the one before: nobody is left hanging.
    const steps = [
      () => core.runs.close({ graceMs }),
      () => core.streams.close(),
      () => sockets.close(),
      async () => core.access.close(),
      () => told?.flush(),
      () => told?.close(),
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
      const admitted = admitUpgrade(entrance, incoming, socket, SOCKET_PATHS);
      if (admitted === undefined) return false;
      void admitted.then((caller) => {
        if (caller === undefined || sockets.upgrade(incoming, socket, head, caller)) return;
        refuseStrayUpgrade(socket);
      });
      return true;
    },
    ready,
    close: (how = {}) => (closed ??= close(how)),
  };
}

function createCore(
  options: LoomHandlerOptions,
  own: Required<Pick<ServerCore, "closing" | "report" | "isReady">>,
): ServerCore {
  const { log, agents, defaultAgent, blobs, authorize, meter, register, onError, debug = false } = options;
  const { observers = [], knowledge } = options;
  const limits = readLimits(options.limits);
  const basePath = readBasePath(options.basePath);
  const onFault = (error: unknown): void => void own.report(error);
  const access = options.auth === undefined ? OPEN_ACCESS : createAccess(options.auth, { log, onError: onFault });
  const runs = createRunDesk({
    ...options.runs,
    log,
    agents,
    admit: (run) => access.admitTurn(run),
    observers: [...observers, ...access.observers],
    ...(blobs === undefined ? {} : { blobs: createAgentBlobs(blobs, { basePath }) }),
    ...(defaultAgent === undefined ? {} : { defaultAgent }),
    ...(onError === undefined ? {} : { onError }),
  });
  return {
    log,
    limits,
    streams: createStreams({ log, limits, meter, debug, onError: own.report }),
    runs,
    blobs,
    knowledge,
    commands: createCommandHost({ log, runs, limits, blobs, report: own.report }),
    access,
    authorize: authorize === undefined ? access.authorize : askBoth(access.authorize, authorize),
    meter,
    register,
    basePath,
    version: readPackageVersion(),
    ...own,
  };
}

function askBoth(first: Authorize, second: Authorize): Authorize {
  return async (request) => {
    await first(request);
    await second(request);
  };
}

function createListener(core: ServerCore, fetch: LoomHandler["fetch"]): LoomHandler["listener"] {
  const answer = async (request: Request, env: unknown): Promise<Response> => {
    const response = await fetch(request, env);
    const { outgoing } = readNodeBindings(env);
    return outgoing !== undefined && isLong(response) ? sendOnNode(core, response, outgoing) : response;
  };
  const listen = getRequestListener(answer, {
    overrideGlobalObjects: false,
    errorHandler: () => refuseMalformed(),
  });
  return (incoming, outgoing) => {
    const url = incoming.url;
    const whole = findWholeUrl(incoming, core.basePath);
    // It is read at once. Whoever mounted us goes on with what they had made of it.
    if (whole !== undefined) incoming.url = whole;
    void listen(incoming, outgoing).catch((error: unknown) => core.report(error));
    if (whole !== undefined && url !== undefined) incoming.url = url;
  };
}
