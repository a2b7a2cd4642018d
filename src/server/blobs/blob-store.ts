/**
 * What is too large for an event: images and files of a session, found by their digest. Events name them by their
 * address. It knows no door.
 *
 * Invariants:
 * - A blob is there whole or not at all, whatever is killed when.
 * - The same bytes are the same blob: the name and type they came with first are those it keeps.
 */
export interface BlobInfo {
  /** SHA-256 of the bytes, in hexadecimal. */
  readonly blobId: string;
  readonly sessionId: string;
  readonly mediaType: string;
  /** As whoever sent it called it. */
  readonly name: string | undefined;
  readonly bytes: number;
  readonly createdAt: number;
}

export interface PutBlobOptions {
  readonly mediaType: string;
  readonly name?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Asked when all has come, in turn with `deleteSession`; what it rejects with refuses the blob. */
  readonly confirm?: (() => Promise<void>) | undefined;
}

/** Bytes from `start` up to `end`, which is not among them. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export interface BlobLimits {
  /** Bytes of one blob. Code `blob_too_large`. */
  readonly maxBlobBytes: number;
  /** Bytes of all blobs of a session. Code `blobs_full`. */
  readonly maxSessionBlobBytes: number;
  /** Blobs of a session; 1,000 when absent. Code `blobs_full`. */
  readonly maxSessionBlobs?: number;
  /** Blobs that are being written at once; 16 when absent. Code `too_many_open`. */
  readonly maxUploads?: number;
  /** Bytes of all sessions, where they are kept in memory; 256 MiB when absent. Code `blobs_full`. */
  readonly maxMemoryBytes?: number;
}

export interface BlobStore {
  /** Throws `blob_too_large`, `blobs_full`, `too_many_open`, `invalid_name`; the reason of the signal; what `bytes` throws. */
  put(
    sessionId: string,
    bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    options: PutBlobOptions,
  ): Promise<BlobInfo>;
  get(sessionId: string, blobId: string): Promise<BlobInfo | undefined>;
  /** All of it, or the range, which must lie within. Throws `unknown_blob`. */
  read(
    sessionId: string,
    blobId: string,
    range?: ByteRange,
  ): Promise<{ readonly info: BlobInfo; readonly bytes: ReadableStream<Uint8Array> }>;
  /** The oldest first. */
  list(sessionId: string): Promise<readonly BlobInfo[]>;
  /** All of a session: it was deleted. */
  deleteSession(sessionId: string): Promise<void>;
  close(): Promise<void>;
}
