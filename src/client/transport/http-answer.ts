/**
 * An HTTP response that is not what was asked for: whether trying again may help, when, and what the server said. Knows
 * nothing of frames. What is read of a body is bounded: a page of a proxy in between may be of any size.
 */
/** A server that answers so may answer otherwise soon. */
export function isPassing(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status >= 500;
}

/** `Retry-After` in milliseconds: given as seconds, or as a date. */
export function readRetryAfter(headers: Headers, now: number): number | undefined {
  const value = headers.get("retry-after")?.trim() ?? "";
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** The media type without its parameters. */
export function readMediaType(headers: Headers): string {
  return (headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

/** The body; nothing where there is none, or it is too long. Undefined where it broke off: the whole may say otherwise. */
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
