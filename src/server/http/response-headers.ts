/** Headers of every response. Headers set by an endpoint take precedence. */
import { randomUUID } from "node:crypto";
import { isRequestId } from "../guard/read-request-info.ts";
import type { NodeBindings } from "../api/operation.ts";
import { SECURITY_HEADERS } from "../guard/security-headers.ts";

export type ResponseHeaders = { readonly [name: string]: string };

export interface ResponseHeadersOptions {
  readonly requestId: string;
  /** The other origin that may read the response. Default: none. */
  readonly origin?: string | undefined;
  /** Whether other origins are allowed, so responses depend on the origin. Default: false. */
  readonly variesByOrigin?: boolean;
  /** Whether the client uses https; then the response sets HSTS. Default: false. */
  readonly isSecure?: boolean;
}

/** Headers that pages of other origins can read. */
const EXPOSED_HEADERS = [
  "loom-cursor",
  "loom-run",
  "loom-session",
  "location",
  "content-location",
  "x-request-id",
  "retry-after",
  "x-workflow-run-id",
  "x-workflow-stream-tail-index",
  "x-resumable-stream-id",
  "x-vercel-ai-ui-message-stream",
].join(", ");

export function createResponseHeaders(options: ResponseHeadersOptions): ResponseHeaders {
  const { requestId, origin, variesByOrigin = false, isSecure = false } = options;
  return {
    ...SECURITY_HEADERS,
    // Responses depend on the caller and change at any time, unless an endpoint says otherwise.
    "cache-control": "no-store",
    "x-request-id": requestId,
    ...(isSecure ? { "strict-transport-security": "max-age=31536000" } : {}),
    ...(variesByOrigin ? { vary: "origin" } : {}),
    ...(origin === undefined
      ? {}
      : {
          "access-control-allow-origin": origin,
          "access-control-expose-headers": EXPOSED_HEADERS,
        }),
  };
}

/** Must run before the endpoint: streams write directly to the connection, after which headers cannot be added. */
export function setOnNode({ outgoing }: NodeBindings, headers: ResponseHeaders): void {
  if (outgoing === undefined || outgoing.headersSent) return;
  for (const [name, value] of Object.entries(headers)) {
    const earlier = name === "vary" ? outgoing.getHeader(name) : undefined;
    outgoing.setHeader(name, earlier === undefined ? value : joinVary(String(earlier), value));
  }
}

export function setOnResponse(response: Response, headers: ResponseHeaders, { outgoing }: NodeBindings): Response {
  const given = isMutable(response) ? response : new Response(response.body, response);
  for (const [name, value] of Object.entries(headers)) {
    if (name === "vary") {
      const earlier = [outgoing?.getHeader(name), given.headers.get(name)].filter((each) => each != null);
      given.headers.set(
        name,
        earlier.reduce<string>((all, each) => joinVary(all, String(each)), value),
      );
    } else if (!given.headers.has(name)) given.headers.set(name, value);
  }
  return given;
}

/** Headers that the `openai` client sends with every request. */
const OPENAI_HEADERS = [
  "openai-organization",
  "openai-project",
  ...[
    "arch",
    "helper-method",
    "lang",
    "os",
    "package-version",
    "retry-count",
    "runtime",
    "runtime-version",
    "timeout",
  ].map((name) => `x-stainless-${name}`),
].join(", ");

/** Headers of a CORS preflight response. */
export function describePreflight(methods: string): ResponseHeaders {
  return {
    "access-control-allow-methods": methods,
    "access-control-allow-headers": `authorization, content-type, idempotency-key, last-event-id, loom-session, x-request-id, x-run-id, ${OPENAI_HEADERS}`,
    "access-control-max-age": "600",
  };
}

/** Returns the client's ID if it is short and safe for headers and logs; otherwise a new one. */
export function readRequestId(given: string | null): string {
  return given !== null && isRequestId(given) ? given : randomUUID();
}

function joinVary(first: string, second: string): string {
  const names = `${first}, ${second}`.split(",").map((name) => name.trim().toLowerCase());
  return [...new Set(names.filter((name) => name !== ""))].join(", ");
}

/** The headers of a fetched response are immutable. */
function isMutable({ headers }: Response): boolean {
  try {
    headers.delete("x-loom-probe");
    return true;
  } catch {
    return false;
  }
}
