// Reads the frames of a response in either framing: their texts, and their cursors where the framing has IDs.
import { createNdjsonDecoder, createSseDecoder, readFrames as pull } from "../../src/framing/index.ts";

export interface ReadFrame {
  readonly text: string;
  readonly id: string | undefined;
}

/** Reads to the end. Rejects when the response is cut. */
export async function readFrames(response: Response): Promise<readonly ReadFrame[]> {
  const isSse = response.headers.get("content-type") === "text/event-stream";
  const frames: ReadFrame[] = [];
  const bytes = response.body ?? new Blob([]).stream();
  for await (const outcomes of pull(bytes, isSse ? createSseDecoder() : createNdjsonDecoder()))
    for (const outcome of outcomes) {
      if (!outcome.ok) throw new Error(`${outcome.reason}: ${outcome.detail}`);
      frames.push({ text: outcome.text, id: outcome.id });
    }
  return frames;
}
