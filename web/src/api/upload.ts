/** Uploads a file to an endpoint and reports progress. */
import { sendFile } from "../../../src/client/transport/session-files.ts";
import { ApiError, readApiError } from "./api-error.ts";
import { formatUrl } from "./request.ts";

export interface UploadOptions {
  readonly signal?: AbortSignal;
  /** From 0 to 100. */
  readonly onProgress?: (percent: number) => void;
}

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
