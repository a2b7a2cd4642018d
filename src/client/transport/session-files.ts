/**
 * Files over HTTP. Uploads use XMLHttpRequest, because `fetch` has no upload progress. Downloads exist for clients with a
 * token and for pages of another origin, where the address of a file in an `<img>` or a link does not work.
 */
import { type ClientToken, createAuthorization } from "./client-token.ts";

/** Options of `fetchFile`. */
export interface FileRequestOptions {
  /** Sent in the `Authorization` header. */
  readonly token?: ClientToken | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Options of `sendFile`. */
export interface SendFileOptions extends FileRequestOptions {
  /** Reports the progress, from 0 to 100. */
  readonly onProgress?: ((percent: number) => void) | undefined;
}

/** Timeout of a whole upload, long enough for a large file on a slow connection. */
const TIMEOUT_MS = 15 * 60_000;

/**
 * Sends a file as the body of a POST request, such as `/v1/sessions/{id}/blobs`. Resolves with the response, whatever its
 * status is. Rejects if there is none: with an `AbortError` if the signal was aborted.
 */
export async function sendFile(
  url: string,
  file: Blob,
  { token, signal, onProgress }: SendFileOptions = {},
): Promise<{ readonly status: number; readonly text: string }> {
  const authorization = await authorize(token);
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<{ readonly status: number; readonly text: string }>();
  const request = new XMLHttpRequest();
  const abort = (): void => request.abort();
  request.open("POST", url);
  request.timeout = TIMEOUT_MS;
  request.setRequestHeader("accept", "application/json");
  request.setRequestHeader("content-type", file.type === "" ? "application/octet-stream" : file.type);
  if (authorization !== undefined) request.setRequestHeader("authorization", authorization);
  request.upload.addEventListener("progress", ({ loaded, total }) => {
    if (total > 0) onProgress?.((100 * loaded) / total);
  });
  request.addEventListener("load", () => resolve({ status: request.status, text: request.responseText }));
  request.addEventListener("error", () => reject(new Error("No response from the server.")));
  request.addEventListener("timeout", () => reject(new Error("Upload timed out.")));
  request.addEventListener("abort", () => reject(new DOMException("Upload cancelled.", "AbortError")));
  signal?.addEventListener("abort", abort, { once: true });
  request.send(file);
  return promise.finally(() => signal?.removeEventListener("abort", abort));
}

/** Downloads a file. Rejects if the response is not successful. */
export async function fetchFile(url: string, { token, signal }: FileRequestOptions = {}): Promise<Blob> {
  const authorization = await authorize(token);
  const response = await fetch(url, {
    ...(authorization === undefined ? {} : { headers: { authorization } }),
    ...(signal === undefined ? {} : { signal }),
  });
  if (!response.ok) throw new Error(`The server responded with ${response.status}`);
  return response.blob();
}

async function authorize(token: ClientToken | undefined): Promise<string | undefined> {
  if (token === undefined) return undefined;
  const authorization = await createAuthorization(token);
  if (typeof authorization !== "string") throw new Error(authorization.message);
  return authorization;
}
