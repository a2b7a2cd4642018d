/**
 * An answer that says no, and why. What was thrown and is not ours is kept from users: they are told an id, and whoever
 * runs the server is told the rest.
 */
import { isLoomError, type LoomError } from "../../protocol/index.ts";
import type { Refusal } from "../api/shapes.generated.ts";
import type { ServerCore } from "../server-core.ts";
import { statusOf } from "./status-of.ts";

export interface RefuseOptions {
  /** Another status than the code has. */
  readonly status?: number;
  readonly headers?: { readonly [name: string]: string };
}

/** What may cross the wire of an error. */
export function describeRefusal({ report }: Pick<ServerCore, "report">, error: unknown): Refusal {
  if (isLoomError(error)) {
    const { code, message, details } = error;
    return { type: "refusal", code, message, ...(Object.keys(details).length === 0 ? {} : { details }) };
  }
  const error_id = report(error);
  return { type: "refusal", code: "internal_error", message: "something went wrong on the server", error_id };
}

export function refuseRequest(
  core: Pick<ServerCore, "report">,
  error: unknown,
  { status, headers }: RefuseOptions = {},
): Response {
  if (error instanceof HttpRefusal) return refuseRequest(core, error.refused, error.options);
  const refusal = describeRefusal(core, error);
  const given = status ?? statusOf(refusal.code);
  return Response.json(refusal, {
    status: given,
    // Whoever asks again at once meets the same.
    headers: {
      "cache-control": "no-store",
      ...(given === 503 || given === 429 ? { "retry-after": "1" } : {}),
      ...headers,
    },
  });
}

/**
 * What a request has thrown. What breaks because whoever asked has left, a body that does not come say, is nobody's fault
 * here, and nobody is told.
 */
export function answerThrown(core: Pick<ServerCore, "report">, { signal }: Request, error: unknown): Response {
  const isGone = signal.aborted && !isLoomError(error) && !(error instanceof HttpRefusal);
  return isGone ? new Response(null, { status: 499 }) : refuseRequest(core, error);
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
