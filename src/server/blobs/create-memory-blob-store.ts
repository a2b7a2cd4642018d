/** Blob store in memory, for tests and for servers with a memory log. */
import { LoomError } from "../../protocol/index.ts";
import { assertRoom, confirmPut, DEFAULT_MEMORY_BYTES, unknownBlob, Uploads } from "./blob-rules.ts";
import type {
  BlobBytes,
  BlobInfo,
  BlobLimits,
  BlobStore,
  ByteRange,
  OpenedBlob,
  PutBlobOptions,
} from "./blob-store.ts";

interface StoredBlob {
  readonly info: BlobInfo;
  readonly bytes: Uint8Array;
}

interface SessionBlobs {
  readonly blobs: Map<string, StoredBlob>;
  /** Size of all blobs. */
  bytes: number;
}

/** Creates a blob store in memory; its content is lost when the process ends. `SERVER_LIMITS` has default limits. */
export function createMemoryBlobStore(limits: BlobLimits): BlobStore {
  return new MemoryBlobStore(limits);
}

class MemoryBlobStore implements BlobStore {
  readonly #limits: BlobLimits;
  readonly #uploads: Uploads;
  readonly #sessions = new Map<string, SessionBlobs>();
  #bytes = 0;

  constructor(limits: BlobLimits) {
    this.#limits = limits;
    this.#uploads = new Uploads(limits);
  }

  put(sessionId: string, bytes: BlobBytes, options: PutBlobOptions): Promise<BlobInfo> {
    return this.#uploads.run(sessionId, bytes, options, async (receive) => {
      const chunks: Uint8Array[] = [];
      // Copied because the source may reuse its buffer.
      const info = await receive((chunk) => void chunks.push(Uint8Array.from(chunk)));
      await confirmPut(options);
      const { blobs, bytes: used } = this.#get(sessionId);
      if (!blobs.has(info.blobId)) {
        assertRoom({ count: blobs.size, bytes: used }, info.bytes, this.#limits);
        await options.reserve?.({ blobs: blobs.size + 1, bytes: used + info.bytes });
      }
      return this.#add({ info, bytes: Buffer.concat(chunks) });
    });
  }

  #add(stored: StoredBlob): BlobInfo {
    const { sessionId, blobId, bytes } = stored.info;
    const session = this.#get(sessionId);
    const existing = session.blobs.get(blobId);
    if (existing !== undefined) return existing.info;
    assertRoom({ count: session.blobs.size, bytes: session.bytes }, bytes, this.#limits);
    const { maxMemoryBytes = DEFAULT_MEMORY_BYTES } = this.#limits;
    if (this.#bytes + bytes > maxMemoryBytes)
      throw new LoomError(
        "blobs_full",
        `The blobs in memory can have at most ${maxMemoryBytes} bytes in total; delete sessions or store blobs on disk`,
        {
          limit: maxMemoryBytes,
        },
      );
    this.#bytes += bytes;
    session.bytes += bytes;
    session.blobs.set(blobId, stored);
    this.#sessions.set(sessionId, session);
    return stored.info;
  }

  #get(sessionId: string): SessionBlobs {
    return this.#sessions.get(sessionId) ?? { blobs: new Map(), bytes: 0 };
  }

  async get(sessionId: string, blobId: string): Promise<BlobInfo | undefined> {
    return this.#get(sessionId).blobs.get(blobId)?.info;
  }

  async read(sessionId: string, blobId: string, range?: ByteRange): Promise<OpenedBlob> {
    const stored = this.#get(sessionId).blobs.get(blobId);
    if (stored === undefined) throw unknownBlob(sessionId, blobId);
    // Copied because the reader may change the bytes.
    const part = Uint8Array.from(range === undefined ? stored.bytes : stored.bytes.subarray(range.start, range.end));
    const bytes = new ReadableStream<Uint8Array>({
      start(controller) {
        if (part.length > 0) controller.enqueue(part);
        controller.close();
      },
    });
    return { info: stored.info, bytes };
  }

  async list(sessionId: string): Promise<readonly BlobInfo[]> {
    return [...this.#get(sessionId).blobs.values()].map(({ info }) => info);
  }

  async deleteSession(sessionId: string): Promise<void> {
    this.#bytes -= this.#get(sessionId).bytes;
    this.#sessions.delete(sessionId);
  }

  async close(): Promise<void> {
    this.#sessions.clear();
    this.#bytes = 0;
  }
}
