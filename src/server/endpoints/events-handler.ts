/**
 * The doors of sessions that somebody else writes, as a function from Request to Response that any server can mount: the
 * stream of a session, and commands. They are the same doors as those of a whole server, with neither agents nor guard
 * around them: whoever mounts them decides who may come in.
 *
 *   GET  /v1/sessions/{id}/events
 *   POST /v1/sessions/{id}/commands
 */
import { ErrorReporter } from "../../engine/index.ts";
import type { StreamMeter } from "../../observe/index.ts";
import { LoomError } from "../../protocol/index.ts";
import type { CommandHost } from "../commands/carry-out.ts";
import { OPEN_ACCESS } from "../auth/open-access.ts";
import { allowAll } from "../guard/authorize.ts";
import { createAnswerHeaders, readRequestId, setOnNode, setOnResponse } from "../http/answer-headers.ts";
import { assertPath, createApp } from "../http/create-app.ts";
import { readNodeBindings } from "../http/node-bindings.ts";
import { answerThrown } from "../http/refuse-request.ts";
import { readBasePath } from "../http/strip-base.ts";
import type { RunDesk } from "../runs/run-desk.ts";
import type { ServerCore } from "../server-core.ts";
import { readLimits, SERVER_LIMITS } from "../server-limits.ts";
import { createStreams } from "../streams/create-streams.ts";
import { takeCommand } from "./commands.ts";
import { readEvents } from "./events.ts";

export interface EventsHandlerOptions extends CommandHost {
  /** What stands before `/v1`. */
  readonly base?: string;
  /** A sign of life when nothing else is sent; 0: none. */
  readonly heartbeatMs?: number;
  /** Bytes of the body of a command. Code `body_too_large`. */
  readonly maxCommandBytes?: number;
  /** Bytes of one frame of a stream; what a receiver reads, unless told otherwise. Code `frame_too_long`. */
  readonly maxFrameBytes?: number;
  /** Told of every stream: a `MetricsCollector`, say. */
  readonly meter?: StreamMeter | undefined;
}

/** Without agents: messages wait in the log for a process that has some. */
const NO_RUNS: RunDesk = {
  agents: [],
  resolveAgent: (name = "") => name,
  attend: () => undefined,
  start: () => Promise.resolve(),
  size: 0,
  liveRuns: 0,
  close: () => Promise.resolve(),
};

/** On Node with Hono, hand on its `env`, so that streams go straight out. */
export function createEventsHandler(
  options: EventsHandlerOptions,
): (request: Request, env?: unknown) => Promise<Response> {
  const core = createCore(options);
  const app = createApp(core, { operations: [readEvents, takeCommand], socketPaths: new Set() });
  return async (request, env) => {
    const requestId = readRequestId(request.headers.get("x-request-id"));
    const node = readNodeBindings(env);
    const { origin } = new URL(request.url);
    const isSecure = origin.startsWith("https:");
    const answerHeaders = createAnswerHeaders({ requestId, origin: undefined, variesByOrigin: false, isSecure });
    try {
      setOnNode(node, answerHeaders);
      const url = new URL(request.url);
      const { method, headers } = request;
      const stranger = { method, headers, url, address: undefined, origin: url.origin };
      const caller = { ...stranger, ...(await core.access.identify(stranger)) };
      const path = cutBase(url.pathname, core.basePath);
      const response = await app.fetch(request, { caller, path, node, requestId });
      return setOnResponse(response, answerHeaders, node);
    } catch (error) {
      return setOnResponse(answerThrown(core, request, error, requestId), answerHeaders, node);
    }
  };
}

function cutBase(path: string, base: string): string {
  if (!path.startsWith(`${base}/`)) throw new LoomError("not_found", `there is nothing at ${path.slice(0, 200)}`);
  assertPath(path);
  return path.slice(base.length);
}

function createCore(options: EventsHandlerOptions): ServerCore {
  const { log, base, meter, onError, maxCommandBytes: maxBodyBytes = 64 * 1024 } = options;
  const { heartbeatMs = SERVER_LIMITS.heartbeatMs, maxFrameBytes = SERVER_LIMITS.maxFrameBytes } = options;
  // Nobody closes a function: it keeps nothing for those who may come back.
  const limits = readLimits({ heartbeatMs, maxBodyBytes, maxFrameBytes, lingerMs: 0 });
  const reporter = new ErrorReporter(onError);
  return {
    log,
    limits,
    streams: createStreams({ log, limits, meter, onError }),
    runs: NO_RUNS,
    blobs: undefined,
    knowledge: undefined,
    commands: options,
    access: OPEN_ACCESS,
    authorize: allowAll,
    meter,
    register: undefined,
    basePath: readBasePath(base),
    version: "",
    closing: new AbortController().signal,
    report: (error) => reporter.report(error),
  };
}
