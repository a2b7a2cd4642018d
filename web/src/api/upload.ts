/** Sends a file as it is and tells how far it has come; `fetch` cannot say that of what goes up. */
import { ApiError, readApiError } from "./api-error.ts";
import { formatAddress } from "./ask.ts";

export interface UploadOptions {
  readonly signal?: AbortSignal;
  /** From 0 to 100. */
  readonly onProgress?: (percent: number) => void;
}

/** So long without an answer once all is sent, and in all; a large file on a slow line takes its time. */
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
  request.open("POST", formatAddress(path, query));
  request.timeout = TIMEOUT_MS;
  request.setRequestHeader("accept", "application/json");
  request.setRequestHeader("content-type", file.type === "" ? "application/octet-stream" : file.type);
  request.upload.addEventListener("progress", ({ loaded, total }) => {
    if (total > 0) onProgress?.((100 * loaded) / total);
  });
  request.addEventListener("error", () => fail("connection_lost", "the server does not answer"));
  request.addEventListener("timeout", () => fail("connection_lost", "it took too long"));
  request.addEventListener("abort", () => fail("aborted", "it is no longer wanted"));
  request.addEventListener("load", () => {
    if (request.status < 200 || request.status > 299) reject(readApiError(request.status, request.responseText));
    else
      try {
        resolve(JSON.parse(request.responseText) as T);
      } catch {
        // A page of something before our server.
        fail("bad_answer", "the answer is no JSON");
      }
  });
  request.addEventListener("loadend", () => signal?.removeEventListener("abort", abort));
  if (signal?.aborted === true) fail("aborted", "it is no longer wanted");
  else {
    signal?.addEventListener("abort", abort, { once: true });
    request.send(file);
  }
  return promise;
}
