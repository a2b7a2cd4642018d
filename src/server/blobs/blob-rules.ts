/** What every store of blobs holds to: names, types, limits and how bytes are counted. It keeps nothing. */
import { createHash } from "node:crypto";
import { LoomError } from "../../protocol/index.ts";
import type { BlobLimits, PutBlobOptions } from "./blob-store.ts";

const DEFAULT_SESSION_BLOBS = 1000;
const DEFAULT_UPLOADS = 16;
export const DEFAULT_MEMORY_BYTES = 256 * 1024 * 1024;

const MAX_NAME = 255;
const MAX_MEDIA_TYPE = 127;
const TOKEN = /^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+$/;
const BLOB_ID = /^[0-9a-f]{64}$/;

export function isBlobId(text: string): boolean {
  return BLOB_ID.test(text);
}

/** Without parameters, in small letters; what is none is a row of bytes. */
export function readMediaType(text: string): string {
  const essence = (text.split(";", 1)[0] ?? "").trim().toLowerCase();
  return essence.length <= MAX_MEDIA_TYPE && TOKEN.test(essence) ? essence : "application/octet-stream";
}

/** The last part of a path, as some browsers send it whole. Throws `invalid_name`. */
export function readBlobName(name: string | undefined): string | undefined {
  const last = name?.split(/[/\\]/).at(-1)?.trim();
  if (last === undefined || last === "") return undefined;
  // oxlint-disable-next-line no-control-regex -- these are what is looked for
  const isBad = !last.isWellFormed() || /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/.test(last);
  if (isBad || last.length > MAX_NAME)
    throw new LoomError("invalid_name", `a name of a file has at most ${MAX_NAME} characters that can be printed`);
  return last;
}

export function unknownBlob(sessionId: string, blobId: string): LoomError {
  const shown = blobId.slice(0, 64).toWellFormed();
  return new LoomError("unknown_blob", `the session has no blob ${shown}`, { session_id: sessionId, blob_id: shown });
}

/** Throws `blobs_full` where one more of so many bytes does not fit. */
export function assertRoom(
  used: { readonly count: number; readonly bytes: number },
  bytes: number,
  { maxSessionBlobBytes, maxSessionBlobs = DEFAULT_SESSION_BLOBS }: BlobLimits,
): void {
  if (used.count + 1 > maxSessionBlobs)
    throw new LoomError("blobs_full", `a session may have ${maxSessionBlobs} blobs`, { limit: maxSessionBlobs });
  if (used.bytes + bytes > maxSessionBlobBytes)
    throw new LoomError("blobs_full", `the blobs of a session may have ${maxSessionBlobBytes} bytes in all`, {
      limit: maxSessionBlobBytes,
    });
}

/** The length and the digest of what goes by; stops at the first chunk that is too much. */
export class BlobCounter {
  readonly #hash = createHash("sha256");
  readonly #maxBytes: number;
  bytes = 0;

  constructor({ maxBlobBytes }: Pick<BlobLimits, "maxBlobBytes">) {
    this.#maxBytes = maxBlobBytes;
  }

  /** Throws `blob_too_large`. */
  add(chunk: Uint8Array): void {
    this.bytes += chunk.length;
    if (this.bytes > this.#maxBytes)
      throw new LoomError("blob_too_large", `a blob may have ${this.#maxBytes} bytes`, { limit: this.#maxBytes });
    this.#hash.update(chunk);
  }

  finish(): string {
    return this.#hash.digest("hex");
  }
}

/** Blobs that are being written at once, all sessions together. */
export class Uploads {
  readonly #max: number;
  #count = 0;

  constructor({ maxUploads = DEFAULT_UPLOADS }: Pick<BlobLimits, "maxUploads">) {
    this.#max = maxUploads;
  }

  /** Throws `too_many_open`. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#count >= this.#max)
      throw new LoomError("too_many_open", `${this.#count} blobs are being written already`, { limit: this.#max });
    this.#count += 1;
    try {
      return await work();
    } finally {
      this.#count -= 1;
    }
  }
}

/** The last word of whoever sends it: its session may be gone by now. */
export async function confirmPut({ signal, confirm }: PutBlobOptions): Promise<void> {
  signal?.throwIfAborted();
  await confirm?.();
}

/** What is given, chunk by chunk, until the signal says that nobody wants it: also while a chunk is waited for. */
export async function* readUntilAborted(
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  { signal }: PutBlobOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  signal?.throwIfAborted();
  const chunks = Symbol.asyncIterator in bytes ? bytes[Symbol.asyncIterator]() : bytes[Symbol.iterator]();
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => undefined);
  const onAbort = (): void => aborted.reject(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  let isDone = false;
  try {
    for (;;) {
      const step = await Promise.race([chunks.next(), aborted.promise]);
      isDone = step.done === true;
      if (step.done === true) return;
      yield step.value;
    }
  } finally {
    signal?.removeEventListener("abort", onAbort);
    // A source that hangs must not be waited for.
    if (!isDone) void Promise.resolve(chunks.return?.()).catch(() => undefined);
  }
}
