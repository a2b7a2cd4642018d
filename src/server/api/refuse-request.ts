/**
 * Error responses: problem documents (RFC 9457) with an error code and an ID for support. `toPublicError` decides which
 * details of an error clients may see.
 */
import { randomUUID } from "node:crypto";
import { isLoomError, type LoomError } from "../../protocol/index.ts";
import type { Problem } from "./shapes.generated.ts";
import type { ServerCore } from "./server-core.ts";
import { toPublicError } from "../guard/to-public-error.ts";
import { statusOf } from "./status-of.ts";

export const PROBLEM_TYPE = "application/problem+json";

export interface RefuseOptions {
  /** Overrides the status of the error code. */
  readonly status?: number;
  readonly headers?: { readonly [name: string]: string };
}

export interface DescribedProblem {
  readonly problem: Problem;
  readonly headers: { readonly [name: string]: string };
}

/** The problem's ID is the ID under which the error was reported, or else the request ID. */
export function describeProblem(
  core: Pick<ServerCore, "report">,
  error: unknown,
  requestId: string = randomUUID(),
  options: RefuseOptions = {},
): DescribedProblem {
  if (error instanceof HttpRefusal) return describeProblem(core, error.refused, requestId, error.options);
  const { code, message, details, errorId } = toPublicError(core.report, error);
  const status = options.status ?? statusOf(code);
  const problem: Problem = {
    type: `urn:loom:problem:${code}`,
    title: titleOf(code),
    status,
    detail: message,
    code,
    id: errorId ?? requestId,
    ...(Object.keys(details).length === 0 ? {} : { details }),
  };
  return { problem, headers: { ...chooseHeaders(status, details), ...options.headers } };
}

export function refuseRequest(
  core: Pick<ServerCore, "report">,
  error: unknown,
  requestId?: string,
  options?: RefuseOptions,
): Response {
  const { problem, headers } = describeProblem(core, error, requestId, options);
  return Response.json(problem, { status: problem.status, headers });
}

/** Response to an error thrown while handling a request. Errors caused by a disconnected client are not reported. */
export function answerError(
  core: Pick<ServerCore, "report">,
  { signal }: Request,
  error: unknown,
  requestId?: string,
): Response {
  const isGone = signal.aborted && !isLoomError(error) && !(error instanceof HttpRefusal);
  return isGone ? new Response(null, { status: 499 }) : refuseRequest(core, error, requestId);
}

/** A `LoomError` with its own HTTP status or headers. */
export class HttpRefusal extends Error {
  readonly refused: LoomError;
  readonly options: RefuseOptions;

  constructor(refused: LoomError, options: RefuseOptions) {
    super(refused.message);
    this.refused = refused;
    this.options = options;
  }
}

/** `unknown_session` becomes `Unknown session`. */
function titleOf(code: string): string {
  return code.charAt(0).toUpperCase() + code.slice(1).replaceAll("_", " ");
}

function chooseHeaders(
  status: number,
  details: { readonly [name: string]: unknown },
): { readonly [name: string]: string } {
  return {
    "content-type": PROBLEM_TYPE,
    "cache-control": "no-store",
    ...(status === 401 ? { "www-authenticate": "Bearer" } : {}),
    // Tells clients to wait before they retry.
    ...(status === 503 || status === 429 ? { "retry-after": String(readRetryAfter(details["retry_after_ms"])) } : {}),
  };
}

/** In seconds. */
function readRetryAfter(ms: unknown): number {
  return typeof ms === "number" && ms > 1000 ? Math.ceil(ms / 1000) : 1;
}
