/**
 * Writes a response with a streamed body to a Node connection. If the body fails, the connection is destroyed instead
 * of ended, so that the client does not take the body for complete; the error is reported but not sent.
 */
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";
import type { NodeBindings } from "../api/operation.ts";
import type { ServerCore } from "../api/server-core.ts";

/** Tells Hono's Node adapter that the response was already sent. */
const ALREADY_SENT = { "x-hono-already-sent": "true" };

/** Expected ends: the client disconnected, its access ended, or the store or login is away or full, which is reported once. */
const EXPECTED: ReadonlySet<unknown> = new Set([
  "ERR_STREAM_PREMATURE_CLOSE",
  "unauthorized",
  "store_unavailable",
  "store_full",
  "login_unavailable",
]);

/** JSON responses are short and sent as a whole, with their length; other bodies are streamed. */
export function shouldStream({ headers, body }: Response): boolean {
  return body !== null && !/^application\/(?:problem\+)?json\b/.test(headers.get("content-type") ?? "");
}

export async function sendOnNode(
  core: Pick<ServerCore, "report">,
  response: Response,
  outgoing: NonNullable<NodeBindings["outgoing"]>,
): Promise<Response> {
  const { status, headers, body } = response;
  outgoing.setHeaders(headers);
  outgoing.writeHead(status);
  outgoing.flushHeaders();
  try {
    await pipeline(Readable.fromWeb(body as ReadableStream), outgoing);
  } catch (error) {
    // The connection is already destroyed.
    if (!EXPECTED.has((error as { readonly code?: unknown }).code)) core.report(error);
  }
  const sent = new Response(null, { headers: ALREADY_SENT });
  // After `serve` of Hono, `Response` is its class, which is sent without a look at its headers until `body` is read.
  return sent.body === null ? sent : Response.error();
}
