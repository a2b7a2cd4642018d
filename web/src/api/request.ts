/**
 * Sends one request to the server: JSON in, JSON out. URLs are relative to the page, which may be mounted at any path.
 *
 * Invariant: every error thrown is an `ApiError`, and every request has a timeout, except streams.
 */
import { readSharedRoute } from "../store/route.ts";
import { ApiError, readApiError } from "./api-error.ts";

export interface ApiRequest {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly query?: { readonly [name: string]: string | number | boolean | undefined };
  readonly body?: unknown;
  /** Idempotency key: repeating a request with the same key has no further effect. */
  readonly key?: string;
  readonly signal?: AbortSignal | undefined;
}

const TIMEOUT_MS = 30_000;

export async function requestJson<T>(path: string, request: ApiRequest = {}): Promise<T> {
  const text = await send(path, { ...request, timeoutMs: TIMEOUT_MS }, (response) => response.text());
  if (text === "") return undefined as T;
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    throw new ApiError("bad_answer", "Invalid response from the server.", { cause: error });
  }
}

/** Opens a streaming response. It has no timeout. */
export function requestStream(
  path: string,
  { accept, ...request }: ApiRequest & { accept: string },
): Promise<Response> {
  return send(path, { ...request, accept }, (response) => Promise.resolve(response));
}

interface SendOptions extends ApiRequest {
  readonly accept?: string;
  readonly timeoutMs?: number;
}

async function send<R>(path: string, options: SendOptions, read: (response: Response) => Promise<R>): Promise<R> {
  const { method = "GET", query = {}, body, key, signal, accept = "application/json", timeoutMs } = options;
  const signals = [signal, timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs)];
  try {
    const response = await fetch(formatUrl(path, query), {
      method,
      headers: {
        accept,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(key === undefined ? {} : { "idempotency-key": key }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.any(signals.filter((one) => one !== undefined)),
    });
    if (!response.ok) throw readApiError(response.status, await response.text());
    return await read(response);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    if (signal?.aborted === true) throw new ApiError("aborted", "Request cancelled.", { cause: error });
    throw new ApiError("connection_lost", "No response from the server.", { cause: error });
  }
}

/**
 * Returns a URL relative to the page: `./v1/…`. The page of a share link uses nothing but the link, so that it shows what
 * others see and ends with the link, also in the browser of the owner.
 */
export function formatUrl(path: string, query: NonNullable<ApiRequest["query"]> = {}): string {
  const isShared = typeof location !== "undefined" && readSharedRoute(location.hash) !== undefined;
  const all: NonNullable<ApiRequest["query"]> = isShared ? { ...query, access: "link" } : query;
  const given = Object.entries(all).filter(([, value]) => value !== undefined);
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return `.${path}${search === "" ? "" : `?${search}`}`;
}
