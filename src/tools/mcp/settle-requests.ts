/**
 * A `fetch` for JSON-RPC over HTTP that closes cancelled requests and fails requests that will never be answered. The
 * MCP SDK does neither: it keeps the request open until its timeout.
 *
 * Invariant: when an exchange ends, each request is answered, cancelled, resumable or failed.
 */
import { Buffer } from "node:buffer";
import { ReadableStream as NodeReadableStream } from "node:stream/web";
import type { Json, JsonObject } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";
import { type Fetch, replaceBody } from "./limit-response.ts";

export function settleRequests(fetchIt: Fetch): Fetch {
  const open = new Map<unknown, AbortController>();
  return async (url, init = {}) => {
    const { id, method, params } = readMessage(init);
    if (method === "notifications/cancelled" && isJsonObject(params)) {
      const response = fetchIt(url, init);
      open.get(params["requestId"])?.abort();
      return response;
    }
    if (id === undefined || method === undefined) return fetchIt(url, init);

    const controller = new AbortController();
    const outer = init.signal;
    const stop = (): void => controller.abort(outer?.reason);
    const isCancelled = (): boolean => controller.signal.aborted && outer?.aborted !== true;
    const finish = (): void => {
      open.delete(id);
      outer?.removeEventListener("abort", stop);
    };
    open.set(id, controller);
    if (outer?.aborted === true) stop();
    else outer?.addEventListener("abort", stop, { once: true });
    let response: Response;
    try {
      response = await fetchIt(url, { ...init, signal: controller.signal });
    } catch (error) {
      finish();
      throw error;
    }
    if (response.status === 202) {
      finish();
      await response.body?.cancel();
      return Response.json(failureOf(id, "accepted the request but did not answer it"));
    }
    const body = response.body ?? new Blob([]).stream();
    const isStream = (response.headers.get("content-type") ?? "").toLowerCase().startsWith("text/event-stream");
    const whole = isStream && response.ok ? endWithAnswer(body, id, isCancelled) : body;
    const settled = NodeReadableStream.from(finishAfter(whole, finish)) as ReadableStream<Uint8Array>;
    return replaceBody(response, settled);
  };
}

/** Appends a final message that settles the request. The SDK ignores it if the request was already answered. */
async function* endWithAnswer(
  body: AsyncIterable<Uint8Array>,
  id: Json,
  isCancelled: () => boolean,
): AsyncGenerator<Uint8Array> {
  let isResumable = false;
  let tail = "\n";
  try {
    for await (const chunk of body) {
      const text = tail + Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length).toString("latin1");
      isResumable ||= /[\r\n]id:/.test(text);
      tail = text.slice(-3);
      yield chunk;
    }
    // The SDK requests the rest itself.
    if (isResumable && !isCancelled()) return;
  } catch (error) {
    if (isResumable && !isCancelled()) throw error;
  }
  // A result keeps the SDK from resuming a cancelled request.
  const last = isCancelled()
    ? { jsonrpc: "2.0", id, result: {} }
    : failureOf(id, "closed the connection before it answered");
  yield Buffer.from(`\n\ndata: ${JSON.stringify(last)}\n\n`);
}

async function* finishAfter(body: AsyncIterable<Uint8Array>, finish: () => void): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } finally {
    finish();
  }
}

function failureOf(id: Json, message: string): JsonObject {
  return { jsonrpc: "2.0", id, error: { code: -32000, message } };
}

function readMessage({ body }: RequestInit): JsonObject {
  const message: unknown = typeof body === "string" ? JSON.parse(body) : undefined;
  return isJsonObject(message) ? message : {};
}
