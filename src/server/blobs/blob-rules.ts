/** Rules of blobs, whatever store has them: IDs, URLs, names, media types, limits and counting. */
import { createHash } from "node:crypto";
import { ConcurrencyLimit } from "../../protocol/concurrency-limit.ts";
import type { Log } from "../../log/index.ts";
import { LoomError } from "../../protocol/index.ts";
import type { BlobBytes, BlobInfo, BlobLimits, PutBlobOptions } from "./blob-store.ts";

const DEFAULT_SESSION_BLOBS = 1000;
const DEFAULT_UPLOADS = 16;
const DEFAULT_WAIT_MS = 60_000;
export const DEFAULT_MEMORY_BYTES = 256 * 1024 * 1024;

const MAX_NAME = 255;
const MAX_MEDIA_TYPE = 127;
const TOKEN = /^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+$/;
const BLOB_ID = /^[0-9a-f]{64}$/;

export function isBlobId(text: string): boolean {
  return BLOB_ID.test(text);
}

/** The URL of a blob, with the base path of the server. */
export function blobUrl(
  { basePath }: { readonly basePath: string },
  { sessionId, blobId }: Pick<BlobInfo, "sessionId" | "blobId">,
): string {
  return `${basePath}/v1/sessions/${encodeURIComponent(sessionId)}/blobs/${blobId}`;
}

/**
 * The `reserve` option of `put`: charges the blobs of a session to the quota of its owner, which the log decides. Undefined
 * without a quota for blobs: the log need not know them then.
 */
export function reserveIn(log: Pick<Log, "limits" | "setBlobUsage">, sessionId: string): PutBlobOptions["reserve"] {
  const { maxOwnerBlobs, maxOwnerBlobBytes } = log.limits;
  if (maxOwnerBlobs === Infinity && maxOwnerBlobBytes === Infinity) return undefined;
  return (usage) => log.setBlobUsage(sessionId, usage);
}

/** Returns the media type in lower case without parameters; `application/octet-stream` if it is not valid. */
function readMediaType(text: string): string {
  const essence = (text.split(";", 1)[0] ?? "").trim().toLowerCase();
  return essence.length <= MAX_MEDIA_TYPE && TOKEN.test(essence) ? essence : "application/octet-stream";
}

/** Returns the last part of a path, because some browsers send the whole path. Throws `invalid_name`. */
function readBlobName(name: string | undefined): string | undefined {
  const last = name?.split(/[/\\]/).at(-1)?.trim();
  if (last === undefined || last === "") return undefined;
  // oxlint-disable-next-line no-control-regex -- matches control characters on purpose
  const isBad = !last.isWellFormed() || /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/.test(last);
  if (isBad || last.length > MAX_NAME)
    throw new LoomError(
      "invalid_name",
      `A file name must have at most ${MAX_NAME} characters and no control characters`,
    );
  return last;
}

export function unknownBlob(sessionId: string, blobId: string): LoomError {
  const shown = blobId.slice(0, 64).toWellFormed();
  return new LoomError("unknown_blob", `The session has no blob ${shown}`, { session_id: sessionId, blob_id: shown });
}

/** A blob whose bytes or description no longer match its ID. Uploading the same bytes again replaces it. */
export function damagedBlob(sessionId: string, blobId: string): LoomError {
  const details = { session_id: sessionId, blob_id: blobId };
  return new LoomError("blob_damaged", `Blob ${blobId} is damaged; upload the file again to replace it`, details);
}

/** Throws `blobs_full` if one more blob of this size does not fit. */
export function assertRoom(
  used: { readonly count: number; readonly bytes: number },
  bytes: number,
  { maxSessionBlobBytes, maxSessionBlobs = DEFAULT_SESSION_BLOBS }: BlobLimits,
): void {
  if (used.count + 1 > maxSessionBlobs)
    throw new LoomError(
      "blobs_full",
      `A session can have at most ${maxSessionBlobs} blobs; delete the session or use another one`,
      { limit: maxSessionBlobs },
    );
  if (used.bytes + bytes > maxSessionBlobBytes)
    throw new LoomError(
      "blobs_full",
      `The blobs of a session can have at most ${maxSessionBlobBytes} bytes in total; use another session`,
      {
        limit: maxSessionBlobBytes,
      },
    );
}

/** Passes each chunk of an upload to `take`. Resolves to the description of the blob when all bytes have arrived. */
type ReceiveBlob = (take: (chunk: Uint8Array) => Promise<void> | void) => Promise<BlobInfo>;

/**
 * Receives the uploads of all sessions and limits how many run at once; more wait. Clients may be slow, so files of tools and
 * forks have separate slots.
 */
export class Uploads {
  readonly #maxBytes: number;
  readonly #ofClients: ConcurrencyLimit;
  readonly #ofServer: ConcurrencyLimit;

  constructor({ maxBlobBytes, maxUploads: limit = DEFAULT_UPLOADS, uploadWaitMs = DEFAULT_WAIT_MS }: BlobLimits) {
    const tooLong = (ms: number): LoomError =>
      new LoomError("too_many_open", `${limit} uploads have been in progress for ${ms} ms; try again later`, { limit });
    const time = { maxMs: uploadWaitMs, tooLong };
    this.#maxBytes = maxBlobBytes;
    this.#ofClients = new ConcurrencyLimit(limit, { time });
    this.#ofServer = new ConcurrencyLimit(limit, { time });
  }

  /**
   * Calls `store` when a slot is free, with the function that receives the bytes. Throws `invalid_name`, `too_many_open` if
   * no slot is free in time, `blob_too_large` at the first chunk above the limit, and the reason of the signal.
   */
  async run(
    sessionId: string,
    bytes: BlobBytes,
    options: PutBlobOptions,
    store: (receive: ReceiveBlob) => Promise<BlobInfo>,
  ): Promise<BlobInfo> {
    const { signal, isFromClient = false } = options;
    const about = { sessionId, mediaType: readMediaType(options.mediaType), name: readBlobName(options.name) };
    const receive: ReceiveBlob = async (take) => {
      const hash = createHash("sha256");
      const limit = this.#maxBytes;
      let length = 0;
      for await (const chunk of readUntilAborted(bytes, signal)) {
        length += chunk.length;
        if (length > limit) throw new LoomError("blob_too_large", `A blob can have at most ${limit} bytes`, { limit });
        hash.update(chunk);
        await take(chunk);
      }
      return { blobId: hash.digest("hex"), ...about, bytes: length, createdAt: Date.now() };
    };
    return (isFromClient ? this.#ofClients : this.#ofServer).run(() => store(receive), signal);
  }
}

/** Last check before a blob is stored: the upload may be aborted or the session deleted by now. */
export async function confirmPut({ signal, confirm }: PutBlobOptions): Promise<void> {
  signal?.throwIfAborted();
  await confirm?.();
}

/** Yields the chunks of `bytes` until the signal aborts, also while waiting for a chunk. */
async function* readUntilAborted(
  bytes: BlobBytes,
  signal: AbortSignal | undefined,
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
    // Not awaited: the source may hang.
    if (!isDone) void Promise.resolve(chunks.return?.()).catch(() => undefined);
  }
}
