/**
 * From a request to its answer: who asks, whether they may come in, and what every answer bears. Never rejects.
 */
import type { NodeBindings } from "../api/operation.ts";
import type { Guard } from "../guard/create-guard.ts";
import { type CheckedRequestInfo, readRequestInfo } from "../guard/read-request-info.ts";
import type { Proxies } from "../guard/read-proxies.ts";
import type { ServerCore } from "../server-core.ts";
import {
  type AnswerHeaders,
  createAnswerHeaders,
  describePreflight,
  readRequestId,
  setOnNode,
  setOnResponse,
} from "./answer-headers.ts";
import { type App, assertPath } from "./create-app.ts";
import { describeLocal, readNodeBindings, readTarget } from "./node-bindings.ts";
import { answerThrown } from "./refuse-request.ts";
import { stripBase } from "./strip-base.ts";

export interface Entrance {
  readonly core: ServerCore;
  readonly app: App;
  readonly guard: Guard;
  readonly proxies: Proxies;
  readonly variesByOrigin: boolean;
}

export async function answerRequest(entrance: Entrance, request: Request, env: unknown): Promise<Response> {
  const node = readNodeBindings(env);
  const requestId = readRequestId(request.headers.get("x-request-id"));
  const stranger = readStranger(entrance, request, node);
  const about = { requestId, variesByOrigin: entrance.variesByOrigin, isSecure: stranger.origin.startsWith("https:") };
  let headers = createAnswerHeaders({ ...about, origin: undefined });
  try {
    const { path, origin } = admit(entrance, request, stranger, node);
    // From here on a page that may ask may also read why not.
    if (origin !== undefined) headers = createAnswerHeaders({ ...about, origin });
    setOnNode(node, headers);
    const caller = { ...stranger, ...(await entrance.core.access.identify(stranger)) };
    const response = await entrance.app.fetch(request, { caller, node, path, requestId });
    return setOnResponse(response, { ...headers, ...readPreflight(request, response, origin) }, node);
  } catch (error) {
    return setOnResponse(answerThrown(entrance.core, request, error, requestId), headers, node);
  }
}

function readStranger({ proxies }: Entrance, request: Request, { incoming }: NodeBindings): CheckedRequestInfo {
  const { method, headers } = request;
  return readRequestInfo({ method, headers, url: new URL(request.url), peer: incoming?.socket.remoteAddress }, proxies);
}

function admit({ core, guard }: Entrance, request: Request, stranger: CheckedRequestInfo, { incoming }: NodeBindings) {
  const path = stripBase(new URL(request.url).pathname, core.basePath);
  const isPage = path === "/" && request.method === "GET";
  const origin = guard.admit(stranger, { isPage, local: describeLocal(incoming), target: readTarget(incoming) });
  assertPath(path);
  return { path, origin };
}

function readPreflight(request: Request, response: Response, origin: string | undefined): AnswerHeaders {
  const methods = response.headers.get("allow");
  if (request.method !== "OPTIONS" || origin === undefined || methods === null) return {};
  return describePreflight(methods);
}
