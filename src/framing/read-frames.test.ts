import { describe, expect, test } from "vitest";
import type { FrameOutcome } from "./frame.ts";
import { createNdjsonDecoder } from "./ndjson.ts";
import { readFrames } from "./read-frames.ts";

const encoder = new TextEncoder();

interface Source {
  readonly bytes: AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>;
  /** True once the source was cancelled. */
  isCancelled(): boolean;
}

/** After the chunks the source ends, or fails if there is an error. */
function createIterable(chunks: string[], error?: Error): Source {
  let cancelled = false;
  async function* generate(): AsyncGenerator<Uint8Array> {
    let done = false;
    try {
      for (const chunk of chunks) yield encoder.encode(chunk);
      done = true;
      if (error !== undefined) throw error;
    } finally {
      cancelled = !done;
    }
  }
  return { bytes: generate(), isCancelled: () => cancelled };
}

function createStream(chunks: string[], error?: Error): Source {
  let cancelled = false;
  let next = 0;
  const bytes = new ReadableStream<Uint8Array>({
    pull(controller) {
      const chunk = chunks[next++];
      if (chunk !== undefined) controller.enqueue(encoder.encode(chunk));
      else if (error === undefined) controller.close();
      else controller.error(error);
    },
    cancel() {
      cancelled = true;
    },
  });
  return { bytes, isCancelled: () => cancelled };
}

/** Like a browser whose streams have no async iterator. */
function createBareStream(chunks: string[], error?: Error): Source {
  const source = createStream(chunks, error);
  Object.defineProperty(source.bytes, Symbol.asyncIterator, { value: undefined });
  return source;
}

const texts = (batch: FrameOutcome[]): string[] => batch.map((outcome) => (outcome.ok ? outcome.text : outcome.reason));

describe.each([
  ["an async iterable", createIterable],
  ["a ReadableStream", createStream],
  ["a ReadableStream without an async iterator", createBareStream],
])("%s", (_name, createSource) => {
  test("yields the completed frames of each chunk, and the rest at the end", async () => {
    const { bytes, isCancelled } = createSource(["1\n2\n3", "4", "5\n6", ""]);
    const batches: string[][] = [];
    for await (const batch of readFrames(bytes, createNdjsonDecoder())) batches.push(texts(batch));
    expect(batches).toEqual([["1", "2"], ["345"], ["6"]]);
    expect(isCancelled()).toBe(false);
    if ("locked" in bytes) expect(bytes.locked).toBe(false);
  });

  test("is cancelled and released when the consumer stops", async () => {
    const { bytes, isCancelled } = createSource(["1\n", "2\n", "3\n"]);
    for await (const batch of readFrames(bytes, createNdjsonDecoder())) {
      expect(texts(batch)).toEqual(["1"]);
      break;
    }
    expect(isCancelled()).toBe(true);
    if ("locked" in bytes) expect(bytes.locked).toBe(false);
  });

  test("is cancelled when the consumer throws, and the error is passed on", async () => {
    const { bytes, isCancelled } = createSource(["1\n", "2\n"]);
    const consume = async (): Promise<void> => {
      for await (const batch of readFrames(bytes, createNdjsonDecoder())) throw new Error(texts(batch).join());
    };
    await expect(consume()).rejects.toThrow("1");
    expect(isCancelled()).toBe(true);
  });

  test("throws after the frames before the failure, without an unfinished frame", async () => {
    const { bytes, isCancelled } = createSource(["1\n2"], new Error("socket cut"));
    const seen: string[] = [];
    const consume = async (): Promise<void> => {
      for await (const batch of readFrames(bytes, createNdjsonDecoder())) seen.push(...texts(batch));
    };
    await expect(consume()).rejects.toThrow("socket cut");
    expect(seen).toEqual(["1"]);
    expect(isCancelled()).toBe(false);
    if ("locked" in bytes) expect(bytes.locked).toBe(false);
  });
});
