/**
 * Sends one request to the server: JSON in, JSON out. URLs are relative to the page, which may be mounted at any path.
 *
 * Invariant: every error thrown is an `ApiError`, and every request has a timeout, except streams.
 */
import { createSseDecoder, readFrames } from "loom-agent/framing";
import { sendFile } from "../../../src/client/transport/session-files.ts";
import { readSharedRoute } from "../store/route.ts";
import { ApiError, readApiError } from "./api-error.ts";
import type { FrameRequest, WireFrame } from "../inspector/inspector-api.ts";

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

/**
 * Reads the frames of one run as sent, each with its cursor. Uses server-sent events: their `id` is the cursor, even in
 * dialects whose frames have none.
 */
export async function* readRunFrames(
  session: string,
  runId: string,
  { dialect, after, follow = false, signal }: FrameRequest,
): AsyncGenerator<WireFrame, void, undefined> {
  const response = await requestStream(`/v1/sessions/${encodeURIComponent(session)}/events`, {
    accept: "text/event-stream",
    // The inspector needs events of every mode.
    query: { run: runId, dialect, modes: "all", after, follow: follow ? "true" : undefined },
    signal,
  });
  if (response.body === null) return;
  for await (const batch of readFrames(response.body, createSseDecoder()))
    for (const outcome of batch) {
      if (!outcome.ok) throw new ApiError("bad_answer", `${outcome.reason}: ${outcome.detail}`);
      yield { text: outcome.text, ...(outcome.id === undefined ? {} : { cursor: outcome.id }) };
    }
}

export interface UploadOptions {
  readonly signal?: AbortSignal;
  /** From 0 to 100. */
  readonly onProgress?: (percent: number) => void;
}

/** Uploads a file to an endpoint and reports progress. */
export async function upload<T>(
  path: string,
  query: { readonly [name: string]: string | undefined },
  file: Blob,
  options: UploadOptions = {},
): Promise<T> {
  const { status, text } = await sendFile(formatUrl(path, query), file, options).catch((error: unknown) => {
    const { name, message } = error instanceof Error ? error : new Error(String(error));
    throw new ApiError(name === "AbortError" ? "aborted" : "connection_lost", message, { cause: error });
  });
  if (status < 200 || status > 299) throw readApiError(status, text);
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    // The response is from a proxy, not from our server.
    throw new ApiError("bad_answer", "Invalid response from the server.", { cause: error });
  }
}
