/**
 * Error responses of the endpoints for OpenAI clients: problem documents, with the field `error` from which the clients
 * create their typed errors.
 */
import { openaiErrorType, toOpenaiErrorCode } from "../../dialects/openai-error.ts";
import type { Problem } from "./shapes.generated.ts";
import { PROBLEM_TYPE } from "./refuse-request.ts";

/** Prefix of the paths of these endpoints. */
export const OPENAI_PREFIX = "/openai/";

/** Codes that clients compare. */
const CODES: { readonly [code: string]: { readonly code: string; readonly param: string | null } } = {
  unknown_agent: { code: "model_not_found", param: "model" },
  unauthorized: { code: "invalid_api_key", param: null },
};
/** Clients retry other statuses too, which would start a run again that failed. */
const RETRIED: ReadonlySet<number> = new Set([408, 429, 503]);
export const RETRY_HEADER = "x-should-retry";

/** The error of a problem document, as the clients know it. */
export function describeOpenaiError({ status, detail: message, code, details }: Problem) {
  const path = details?.["path"];
  const param = typeof path === "string" ? path : null;
  return { message, type: openaiErrorType(status), param, code: toOpenaiErrorCode(code), ...CODES[code] };
}

/** Adds `error` to the problem document of an error response; returns any other response as it is. */
export async function addOpenaiError(response: Response): Promise<Response> {
  const { status, headers: given } = response;
  if (given.get("content-type") !== PROBLEM_TYPE) return response;
  const problem = (await response.json()) as Problem;
  const headers = new Headers(given);
  headers.delete("content-length");
  if (!headers.has(RETRY_HEADER)) headers.set(RETRY_HEADER, String(RETRIED.has(status)));
  return new Response(JSON.stringify({ ...problem, error: describeOpenaiError(problem) }), { status, headers });
}
