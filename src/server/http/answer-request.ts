/**
 * From a request to its answer: who asks, whether they may come in, and what every answer bears. Never rejects.
 */
import type { NodeBindings } from "../api/operation.ts";
import type { Guard } from "../guard/create-guard.ts";
import { readAsker } from "../guard/read-asker.ts";
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
import { describeLocal, readNodeBindings } from "./node-bindings.ts";
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
  const { variesByOrigin } = entrance;
  const plain = createAnswerHeaders({ requestId, origin: undefined, variesByOrigin });
  try {
    const { asker, path, origin } = admit(entrance, request, node);
    const headers = origin === undefined ? plain : createAnswerHeaders({ requestId, origin, variesByOrigin });
    setOnNode(node, headers);
    const response = await entrance.app.fetch(request, { asker, node, path });
    return setOnResponse(response, { ...headers, ...readPreflight(request, response, origin) }, node);
  } catch (error) {
    return setOnResponse(answerThrown(entrance.core, request, error), plain, node);
  }
}

function admit({ core, guard, proxies }: Entrance, request: Request, node: NodeBindings) {
  const url = new URL(request.url);
  const path = stripBase(url.pathname, core.basePath);
  const asker = readAsker({ headers: request.headers, url, peer: node.incoming?.socket.remoteAddress }, proxies);
  const visit = { isPage: path === "/" && request.method === "GET", local: describeLocal(node.incoming) };
  const origin = guard.admit(asker, visit);
  assertPath(path);
  return { asker, path, origin };
}

function readPreflight(request: Request, response: Response, origin: string | undefined): AnswerHeaders {
  const methods = response.headers.get("allow");
  if (request.method !== "OPTIONS" || origin === undefined || methods === null) return {};
  return describePreflight(methods);
}
