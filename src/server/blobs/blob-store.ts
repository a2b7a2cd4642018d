/**
 * Storage for images and files of a session that are too large for an event. Blobs are found by their digest; events
 * refer to them by URL.
 *
 * Invariants:
 * - A blob is stored completely or not at all, even if the process is killed.
 * - A damaged blob is not returned: reading it throws `blob_damaged`, and storing its bytes again replaces it. A store
 *   may trust an unchanged file for a minute after a check.
 * - The same bytes are one blob per session, with the name and media type of the first upload.
 */
import type { BlobUsage } from "../../log/log.ts";

/** A stored blob. */
export interface BlobInfo {
  /** SHA-256 of the bytes, in hexadecimal. */
  readonly blobId: string;
  readonly sessionId: string;
  readonly mediaType: string;
  /** File name given by the uploader. */
  readonly name: string | undefined;
  /** Size in bytes. */
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

/** The bytes of an upload. */
export type BlobBytes = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** A blob that is being read. */
export interface OpenedBlob {
  readonly info: BlobInfo;
  /** The content, or the requested range of it. The size of the blob is `info.bytes`. */
  readonly bytes: ReadableStream<Uint8Array>;
}

/** Options of `BlobStore.put`. */
export interface PutBlobOptions {
  /** Parameters are dropped; `application/octet-stream` if it is not valid. */
  readonly mediaType: string;
  /** Shown file name; of a path, only the last part is kept. Default: none. */
  readonly name?: string | undefined;
  /** Aborts the upload. */
  readonly signal?: AbortSignal | undefined;
  /** The bytes arrive from a client, which may be slow; see `maxUploads`. Default: false. */
  readonly isFromClient?: boolean | undefined;
  /** Called when all bytes have arrived, serialized with `deleteSession`; a rejection rejects the upload. */
  readonly confirm?: (() => Promise<void>) | undefined;
  /**
   * Called before a new blob is stored, with what the session will then have, for the quota of its owner; a rejection
   * rejects the upload. Not called for bytes that the session already has.
   */
  readonly reserve?: ((usage: BlobUsage) => Promise<void>) | undefined;
}

/** Bytes from `start` up to, but not including, `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** Limits of a blob store. */
export interface BlobLimits {
  /** Maximum bytes of one blob. Code `blob_too_large`. */
  readonly maxBlobBytes: number;
  /** Maximum bytes of all blobs of one session. Code `blobs_full`. */
  readonly maxSessionBlobBytes: number;
  /** Maximum blobs of one session. Default: 1,000. Code `blobs_full`. */
  readonly maxSessionBlobs?: number;
  /** Maximum concurrent uploads of clients, and as many of tools and forks; more wait. Default: 16. */
  readonly maxUploads?: number;
  /** How long an upload waits for others, in milliseconds. Default: 60,000. Code `too_many_open`. */
  readonly uploadWaitMs?: number;
  /** Maximum bytes of all sessions in a memory store. Default: 256 MiB. Code `blobs_full`. */
  readonly maxMemoryBytes?: number;
}

/** Stores the blobs of all sessions. */
export interface BlobStore {
  /**
   * Stores a blob. Throws `blob_too_large`, `blobs_full`, `too_many_open`, `invalid_name`, `store_full` if the disk is
   * full and other `store_` codes, the reason of the signal, and any error of `bytes` and `confirm`.
   */
  put(sessionId: string, bytes: BlobBytes, options: PutBlobOptions): Promise<BlobInfo>;
  /** Returns undefined if there is no such blob. Throws `blob_damaged` if its description cannot be read. */
  get(sessionId: string, blobId: string): Promise<BlobInfo | undefined>;
  /**
   * Checks all bytes of the blob, unless they were checked within the last minute, then streams it, or a range that must
   * be within it. Throws `unknown_blob` and `blob_damaged`.
   */
  read(sessionId: string, blobId: string, range?: ByteRange): Promise<OpenedBlob>;
  /** Oldest first. Blobs with a damaged description are left out and passed to `onDamaged`. */
  list(sessionId: string, onDamaged?: (blobId: string) => void): Promise<readonly BlobInfo[]>;
  /** Deletes all blobs of a session. */
  deleteSession(sessionId: string): Promise<void>;
  close(): Promise<void>;
}
