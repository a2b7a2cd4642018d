/** How SSE and NDJSON bodies are framed, and how a body shows that it is incomplete. */
import { encodeSseComment } from "../../framing/index.ts";
import { isLoomError } from "../../protocol/index.ts";
import type { ChunkForm } from "./chunk.ts";
import type { ReaderEnd } from "./stream-reader.ts";

export interface StreamFraming {
  readonly mediaType: string;
  readonly form: ChunkForm;
  /** The same form with HTTP chunk headers. */
  readonly httpForm: ChunkForm;
  readonly heartbeat: string;
  /**
   * Beginning of a frame: a body that ends with it is incomplete, so the client reconnects for the rest. Undefined for
   * clients that do not notice it; an incomplete body is then cut off.
   */
  readonly cut: string | undefined;
  /** Reconnection delay for the client, if the framing supports it. */
  readonly retry: string;
}

export const STREAM_FRAMINGS: { readonly [name in "sse" | "ndjson"]: StreamFraming } = {
  sse: {
    mediaType: "text/event-stream",
    form: "sse",
    httpForm: "sse-http",
    heartbeat: encodeSseComment("alive"),
    cut: "data: {",
    retry: "retry: 1000\n\n",
  },
  ndjson: {
    mediaType: "application/x-ndjson",
    form: "ndjson",
    httpForm: "ndjson-http",
    // Leading whitespace of the next line. A line break would add an empty line, which is not a frame (001 §3).
    heartbeat: " ",
    cut: "{",
    retry: "",
  },
};

/**
 * Returns the text that ends a body. It is empty after a complete stream, and the beginning of a frame if the client
 * should notice the cut and reconnect. Returns undefined if the connection must be destroyed.
 */
export function writeEnd({ cut, retry }: StreamFraming, { reason, error }: ReaderEnd): string | undefined {
  if (reason === "end") return "";
  if (reason === "closing" && cut !== undefined) return `${retry}${cut}`;
  // The client must reconnect at this frame to receive the error.
  return reason === "error" && isLoomError(error, "frame_too_long") ? cut : undefined;
}
