/** Uploads a file and reports progress. Uses XMLHttpRequest because `fetch` has no upload progress. */
import { ApiError, readApiError } from "./api-error.ts";
import { formatUrl } from "./request.ts";

export interface UploadOptions {
  readonly signal?: AbortSignal;
  /** From 0 to 100. */
  readonly onProgress?: (percent: number) => void;
}

/** Timeout of the whole upload, long enough for a large file on a slow connection. */
const TIMEOUT_MS = 15 * 60_000;

export function upload<T>(
  path: string,
  query: { readonly [name: string]: string | undefined },
  file: Blob,
  { signal, onProgress }: UploadOptions = {},
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const request = new XMLHttpRequest();
  const abort = (): void => request.abort();
  const fail = (code: string, message: string): void => reject(new ApiError(code, message));
  request.open("POST", formatUrl(path, query));
  request.timeout = TIMEOUT_MS;
  request.setRequestHeader("accept", "application/json");
  request.setRequestHeader("content-type", file.type === "" ? "application/octet-stream" : file.type);
  request.upload.addEventListener("progress", ({ loaded, total }) => {
    if (total > 0) onProgress?.((100 * loaded) / total);
  });
  request.addEventListener("error", () => fail("connection_lost", "No response from the server."));
  request.addEventListener("timeout", () => fail("connection_lost", "Upload timed out."));
  request.addEventListener("abort", () => fail("aborted", "Upload cancelled."));
  request.addEventListener("load", () => {
    if (request.status < 200 || request.status > 299) reject(readApiError(request.status, request.responseText));
    else
      try {
        resolve(JSON.parse(request.responseText) as T);
      } catch {
        // The response is from a proxy, not from our server.
        fail("bad_answer", "Invalid response from the server.");
      }
  });
  request.addEventListener("loadend", () => signal?.removeEventListener("abort", abort));
  if (signal?.aborted === true) fail("aborted", "Upload cancelled.");
  else {
    signal?.addEventListener("abort", abort, { once: true });
    request.send(file);
  }
  return promise;
}
