/** A `fetch` that limits the size of a response, or of one event in a stream. The MCP SDK buffers without a limit. */
import { LoomError } from "../../protocol/index.ts";

export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** `onTooLong` is called because the SDK does not report a broken stream to pending requests. */
export function limitResponses(maxBytes: number, onTooLong: () => void, fetchIt: Fetch = fetch): Fetch {
  return async (url, init) => {
    const response = await fetchIt(url, init);
    if (response.body === null) return response;
    const isStream = (response.headers.get("content-type") ?? "").toLowerCase().startsWith("text/event-stream");
    return replaceBody(response, response.body.pipeThrough(limitBytes(maxBytes, isStream, onTooLong)));
  };
}

/** Returns a copy of the response with another body. */
export function replaceBody(response: Response, body: ReadableStream<Uint8Array>): Response {
  const { status, statusText, headers } = response;
  const made = new Response(body, { status, statusText, headers });
  // A constructed response has no URL, but the SDK reads it to check redirects.
  Object.defineProperty(made, "url", { value: response.url });
  return made;
}

function limitBytes(
  maxBytes: number,
  isStream: boolean,
  onTooLong: () => void,
): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  let previous = 0;
  return new TransformStream({
    transform(chunk, controller) {
      const blank = isStream ? findLastBlank(chunk, previous) : -1;
      bytes = blank < 0 ? bytes + chunk.length : chunk.length - blank;
      previous = chunk.at(-1) ?? previous;
      if (bytes <= maxBytes) return controller.enqueue(chunk);
      controller.error(new LoomError("mcp_failed", `sent more than ${maxBytes} bytes at once`));
      onTooLong();
    },
  });
}

/** Returns the position of the last blank line, which ends an event, or -1. Lines can end in LF, CR or CRLF. */
function findLastBlank(chunk: Uint8Array, previous: number): number {
  for (let at = chunk.length - 1; at >= 0; at -= 1) {
    const [before, here] = [at === 0 ? previous : chunk[at - 1], chunk[at]];
    if (here === LINE_FEED && before === LINE_FEED) return at;
    if (here === CARRIAGE_RETURN && (before === LINE_FEED || before === CARRIAGE_RETURN)) return at;
  }
  return -1;
}
