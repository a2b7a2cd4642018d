/**
 * Helpers for HTTP responses: retry hints, media type, and a body of bounded size, because a proxy may send a page of
 * any length.
 */

/** Returns true for a status after which a retry may succeed. */
export function isTemporaryStatus(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status >= 500;
}

/** Returns the `Retry-After` header in milliseconds. Accepts seconds or a date. */
export function readRetryAfter(headers: Headers, now: number): number | undefined {
  const value = headers.get("retry-after")?.trim() ?? "";
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** Returns the media type without parameters, in lower case. */
export function readMediaType(headers: Headers): string {
  return (headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

/** Reads the body. Returns "" if there is none or it is too long, and undefined if it was cut off. */
export async function readText({ body }: Response, maxBytes: number, signal: AbortSignal): Promise<string | undefined> {
  if (body === null) return "";
  const reader = body.getReader();
  const stop = (): void => void reader.cancel().catch(() => undefined);
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return text + decoder.decode();
      bytes += value.length;
      if (bytes > maxBytes) return "";
      text += decoder.decode(value, { stream: true });
    }
  } catch {
    return undefined;
  } finally {
    signal.removeEventListener("abort", stop);
    stop();
  }
}
