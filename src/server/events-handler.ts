/**
 * The endpoints of a single log as a function from Request to Response that any server can mount: the stream of a
 * session, and commands. They are the same endpoints as in the full server, without agents and authentication; the
 * server that mounts them decides who may call them. Until it says so with `allowPublic`, only this machine may.
 *
 *   GET  /v1/sessions/{id}/events
 *   POST /v1/sessions/{id}/commands
 */
import { ErrorReporter } from "../engine/error-reporter.ts";
import type { StreamMeter } from "../observe/index.ts";
import { LoomError } from "../protocol/index.ts";
import type { CommandHost } from "./commands/command-host.ts";
import { NO_AUDIT } from "./auth/audit/auditor.ts";
import { OPEN_ACCESS } from "./auth/open-access.ts";
import { allowAll } from "./auth/authorize.ts";
import { createResponseHeaders, readRequestId, setOnNode, setOnResponse } from "./http/response-headers.ts";
import { assertPath, createApp } from "./http/create-app.ts";
import { readNodeBindings } from "./http/node-bindings.ts";
import { answerError } from "./api/refuse-request.ts";
import { readBasePath } from "./http/strip-base.ts";
import type { RunDispatcher } from "./runs/run-dispatcher.ts";
import { createGates } from "./api/gates.ts";
import { createGuard } from "./guard/create-guard.ts";
import { warnOfNotice } from "./guard/notice.ts";
import { readProxies } from "./guard/read-proxies.ts";
import { readRequestInfo } from "./guard/read-request-info.ts";
import type { ServerCore } from "./api/server-core.ts";
import { readLimits, SERVER_LIMITS } from "./guard/server-limits.ts";
import { createStreams } from "./streams/create-streams.ts";
import { sendCommand } from "./endpoints/commands.ts";
import { readEvents } from "./endpoints/events.ts";

/** Options of `createEventsHandler`. Only `log` is required. */
export interface EventsHandlerOptions extends CommandHost {
  /** URL prefix before `/v1`. Default: none. */
  readonly base?: string;
  /**
   * Let every client that reaches the handler read and write all sessions: set it if your server checks who may call it.
   * Default: false; requests from other addresses, from unknown ones and through proxies are refused with `forbidden`.
   */
  readonly allowPublic?: boolean;
  /** Milliseconds between heartbeats of an idle stream; 0: none. Default: 15,000. */
  readonly heartbeatMs?: number;
  /** Size of a command body in bytes. Code `body_too_large`. Default: 64 KiB. */
  readonly maxCommandBytes?: number;
  /** Size of a frame in bytes. Code `frame_too_long`. Default: what receivers accept by default. */
  readonly maxFrameBytes?: number;
  /**
   * Send `loom` and `export` in strict form, with only the types and fields of specification 001, unless a request has `strict=0`.
   * Default: false.
   */
  readonly strict?: boolean;
  /** Meter of all streams, for example a `MetricsCollector`. Default: none. */
  readonly meter?: StreamMeter | undefined;
}

const NO_PROXIES = readProxies([]);
/** Pages of this machine may call the handler from any port, such as that of a development server. */
const LOCAL_GUARD = { hosts: undefined, origins: new Set<string>(), devOrigins: true, isLocalOnly: true };

/** No agents: messages wait in the log for a process that has some. */
const NO_RUNS: RunDispatcher = {
  agents: [],
  resolveAgent: (name = "") => name,
  dispatch: () => Promise.resolve(false),
  start: () => Promise.resolve(),
  size: 0,
  liveRuns: 0,
  close: () => Promise.resolve(),
};

/**
 * Creates a handler that streams sessions and takes commands. On Node with Hono pass `context.env` as `env`, so that
 * streams are written to the socket directly.
 *
 * ```ts
 * const handler = createEventsHandler({ log, allowPublic: true });
 * app.use("/v1/*", requireLogin); // your middleware
 * app.all("/v1/*", (context) => handler(context.req.raw, context.env));
 * ```
 */
export function createEventsHandler(
  options: EventsHandlerOptions,
): (request: Request, env?: unknown) => Promise<Response> {
  const core = createCore(options);
  const guard = createGuard({ ...LOCAL_GUARD, notify: warnOfNotice });
  const { allowPublic = false } = options;
  const app = createApp(core, { operations: [readEvents, sendCommand], socketPaths: new Set() });
  return async (request, env) => {
    const requestId = readRequestId(request.headers.get("x-request-id"));
    const node = readNodeBindings(env);
    const url = new URL(request.url);
    const isSecure = url.protocol === "https:";
    const answerHeaders = createResponseHeaders({ requestId, isSecure });
    try {
      setOnNode(node, answerHeaders);
      const { method, headers } = request;
      const peer = node.incoming?.socket.remoteAddress;
      const requestInfo = readRequestInfo({ method, headers, url, peer, requestId }, NO_PROXIES);
      if (!allowPublic) guard.admit(requestInfo, { isPage: false, peer });
      const caller = { ...requestInfo, ...(await core.access.identify(requestInfo)) };
      const path = cutBase(url.pathname, core.basePath);
      const response = await app.fetch(request, { caller, path, node, requestId });
      return setOnResponse(response, answerHeaders, node);
    } catch (error) {
      return setOnResponse(answerError(core, request, error, requestId), answerHeaders, node);
    }
  };
}

function cutBase(path: string, base: string): string {
  if (!path.startsWith(`${base}/`)) throw new LoomError("not_found", `Nothing found at ${path.slice(0, 200)}`);
  assertPath(path);
  return path.slice(base.length);
}

function createCore(options: EventsHandlerOptions): ServerCore {
  const { log, base, meter, onError, maxCommandBytes: maxBodyBytes = 64 * 1024 } = options;
  const { heartbeatMs = SERVER_LIMITS.heartbeatMs, maxFrameBytes = SERVER_LIMITS.maxFrameBytes } = options;
  // The handler cannot be closed, so it keeps no streams for clients that may reconnect.
  const limits = readLimits({ heartbeatMs, maxBodyBytes, maxFrameBytes, lingerMs: 0 });
  const reporter = new ErrorReporter(onError);
  return {
    log,
    limits,
    streams: createStreams({ log, limits, meter, onError, strict: options.strict }),
    runs: NO_RUNS,
    blobs: undefined,
    knowledge: undefined,
    commands: options,
    access: OPEN_ACCESS,
    auditor: NO_AUDIT,
    authorize: allowAll,
    meter,
    gates: createGates(limits),
    register: undefined,
    basePath: readBasePath(base),
    version: "",
    closing: new AbortController().signal,
    report: (error) => reporter.report(error),
  };
}
