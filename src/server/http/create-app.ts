/**
 * Mounts operations on Hono: finds the door a request is for, checks what it brings, asks whether it may, and turns what
 * is thrown into a refusal. It knows no door.
 */
import { Hono } from "hono";
import { type ErrorCode, LoomError } from "../../protocol/index.ts";
import type { AnyOperation, ApiCall, NodeBindings } from "../api/operation.ts";
import { API_FORMS, type ApiShapeName } from "../api/shapes.generated.ts";
import type { Action, Caller } from "../guard/authorize.ts";
import type { ServerCore } from "../server-core.ts";
import { assertEncoding } from "./assert-encoding.ts";
import { answerThrown, HttpRefusal, refuseRequest } from "./refuse-request.ts";
import { findSlashed } from "./end-with-slash.ts";
import { readJsonBody } from "./read-json-body.ts";
import { readQuery } from "./read-query.ts";

/** A request on its way to its door. */
export interface RequestContext {
  readonly caller: Caller;
  readonly node: NodeBindings;
  /** Of the address, without what stands before all paths. */
  readonly path: string;
  readonly requestId: string;
}

export interface AppOptions {
  readonly operations: readonly AnyOperation[];
  /** What `/` answers, and the addresses below `/assets`. */
  readonly page?: ((request: Request) => Response | Promise<Response>) | undefined;
  /** Paths that are asked for as sockets. */
  readonly socketPaths: ReadonlySet<string>;
}

export type App = Hono<{ Bindings: RequestContext }>;

type AnyCall = ApiCall<ApiShapeName, ApiShapeName>;

/** Where the page is, and what it loads. */
const PAGE_PATHS = ["/", "/assets/{file}"] as const;

/** What begins something: not in a server that is about to stop. */
const BEGINNINGS: ReadonlySet<Action> = new Set([
  "runs.start",
  "sessions.create",
  "ingest",
  "blobs.write",
  "knowledge.write",
]);

/** A body may take its time, and whoever sends it may have lost their leave: it is asked for again after so long. */
const LEAVE_MS = 1000;

export function createApp(core: ServerCore, { operations, page, socketPaths }: AppOptions): App {
  const app: App = new Hono({ getPath: (_request, options) => readPath(options?.env) });
  for (const operation of operations) {
    app.on(operation.method, toRoute(operation.path), async (context) => {
      const { req, env } = context;
      const response = await carryOutOperation(core, operation, req.raw, env, req.param());
      return req.method === "HEAD" ? dropBody(response) : response;
    });
  }
  if (page !== undefined)
    for (const path of PAGE_PATHS)
      app.get(toRoute(path), async ({ req, env }) => {
        const slashed = path === "/" ? findSlashed(env.caller.url, env.node.incoming) : undefined;
        if (slashed !== undefined) return redirect(slashed);
        const response = await page(req.raw);
        // In the words of all other doors.
        if (response.status === 404) throw new LoomError("not_found", "the page has no such file");
        return req.method === "HEAD" ? dropBody(response) : response;
      });
  for (const [path, methods] of listMethods(operations, page !== undefined))
    app.all(toRoute(path), ({ req, env }) => {
      if (req.method === "OPTIONS") return new Response(null, { status: 204, headers: { allow: methods } });
      const error = new LoomError("unsupported", `${req.method.slice(0, 20)} is not for ${env.path.slice(0, 200)}`);
      return refuseRequest(core, error, env.requestId, { status: 405, headers: { allow: methods } });
    });
  app.notFound(({ env }) => {
    const [error, options] = describeMissing(env.path, socketPaths);
    return refuseRequest(core, error, env.requestId, options);
  });
  app.onError((error, { req, env }) => answerThrown(core, req.raw, error, env.requestId));
  return app;
}

const readPath = (errand: unknown): string => (errand as RequestContext).path;

function redirect(location: string): Response {
  return new Response(null, { status: 308, headers: { location, "cache-control": "no-cache" } });
}

async function carryOutOperation(
  core: ServerCore,
  operation: AnyOperation,
  request: Request,
  { caller, node }: RequestContext,
  params: { readonly [name: string]: string },
): Promise<Response> {
  const { action, query, body, takes } = operation;
  if (core.closing.aborted && BEGINNINGS.has(action) && operation.isLate !== true)
    throw new LoomError("shutting_down", "the server is about to stop: ask again in a moment");
  const leave = { caller, action, session: params["id"] };
  const askedAt = performance.now();
  await core.authorize(leave);
  if (takes !== undefined) assertEncoding(request);
  const call: AnyCall = {
    request,
    url: caller.url,
    caller,
    params,
    query: query === undefined ? {} : readQuery(API_FORMS[query], caller.url.searchParams),
    body:
      body === undefined
        ? {}
        : await readJsonBody(request, {
            form: API_FORMS[body],
            isRequired: operation.isBodyRequired ?? true,
            maxBytes: core.limits.maxBodyBytes,
            timeoutMs: core.limits.bodyTimeoutMs,
            node,
          }),
    // The answer to HEAD is thrown away, so it must not go past us.
    node: request.method === "HEAD" ? {} : node,
    signal: request.signal,
  };
  if (performance.now() - askedAt > LEAVE_MS) await core.authorize(leave);
  return operation.handle(core, call);
}

/** What was opened for the body is closed again. */
async function dropBody(response: Response): Promise<Response> {
  await response.body?.cancel().catch(() => undefined);
  return new Response(null, { status: response.status, headers: response.headers });
}

/** `/v1/sessions/{id}` as Hono writes it. */
function toRoute(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ":$1");
}

/** What each path may be asked with. */
function listMethods(operations: readonly AnyOperation[], hasPage: boolean): ReadonlyMap<string, string> {
  const methods = new Map<string, string[]>(hasPage ? PAGE_PATHS.map((path) => [path, ["GET", "HEAD"]]) : []);
  for (const { path, method } of operations) {
    const known = methods.get(path) ?? [];
    methods.set(path, [...known, ...(method === "GET" ? ["GET", "HEAD"] : [method])]);
  }
  return new Map([...methods].map(([path, list]) => [path, [...list, "OPTIONS"].join(", ")]));
}

function describeMissing(path: string, socketPaths: ReadonlySet<string>): [LoomError, { readonly status?: number }] {
  const missing = (code: ErrorCode, message: string) => new LoomError(code, message);
  if (socketPaths.has(path))
    return [
      missing("unsupported", "this is a WebSocket: it wants an upgrade, and a server that passes it on"),
      UPGRADE,
    ];
  return [missing("not_found", `there is nothing at ${path.slice(0, 200)}`), {}];
}

const UPGRADE = { status: 426, headers: { upgrade: "websocket", connection: "upgrade" } };

/** Throws `invalid_name` where a part of the path cannot be decoded. */
export function assertPath(path: string): void {
  try {
    for (const part of path.split("/")) if (part.includes("%")) decodeURIComponent(part);
  } catch {
    const error = new LoomError("invalid_name", "the address is not well written: a part of it cannot be decoded");
    throw new HttpRefusal(error, { status: 400 });
  }
}
