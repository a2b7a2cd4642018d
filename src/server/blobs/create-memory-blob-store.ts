/** Blobs that live as long as the process: for tests, and for servers whose log does. */
import { LoomError } from "../../protocol/index.ts";
import {
  assertRoom,
  BlobCounter,
  confirmPut,
  DEFAULT_MEMORY_BYTES,
  readBlobName,
  readMediaType,
  readUntilAborted,
  unknownBlob,
  Uploads,
} from "./blob-rules.ts";
import type { BlobInfo, BlobLimits, BlobStore, ByteRange, PutBlobOptions } from "./blob-store.ts";

interface Kept {
  readonly info: BlobInfo;
  readonly bytes: Uint8Array;
}

export function createMemoryBlobStore(limits: BlobLimits): BlobStore {
  return new MemoryBlobStore(limits);
}

class MemoryBlobStore implements BlobStore {
  readonly #limits: BlobLimits;
  readonly #uploads: Uploads;
  readonly #sessions = new Map<string, Map<string, Kept>>();
  #bytes = 0;

  constructor(limits: BlobLimits) {
    this.#limits = limits;
    this.#uploads = new Uploads(limits);
  }

  async put(
    sessionId: string,
    bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    options: PutBlobOptions,
  ): Promise<BlobInfo> {
    const name = readBlobName(options.name);
    const mediaType = readMediaType(options.mediaType);
    return this.#uploads.run(async () => {
      const counter = new BlobCounter(this.#limits);
      const chunks: Uint8Array[] = [];
      for await (const chunk of readUntilAborted(bytes, options)) {
        counter.add(chunk);
        // Whoever sends it may use its memory again.
        chunks.push(Uint8Array.from(chunk));
      }
      const blobId = counter.finish();
      const info = { blobId, sessionId, mediaType, name, bytes: counter.bytes, createdAt: Date.now() };
      await confirmPut(options);
      return this.#keep({ info, bytes: Buffer.concat(chunks) });
    });
  }

  #keep(kept: Kept): BlobInfo {
    const { sessionId, blobId, bytes } = kept.info;
    const blobs = this.#sessions.get(sessionId) ?? new Map<string, Kept>();
    const known = blobs.get(blobId);
    if (known !== undefined) return known.info;
    assertRoom({ count: blobs.size, bytes: sumBytes(blobs) }, bytes, this.#limits);
    const { maxMemoryBytes = DEFAULT_MEMORY_BYTES } = this.#limits;
    if (this.#bytes + bytes > maxMemoryBytes)
      throw new LoomError("blobs_full", `blobs in memory may have ${maxMemoryBytes} bytes in all`, {
        limit: maxMemoryBytes,
      });
    this.#bytes += bytes;
    this.#sessions.set(sessionId, blobs.set(blobId, kept));
    return kept.info;
  }

  async get(sessionId: string, blobId: string): Promise<BlobInfo | undefined> {
    return this.#sessions.get(sessionId)?.get(blobId)?.info;
  }

  async read(
    sessionId: string,
    blobId: string,
    range?: ByteRange,
  ): Promise<{ readonly info: BlobInfo; readonly bytes: ReadableStream<Uint8Array> }> {
    const kept = this.#sessions.get(sessionId)?.get(blobId);
    if (kept === undefined) throw unknownBlob(sessionId, blobId);
    // A copy: whoever reads may do with it what he likes.
    const part = Uint8Array.from(range === undefined ? kept.bytes : kept.bytes.subarray(range.start, range.end));
    const bytes = new ReadableStream<Uint8Array>({
      start(controller) {
        if (part.length > 0) controller.enqueue(part);
        controller.close();
      },
    });
    return { info: kept.info, bytes };
  }

  async list(sessionId: string): Promise<readonly BlobInfo[]> {
    return [...(this.#sessions.get(sessionId)?.values() ?? [])].map(({ info }) => info);
  }

  async deleteSession(sessionId: string): Promise<void> {
    this.#bytes -= sumBytes(this.#sessions.get(sessionId) ?? new Map());
    this.#sessions.delete(sessionId);
  }

  async close(): Promise<void> {
    this.#sessions.clear();
    this.#bytes = 0;
  }
}

function sumBytes(blobs: ReadonlyMap<string, Kept>): number {
  let sum = 0;
  for (const { info } of blobs.values()) sum += info.bytes;
  return sum;
}
