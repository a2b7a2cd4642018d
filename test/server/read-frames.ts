// The frames of an answer, whichever framing it has: their texts, and their cursors where the framing has room for one.
import { createNdjsonDecoder, createSseDecoder, readFrames as pull } from "../../src/framing/index.ts";

export interface ReadFrame {
  readonly text: string;
  readonly id: string | undefined;
}

/** To its end; rejects where the answer breaks off. */
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
