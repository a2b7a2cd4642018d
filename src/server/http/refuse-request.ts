/**
 * An answer that says no, and why: a problem as RFC 9457 has it, with the code that programs look at and an id to ask
 * about. What may be told of an error is decided elsewhere.
 */
import { randomUUID } from "node:crypto";
import { isLoomError, type LoomError } from "../../protocol/index.ts";
import type { Problem } from "../api/shapes.generated.ts";
import type { ServerCore } from "../server-core.ts";
import { tellError } from "../tell-error.ts";
import { statusOf } from "./status-of.ts";

export const PROBLEM_TYPE = "application/problem+json";

export interface RefuseOptions {
  /** Another status than the code has. */
  readonly status?: number;
  readonly headers?: { readonly [name: string]: string };
}

export interface DescribedProblem {
  readonly problem: Problem;
  readonly headers: { readonly [name: string]: string };
}

/** The id is that of the error, where somebody was told of it, else the request's. */
export function describeProblem(
  core: Pick<ServerCore, "report">,
  error: unknown,
  requestId: string = randomUUID(),
  options: RefuseOptions = {},
): DescribedProblem {
  if (error instanceof HttpRefusal) return describeProblem(core, error.refused, requestId, error.options);
  const { code, message, details, errorId } = tellError(core.report, error);
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

/**
 * What a request has thrown. What breaks because whoever asked has left, a body that does not come say, is nobody's fault
 * here, and nobody is told.
 */
export function answerThrown(
  core: Pick<ServerCore, "report">,
  { signal }: Request,
  error: unknown,
  requestId?: string,
): Response {
  const isGone = signal.aborted && !isLoomError(error) && !(error instanceof HttpRefusal);
  return isGone ? new Response(null, { status: 499 }) : refuseRequest(core, error, requestId);
}

/** A refusal with a status of its own. It never leaves what stands before the doors. */
export class HttpRefusal extends Error {
  readonly refused: LoomError;
  readonly options: RefuseOptions;

  constructor(refused: LoomError, options: RefuseOptions) {
    super(refused.message);
    this.refused = refused;
    this.options = options;
  }
}

/** `unknown_session` as `Unknown session`. */
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
    // Whoever asks again at once meets the same.
    ...(status === 503 || status === 429 ? { "retry-after": String(readRetryAfter(details["retry_after_ms"])) } : {}),
  };
}

/** Seconds. */
function readRetryAfter(ms: unknown): number {
  return typeof ms === "number" && ms > 1000 ? Math.ceil(ms / 1000) : 1;
}
