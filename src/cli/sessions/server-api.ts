/**
 * Calls the HTTP API of a server. A request that is safe to repeat is repeated while the connection is lost or the
 * server is busy. Refusals are thrown as LoomErrors with the code of the server.
 */
import { setTimeout as pause } from "node:timers/promises";
import { computeBackoff, DEFAULT_RECONNECT } from "../../client/connection/backoff.ts";
import { isTemporaryStatus, readRetryAfter, readText } from "../../client/transport/http-response.ts";
import { createAuthorization } from "../../client/transport/client-token.ts";
import { readRefusal } from "../../client/transport/refusal.ts";
import { LoomError } from "../../protocol/index.ts";
import { parseObject } from "../../protocol/json.ts";

export interface ServerRequest {
  readonly method?: "GET" | "POST" | "PATCH" | "DELETE";
  /** Path below the address of the server, with its query. */
  readonly path: string;
  readonly body?: object | undefined;
  /** A file. */
  readonly bytes?: Uint8Array | undefined;
  /** A body that can be sent only once; the request is not repeated. */
  readonly stream?: ReadableStream<Uint8Array> | undefined;
  readonly headers?: { readonly [name: string]: string };
  readonly signal?: AbortSignal | undefined;
}

export interface ServerAddress {
  readonly url: string;
  /** Called for every request, so that a renewed token is used. */
  readonly token: (() => string) | undefined;
}

interface FailedAttempt {
  readonly error: LoomError;
  /** Repeating the request may succeed. Default: false. */
  readonly isTemporary?: boolean;
  readonly retryAfterMs?: number | undefined;
}

/** Longest time for which a request is repeated, in milliseconds. */
const RETRY_MS = 30_000;
const MAX_ERROR_BYTES = 1024 * 1024;

export class ServerApi {
  readonly #base: string;
  readonly #token: (() => string) | undefined;
  /** Before the first response, a server that cannot be reached is reported at once. */
  #wasReached = false;

  constructor({ url, token }: ServerAddress) {
    this.#base = url.replace(/\/+$/, "");
    this.#token = token;
  }

  /** Returns the body as JSON. The server is trusted to send the shape of its API. */
  async getJson<T>(request: ServerRequest): Promise<T> {
    return (await (await this.send(request)).json()) as T;
  }

  /** Returns a successful response. Throws a LoomError, or the reason of the signal. */
  async send(request: ServerRequest): Promise<Response> {
    const { signal = new AbortController().signal } = request;
    const deadline = performance.now() + RETRY_MS;
    for (let attempts = 1; ; attempts++) {
      const result = await this.#attempt(request, signal);
      if (result instanceof Response) return result;
      const { error, isTemporary = false, retryAfterMs } = result;
      const wait = computeBackoff(attempts, DEFAULT_RECONNECT, Math.random(), retryAfterMs);
      const mayRepeat = isTemporary && request.stream === undefined && this.#wasReached;
      if (!mayRepeat || performance.now() + wait > deadline) throw error;
      await pause(wait, undefined, { signal });
    }
  }

  async #attempt(
    { method = "GET", path, body, bytes, stream, headers = {} }: ServerRequest,
    signal: AbortSignal,
  ): Promise<Response | FailedAttempt> {
    const all = new Headers({ accept: "application/json", ...headers });
    if (body !== undefined) all.set("content-type", "application/json");
    if (this.#token !== undefined) {
      const authorization = await createAuthorization(this.#token);
      if (typeof authorization !== "string") return { error: new LoomError(authorization.code, authorization.message) };
      all.set("authorization", authorization);
    }
    let response: Response;
    try {
      response = await fetch(`${this.#base}${path}`, {
        method,
        headers: all,
        signal,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(bytes === undefined ? {} : { body: bytes as Uint8Array<ArrayBuffer> }),
        ...(stream === undefined ? {} : { body: stream, duplex: "half" }),
      });
    } catch (error) {
      signal.throwIfAborted();
      const lost = new LoomError("connection_lost", `Cannot reach ${this.#base}: ${describeCause(error)}`);
      return { error: lost, isTemporary: true };
    }
    this.#wasReached = true;
    if (response.ok) return response;
    return this.#readError(response, signal);
  }

  async #readError(response: Response, signal: AbortSignal): Promise<FailedAttempt> {
    const what = `The server responded with ${response.status} ${response.statusText}`.trim();
    const text = await readText(response, MAX_ERROR_BYTES, signal);
    const { code, message, details, isForeign = false } = readRefusal(parseObject(text ?? ""), what);
    const shown = isForeign ? `${what}; ${this.#base} may not be a Loom server` : message;
    return {
      error: new LoomError(code, shown, details),
      isTemporary: isTemporaryStatus(response.status),
      retryAfterMs: readRetryAfter(response.headers, Date.now()),
    };
  }
}

const CAUSES: { readonly [code: string]: string } = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection closed",
  UND_ERR_SOCKET: "connection closed",
  ENOTFOUND: "unknown host",
  ETIMEDOUT: "no answer",
  UND_ERR_CONNECT_TIMEOUT: "no answer",
};

/** `fetch` hides the reason in the cause of its error. */
function describeCause(error: unknown): string {
  const { cause } = error as { readonly cause?: unknown };
  const { code, message } = (cause ?? error) as { readonly code?: string; readonly message?: string };
  return CAUSES[code ?? ""] ?? message ?? "connection failed";
}
