/** How the frames of a stream are written into the body of an answer, and how it shows that the body is not all. */
import { encodeSseComment } from "../../framing/index.ts";
import { isLoomError } from "../../protocol/index.ts";
import type { ChunkForm } from "../streams/chunk.ts";
import type { ReaderEnd } from "../streams/reader.ts";

export interface StreamFraming {
  readonly mediaType: string;
  readonly form: ChunkForm;
  /** The same, as a chunk of a body whose length is not known. */
  readonly httpForm: ChunkForm;
  /** A sign of life. */
  readonly heartbeat: string;
  /** The beginning of a frame: a stream that ends so has not said all, and whoever reads it asks for the rest. */
  readonly cut: string;
  /** How long to wait before asking again, where it can be said. */
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
    // A blank line, which readers of lines skip.
    heartbeat: "\n",
    cut: "{",
    retry: "",
  },
};

/**
 * What stands at the end of a body. Only `end` is polite. After `cut` the body ends as it should, but within a frame: all
 * that went before arrives, and the rest is asked for. Undefined: the connection breaks, for nobody reads it, or nobody
 * knows what went wrong.
 */
export function writeEnd({ cut, retry }: StreamFraming, { reason, error }: ReaderEnd): string | undefined {
  if (reason === "end") return "";
  if (reason === "closing") return `${retry}${cut}`;
  // The reader must come to ask for this frame first: then it is told why it cannot have it.
  return reason === "error" && isLoomError(error, "frame_too_long") ? cut : undefined;
}
