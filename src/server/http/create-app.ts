/**
 * Mounts operations on Hono: finds the operation of a request, authorizes the caller, validates query and body, and
 * turns thrown errors into problem responses. It does not know the individual endpoints.
 */
import type { IncomingMessage } from "node:http";
import { Hono } from "hono";
import { type ErrorCode, LoomError } from "../../protocol/index.ts";
import type { AnyOperation, ApiCall, NodeBindings } from "../api/operation.ts";
import { API_FORMS, type ApiShapeName } from "../api/shapes.generated.ts";
import { sourceOf } from "../auth/audit/auditor.ts";
import type { Caller } from "../auth/authorize.ts";
import type { Action } from "../auth/scopes.ts";
import { enterGate, UploadSlot } from "../api/gates.ts";
import type { ServerCore } from "../api/server-core.ts";
import { answerError, HttpRefusal, refuseRequest } from "../api/refuse-request.ts";
import { assertEncoding, type JsonBodyOptions, readJsonBody } from "./read-json-body.ts";
import { assertKnownQuery, readQuery } from "./read-query.ts";

/** What the app receives with a request. */
export interface RequestContext {
  readonly caller: Caller;
  readonly node: NodeBindings;
  /** URL path without the base path. */
  readonly path: string;
  readonly requestId: string;
}

export interface AppOptions {
  readonly operations: readonly AnyOperation[];
  /** Handler for `/` and the files below `/assets`. */
  readonly page?: ((request: Request) => Response | Promise<Response>) | undefined;
  /** Paths of WebSocket endpoints. */
  readonly socketPaths: ReadonlySet<string>;
}

export type App = Hono<{ Bindings: RequestContext }>;

type AnyCall = ApiCall<ApiShapeName, ApiShapeName>;

/** Paths of the page and its files. */
const PAGE_PATHS = ["/", "/assets/{file}"] as const;

/** Actions that start something new; rejected during shutdown. */
const STARTING_ACTIONS: ReadonlySet<Action> = new Set([
  "runs.start",
  "sessions.create",
  "ingest",
  "blobs.write",
  "knowledge.write",
]);

/**
 * After this time, the caller is authorized again once the body has arrived: access may have been revoked meanwhile.
 */
const REAUTHORIZE_AFTER_MS = 1000;

export function createApp(core: ServerCore, { operations, page, socketPaths }: AppOptions): App {
  const app: App = new Hono({ getPath: (_request, options) => readPath(options?.env) });
  for (const operation of operations) {
    app.on(operation.method, toRoute(operation.path), async (context) => {
      const { req, env } = context;
      const response = await runOperation(core, operation, req.raw, env, req.param());
      return req.method === "HEAD" ? dropBody(response) : response;
    });
  }
  if (page !== undefined)
    for (const path of PAGE_PATHS)
      app.get(toRoute(path), async ({ req, env }) => {
        const redirectTo = path === "/" ? findSlashRedirect(env.caller.url, env.node.incoming) : undefined;
        if (redirectTo !== undefined) return redirect(redirectTo);
        const response = await page(req.raw);
        // Respond like all other endpoints.
        if (response.status === 404) throw new LoomError("not_found", "The page has no such file");
        return req.method === "HEAD" ? dropBody(response) : response;
      });
  for (const [path, methods] of listMethods(operations, page !== undefined))
    app.all(toRoute(path), ({ req, env }) => {
      if (req.method === "OPTIONS") return new Response(null, { status: 204, headers: { allow: methods } });
      const error = new LoomError(
        "unsupported",
        `Method ${req.method.slice(0, 20)} is not allowed for ${env.path.slice(0, 200)}`,
      );
      return refuseRequest(core, error, env.requestId, { status: 405, headers: { allow: methods } });
    });
  app.notFound(({ env }) => {
    const [error, options] = describeMissing(env.path, socketPaths);
    return refuseRequest(core, error, env.requestId, options);
  });
  app.onError((error, { req, env }) => answerError(core, req.raw, error, env.requestId));
  return app;
}

const readPath = (env: unknown): string => (env as RequestContext).path;

function redirect(location: string): Response {
  return new Response(null, { status: 308, headers: { location, "cache-control": "no-cache" } });
}

/**
 * Paths below which unknown query parameters and fields are refused. The other endpoints serve clients of other protocols,
 * which may send more.
 */
const CLOSED_PREFIX = "/v1/";

