/**
 * A `fetch` for JSON-RPC over HTTP that hangs up on a request that was called off, and ends one that will never be
 * answered. The library that speaks over it does neither: it would leave the request open, and wait for its time-out.
 *
 * Invariant: each request that was sent is answered, called off, resumable, or failed, once its exchange is over.
 */
import { Buffer } from "node:buffer";
import { ReadableStream as MadeStream } from "node:stream/web";
import { isJsonObject, type Json, type JsonObject } from "../../protocol/index.ts";
import { type Fetch, remakeResponse } from "./limit-response.ts";

export function answerRequests(fetchIt: Fetch): Fetch {
  const open = new Map<unknown, AbortController>();
  return async (url, init = {}) => {
    const { id, method, params } = readMessage(init);
    if (method === "notifications/cancelled" && isJsonObject(params)) {
      const told = fetchIt(url, init);
      open.get(params["requestId"])?.abort();
      return told;
    }
    if (id === undefined || method === undefined) return fetchIt(url, init);

    const hangUp = new AbortController();
    const outer = init.signal;
    const stop = (): void => hangUp.abort(outer?.reason);
    const isCalledOff = (): boolean => hangUp.signal.aborted && outer?.aborted !== true;
    const finish = (): void => {
      open.delete(id);
      outer?.removeEventListener("abort", stop);
    };
    open.set(id, hangUp);
    if (outer?.aborted === true) stop();
    else outer?.addEventListener("abort", stop, { once: true });
    let response: Response;
    try {
      response = await fetchIt(url, { ...init, signal: hangUp.signal });
    } catch (error) {
      finish();
      throw error;
    }
    if (response.status === 202) {
      finish();
      await response.body?.cancel();
      return Response.json(failureOf(id, "took the request and did not answer it"));
    }
    const body = response.body ?? new Blob([]).stream();
    const isStream = (response.headers.get("content-type") ?? "").toLowerCase().startsWith("text/event-stream");
    const whole = isStream && response.ok ? endWithAnswer(body, id, isCalledOff) : body;
    const made = MadeStream.from(finishAfter(whole, finish)) as ReadableStream<Uint8Array>;
    return remakeResponse(response, made);
  };
}

/** The events of a stream, and one more that ends the request: where it was answered already, nobody listens to it. */
async function* endWithAnswer(
  body: AsyncIterable<Uint8Array>,
  id: Json,
  isCalledOff: () => boolean,
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
    // The library asks for the rest.
    if (isResumable && !isCalledOff()) return;
  } catch (error) {
    if (isResumable && !isCalledOff()) throw error;
  }
  // Only a result keeps the library from asking for the rest of what was called off.
  const last = isCalledOff() ? { jsonrpc: "2.0", id, result: {} } : failureOf(id, "broke off before it answered");
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
