/**
 * Error responses of the chat endpoint. Clients of the AI SDK show the body of an error response to the user, so it is a
 * sentence. They send the `Accept` of `fetch`, which allows anything. Clients that name JSON or a stream in it, or send no
 * `Accept`, get the problem document.
 */
import type { Problem } from "./shapes.generated.ts";
import { PROBLEM_TYPE } from "./refuse-request.ts";

const CHAT_PATH = /^\/api\/chat(?:$|\/)/;
const READS_PROBLEMS = /json|event-stream/i;

/** True if the client that sent the request shows the body of an error. `path` has no base path. */
export function showsErrorBody(path: string, { headers }: Request): boolean {
  const accept = headers.get("accept");
  return CHAT_PATH.test(path) && accept !== null && !READS_PROBLEMS.test(accept);
}

/** Replaces the problem document of an error response by its sentence; returns any other response as it is. */
export async function toPlainError(response: Response): Promise<Response> {
  const { status, headers: given } = response;
  if (given.get("content-type") !== PROBLEM_TYPE) return response;
  const { detail, id } = (await response.json()) as Problem;
  const headers = new Headers(given);
  headers.delete("content-length");
  headers.set("content-type", "text/plain; charset=utf-8");
  // The log of the server has an internal error under this ID.
  return new Response(status === 500 ? `${detail} (ID ${id})` : detail, { status, headers });
}