async function runOperation(
  core: ServerCore,
  operation: AnyOperation,
  request: Request,
  { caller, node }: RequestContext,
  params: { readonly [name: string]: string },
): Promise<Response> {
  const { action, query, body, rawBodyTypes } = operation;
  if (core.closing.aborted && STARTING_ACTIONS.has(action) && operation.isAllowedWhileClosing !== true)
    throw new LoomError("shutting_down", "The server is shutting down; try again in a moment");
  const authorization = { caller, action, session: params["id"] };
  const authorizedAt = performance.now();
  await core.authorize(authorization);
  if (rawBodyTypes !== undefined) assertEncoding(request);
  const form = query === undefined ? undefined : API_FORMS[query];
  if (operation.path.startsWith(CLOSED_PREFIX))
    assertKnownQuery([...(form?.fields.keys() ?? [])], caller.url.searchParams);
  const upload = new UploadSlot(() => enterGate(core, "uploads", caller, request.signal));
  try {
    const call: AnyCall = {
      request,
      url: caller.url,
      caller,
      params,
      query: form === undefined ? {} : readQuery(form, caller.url.searchParams),
      body: body === undefined ? {} : await readJsonBody(request, bodyOptions(core, operation, body, node, upload)),
      // The body of a HEAD response is dropped here, so the operation must not write to the connection.
      node: request.method === "HEAD" ? {} : node,
      signal: request.signal,
      upload,
      noteAudit: () => undefined,
    };
    if (performance.now() - authorizedAt > REAUTHORIZE_AFTER_MS) await core.authorize(authorization);
    const { audit } = operation;
    if (audit === undefined) return await operation.handle(core, call);
    const { id: session, ...names } = params;
    const target = session === undefined ? names : { session, ...names };
    return await core.auditor.run({ action: audit, source: sourceOf(caller), target }, (noteAudit) =>
      operation.handle(core, { ...call, noteAudit }),
    );
  } finally {
    upload.release();
  }
}

function bodyOptions(
  { limits }: ServerCore,
  { path, isBodyRequired = true, hasInlineFiles = false, hasOpenBody = false, acceptsText = false }: AnyOperation,
  body: ApiShapeName,
  node: NodeBindings,
  upload: UploadSlot,
): JsonBodyOptions {
  return {
    form: API_FORMS[body],
    isRequired: isBodyRequired,
    isClosed: path.startsWith(CLOSED_PREFIX) && !hasOpenBody,
    acceptsText,
    maxBytes: limits.maxBodyBytes,
    timeoutMs: limits.bodyTimeoutMs,
    node,
    ...(hasInlineFiles ? { large: { maxBytes: limits.maxInlineBytes, enter: () => upload.enter() } } : {}),
  };
}

/** Cancels the body, so that its resources are released. */
async function dropBody(response: Response): Promise<Response> {
  await response.body?.cancel().catch(() => undefined);
  return new Response(null, { status: response.status, headers: response.headers });
}

/** Converts `/v1/sessions/{id}` to Hono's syntax. */
function toRoute(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ":$1");
}

/** Allowed methods of each path. */
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
      missing(
        "unsupported",
        "This is a WebSocket endpoint; send an upgrade request, and check that proxies pass it on",
      ),
      UPGRADE,
    ];
  return [missing("not_found", `Nothing found at ${path.slice(0, 200)}`), {}];
}

const UPGRADE = { status: 426, headers: { upgrade: "websocket", connection: "upgrade" } };

/** Throws `invalid_name` if a part of the path cannot be decoded. */
export function assertPath(path: string): void {
  try {
    for (const part of path.split("/")) if (part.includes("%")) decodeURIComponent(part);
  } catch {
    const error = new LoomError("invalid_name", "The URL path contains an invalid percent encoding");
    throw new HttpRefusal(error, { status: 400 });
  }
}

/**
 * Returns the target of a redirect from `/agents` to `/agents/`, because the page uses relative URLs; undefined if the URL
 * ends with a slash. Only the original URL shows which of the two the client requested: a framework that mounts the handler
 * may have normalized the path.
 */
export function findSlashRedirect(url: URL, incoming: IncomingMessage | undefined): string | undefined {
  const { originalUrl, url: seen } = (incoming ?? {}) as { readonly originalUrl?: unknown; readonly url?: unknown };
  const written = [originalUrl, seen].find((each) => typeof each === "string") ?? url.pathname;
  const [path = ""] = written.split(/[?#]/, 1);
  // An absolute URL or `*` is not a request for the page.
  if (!path.startsWith("/") || path.endsWith("/")) return undefined;
  // Starts with a dot, so that it can never name another host.
  return `./${path.slice(path.lastIndexOf("/") + 1)}/${url.search}`;
}
