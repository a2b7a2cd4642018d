/**
 * Writes an answer with a long body to a connection of Node. One that breaks off breaks the connection, and is never ended
 * politely: a polite end means that this was all. What broke is reported here and shown to nobody.
 */
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";
import type { NodeBindings } from "../api/operation.ts";
import type { ServerCore } from "../server-core.ts";

/** What a server of Hono on Node takes for: this has been answered. */
const ALREADY_SENT = { "x-hono-already-sent": "true" };

/** Whoever goes away has done nothing wrong, nor have we where leave to read has ended. */
const EXPECTED: ReadonlySet<unknown> = new Set(["ERR_STREAM_PREMATURE_CLOSE", "unauthorized"]);

/** Whether it is better sent so: short ones are sent whole, with their length. */
export function isLong({ headers, body }: Response): boolean {
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
    // The connection is broken by now.
    if (!EXPECTED.has((error as { readonly code?: unknown }).code)) core.report(error);
  }
  return new Response(null, { headers: ALREADY_SENT });
}
