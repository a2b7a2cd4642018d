/**
 * What is too large for an event: images and files of a session, found by their digest. Events name them by their
 * address. It knows no door.
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
}

export interface BlobStore {
  /** The same bytes again are the same blob. Throws `blob_too_large`, `blobs_full`, `invalid_name`. */
  put(
    sessionId: string,
    bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    options: PutBlobOptions,
  ): Promise<BlobInfo>;
  get(sessionId: string, blobId: string): Promise<BlobInfo | undefined>;
  /** Throws `unknown_blob`. */
  read(
    sessionId: string,
    blobId: string,
  ): Promise<{ readonly info: BlobInfo; readonly bytes: ReadableStream<Uint8Array> }>;
  list(sessionId: string): Promise<readonly BlobInfo[]>;
  /** All of a session: it was deleted. */
  deleteSession(sessionId: string): Promise<void>;
  close(): Promise<void>;
}
