/** Handles an HTTP request: guard, authentication, endpoint, and the headers of every response. Never rejects. */
import type { NodeBindings } from "../api/operation.ts";
import { findLocalOrigin, type Guard } from "../guard/create-guard.ts";
import { type CheckedRequestInfo, readRequestInfo } from "../guard/read-request-info.ts";
import type { Proxies } from "../guard/read-proxies.ts";
import type { ServerCore } from "../api/server-core.ts";
import {
  type ResponseHeaders,
  createResponseHeaders,
  describePreflight,
  readRequestId,
  setOnNode,
  setOnResponse,
} from "./response-headers.ts";
import { bringsLink } from "../auth/request-credentials.ts";
import { type App, assertPath } from "./create-app.ts";
import { describeLocal, readNodeBindings, readTarget } from "./node-bindings.ts";
import { adaptError } from "../api/adapt-error.ts";
import { answerError } from "../api/refuse-request.ts";
import { stripBase } from "./strip-base.ts";

export interface RequestPipeline {
  readonly core: ServerCore;
  readonly app: App;
  readonly guard: Guard;
  readonly proxies: Proxies;
  readonly variesByOrigin: boolean;
}

/** The page and its files, health and the API description: they work for everyone, also when a login does not. */
const ANONYMOUS_PATH = /^\/(?:|assets\/.*|healthz|readyz|openapi\.json)$/;

/** What a browser requests before it has the cookie of a share link: the page, which has no data, and the sign-in. */
const LINK_PATH = /^\/(?:|assets\/.*|v1\/auth(?:\/sign-(?:in|out))?)$/;

/** Methods of no endpoint. A `Request` for the login cannot have the method `TRACE`. */
const ANONYMOUS_METHOD = /^(?:OPTIONS|TRACE|CONNECT)$/;

export async function answerRequest(pipeline: RequestPipeline, request: Request, env: unknown): Promise<Response> {
  const node = readNodeBindings(env);
  const path = stripBase(new URL(request.url).pathname, pipeline.core.basePath);
  const requestId = readRequestId(request.headers.get("x-request-id"));
  const info = readInfoOf(pipeline, request, node, requestId);
  const common = { requestId, variesByOrigin: pipeline.variesByOrigin, isSecure: info.origin.startsWith("https:") };
  // A page of this machine can show why it is refused.
  let headers = createResponseHeaders({ ...common, origin: findLocalOrigin(info) });
  try {
    const { origin, isRemote, isBeforeLink } = admit(pipeline, path, request, info, node);
    // From here on, only an allowed origin may read responses.
    headers = createResponseHeaders({ ...common, origin });
    setOnNode(node, headers);
    const skipsLogin = ANONYMOUS_METHOD.test(request.method) || ANONYMOUS_PATH.test(path);
    const known = { ...info, isRemote };
    const caller = { ...known, ...(await pipeline.core.access.identify(known, { skipsLogin, isBeforeLink })) };
    const answer = await pipeline.app.fetch(request, { caller, node, path, requestId });
    const response = await adaptError(path, request, answer);
    return setOnResponse(response, { ...headers, ...readPreflight(request, response, origin) }, node);
  } catch (error) {
    const response = await adaptError(path, request, answerError(pipeline.core, request, error, requestId));
    return setOnResponse(response, headers, node);
  }
}

function readInfoOf(
  { proxies }: RequestPipeline,
  request: Request,
  { incoming }: NodeBindings,
  requestId: string,
): CheckedRequestInfo {
  const { method, headers } = request;
  const peer = incoming?.socket.remoteAddress;
  return readRequestInfo({ method, headers, url: new URL(request.url), peer, requestId }, proxies);
}

function admit(
  { guard }: RequestPipeline,
  path: string,
  request: Request,
  info: CheckedRequestInfo,
  { incoming }: NodeBindings,
) {
  const isPage = path === "/" && request.method === "GET";
  const peer = incoming?.socket.remoteAddress;
  const local = describeLocal(incoming);
  const isBeforeLink = LINK_PATH.test(path);
  const context = { isPage, peer, local, target: readTarget(incoming), isForLink: isBeforeLink || bringsLink(info) };
  const admitted = guard.admit(info, context);
  assertPath(path);
  return { ...admitted, isBeforeLink };
}

function readPreflight(request: Request, response: Response, origin: string | undefined): ResponseHeaders {
  const methods = response.headers.get("allow");
  if (request.method !== "OPTIONS" || origin === undefined || methods === null) return {};
  return describePreflight(methods);
}
