// Reads the frames of a response in either framing: their texts, and their cursors where the framing has IDs.
import { createNdjsonDecoder, createSseDecoder, readFrames as pull } from "../../src/framing/index.ts";

export interface ReadFrame {
  readonly text: string;
  readonly id: string | undefined;
}

/** Reads to the end. Rejects when the response is cut, or is not a stream: an error is not a frame. */
export async function* iterateFrames(response: Response): AsyncGenerator<ReadFrame, void, undefined> {
  if (!response.ok) throw new Error(`The response has the status ${response.status}: ${await response.text()}`);
  const isSse = response.headers.get("content-type") === "text/event-stream";
  const bytes = response.body ?? new Blob([]).stream();
  for await (const outcomes of pull(bytes, isSse ? createSseDecoder() : createNdjsonDecoder()))
    for (const outcome of outcomes) {
      if (!outcome.ok) throw new Error(`${outcome.reason}: ${outcome.detail}`);
      yield { text: outcome.text, id: outcome.id };
    }
}

/** Like `iterateFrames`, with all frames at once. */
export async function readFrames(response: Response): Promise<readonly ReadFrame[]> {
  const frames: ReadFrame[] = [];
  for await (const frame of iterateFrames(response)) frames.push(frame);
  return frames;
}
