/**
 * Error responses in the forms that clients of other protocols expect: OpenAI clients create their typed errors from the
 * field `error` of a problem document, and clients of the AI SDK show the body to the user, so it is a sentence.
 */
import { openaiErrorType, toOpenaiErrorCode } from "../../dialects/openai-error.ts";
import { PROBLEM_TYPE } from "./refuse-request.ts";
import type { Problem } from "./shapes.generated.ts";

const OPENAI_PREFIX = "/openai/";
const CHAT_PATH = /^\/api\/chat(?:$|\/)/;
/** Clients of the AI SDK send the `Accept` of `fetch`, which allows anything. Others name what they read, or send none. */
const READS_PROBLEMS = /json|event-stream/i;

/** Codes that OpenAI clients compare. */
const CODES: { readonly [code: string]: { readonly code: string; readonly param: string | null } } = {
  unknown_agent: { code: "model_not_found", param: "model" },
  unauthorized: { code: "invalid_api_key", param: null },
};
/** OpenAI clients retry other statuses too, which would start a run again that failed. */
const RETRIED: ReadonlySet<number> = new Set([408, 429, 503]);
export const RETRY_HEADER = "x-should-retry";

/** The error of a problem document, as OpenAI clients know it. */
export function describeOpenaiError({ status, detail: message, code, details }: Problem) {
  const path = details?.["path"];
  const param = typeof path === "string" ? path : null;
  return { message, type: openaiErrorType(status), param, code: toOpenaiErrorCode(code), ...CODES[code] };
}

/** Changes the problem document of an error response for the client that sent the request. `path` has no base path. */
export async function adaptError(path: string, { headers }: Request, response: Response): Promise<Response> {
  if (response.status < 400 || response.headers.get("content-type") !== PROBLEM_TYPE) return response;
  if (path.startsWith(OPENAI_PREFIX)) return addOpenaiError(response);
  const accept = headers.get("accept");
  return CHAT_PATH.test(path) && accept !== null && !READS_PROBLEMS.test(accept) ? toPlainError(response) : response;
}

async function addOpenaiError(response: Response): Promise<Response> {
  const { status, headers: given } = response;
  const problem = (await response.json()) as Problem;
  const headers = new Headers(given);
  headers.delete("content-length");
  if (!headers.has(RETRY_HEADER)) headers.set(RETRY_HEADER, String(RETRIED.has(status)));
  return new Response(JSON.stringify({ ...problem, error: describeOpenaiError(problem) }), { status, headers });
}

async function toPlainError(response: Response): Promise<Response> {
  const { status, headers: given } = response;
  const { detail, id } = (await response.json()) as Problem;
  const headers = new Headers(given);
  headers.delete("content-length");
  headers.set("content-type", "text/plain; charset=utf-8");
  // The log of the server has an internal error under this ID.
  return new Response(status === 500 ? `${detail} (ID ${id})` : detail, { status, headers });
}
