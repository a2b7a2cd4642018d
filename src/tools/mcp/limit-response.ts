/**
 * A `fetch` whose answers end: an answer as a whole, or a single event of a stream, may have so many bytes. The library
 * that reads them gathers whatever comes.
 */
import { LoomError } from "../../protocol/index.ts";

export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** `onTooLong` is told, because the library does not tell those who wait when a stream breaks off. */
export function limitResponses(maxBytes: number, onTooLong: () => void, fetchIt: Fetch = fetch): Fetch {
  return async (url, init) => {
    const response = await fetchIt(url, init);
    if (response.body === null) return response;
    const isStream = (response.headers.get("content-type") ?? "").toLowerCase().startsWith("text/event-stream");
    return remakeResponse(response, response.body.pipeThrough(limitBytes(maxBytes, isStream, onTooLong)));
  };
}

/** The same response with another body. */
export function remakeResponse(response: Response, body: ReadableStream<Uint8Array>): Response {
  const { status, statusText, headers } = response;
  const made = new Response(body, { status, statusText, headers });
  // A made response has no address, and whoever judges redirects asks for it.
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

/** Where the last empty line is, which ends an event; -1 where there is none. A line may end in any of three ways. */
function findLastBlank(chunk: Uint8Array, previous: number): number {
  for (let at = chunk.length - 1; at >= 0; at -= 1) {
    const [before, here] = [at === 0 ? previous : chunk[at - 1], chunk[at]];
    if (here === LINE_FEED && before === LINE_FEED) return at;
    if (here === CARRIAGE_RETURN && (before === LINE_FEED || before === CARRIAGE_RETURN)) return at;
  }
  return -1;
}
