/**
 * Blob store on disk. Each session has a folder named by the digest of its ID; each blob has a folder in it, named by
 * the digest of its bytes, with the files `bytes` and `meta.json`.
 *
 * Invariants: a blob is written to a temporary folder, synced, and then moved into the store in one step; a stored blob
 * is never changed. A read compares the bytes with their digest before it returns any of them, unless the unchanged file
 * was compared within the last minute. Unfinished uploads of killed processes are removed when the store is opened.
 */
import { createHash, randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describeHolder, isHolderGone } from "../../log/holder.ts";
import { isLoomError } from "../../protocol/index.ts";
import { BoundedMap } from "../../protocol/bounded-map.ts";
import { KeyedQueue } from "../../protocol/keyed-queue.ts";
import { asStoreError } from "../../sqlite/as-store-error.ts";
import { digestBlobInfo, readBlobInfo } from "./blob-info.ts";
import { assertRoom, confirmPut, damagedBlob, isBlobId, unknownBlob, Uploads } from "./blob-rules.ts";
import { FileDigests } from "./file-digests.ts";
import type {
  BlobBytes,
  BlobInfo,
  BlobLimits,
  BlobStore,
  ByteRange,
  OpenedBlob,
  PutBlobOptions,
} from "./blob-store.ts";

const PRIVATE = { recursive: true, mode: 0o700 } as const;
/** Folder for uploads in progress and for sessions that are being deleted. */
const UNFINISHED = "unfinished";
const BYTES = "bytes";
const META = "meta.json";
/** Age at which unfinished uploads of another machine are removed. */
const ABANDONED_MS = 24 * 60 * 60 * 1000;
/**
 * How long a check of a file that has not changed since is valid. Damage by the disk, which changes no time of the file,
 * is found by the first read after that.
 */
const CHECK_VALID_MS = 60_000;
const MAX_REMEMBERED_CHECKS = 10_000;
/** How long counted blobs are trusted while this process adds others: another one may add a blob in the same moment. */
const COUNT_VALID_MS = 60_000;
/** Sessions whose usage is cached. */
const MAX_CACHED_USAGES = 1000;

/**
 * Opens the blob store in a folder. Creates the folder if needed, and removes uploads that were not finished. Several
 * processes may share it. `SERVER_LIMITS` has default limits. Rejects with the error of the file system.
 */
export async function openBlobStore(folder: string, limits: BlobLimits): Promise<BlobStore> {
  await mkdir(join(folder, UNFINISHED), PRIVATE);
  await removeUnfinished(join(folder, UNFINISHED));
  return new FolderBlobStore(folder, limits);
}

interface SessionUsage {
  /** Time of the folder's last change. */
  readonly changedAt: bigint;
  readonly countedAt: number;
  readonly count: number;
  readonly bytes: number;
}

/** A file whose bytes matched its digest. */
interface FileCheck {
  /** Identity, size and times of the file. */
  readonly version: string;
  readonly at: number;
}

class FolderBlobStore implements BlobStore {
  readonly #folder: string;
  readonly #limits: BlobLimits;
  readonly #uploads: Uploads;
  /** The holder ID without slashes, for use in file names. */
  readonly #holder = describeHolder().replaceAll("/", "~");
  readonly #digests = new FileDigests();
  /** The latest successful check of each file. */
  readonly #checks = new BoundedMap<FileCheck>(MAX_REMEMBERED_CHECKS);
  readonly #usages = new BoundedMap<SessionUsage>(MAX_CACHED_USAGES);
  /** Operations that change the folder of a session. */
  readonly #queue = new KeyedQueue();

  constructor(folder: string, limits: BlobLimits) {
    this.#folder = folder;
    this.#limits = limits;
    this.#uploads = new Uploads(limits);
  }

  put(sessionId: string, bytes: BlobBytes, options: PutBlobOptions): Promise<BlobInfo> {
    return this.#uploads.run(sessionId, bytes, options, async (receive) => {
      const unfinished = this.#nameUnfinished();
      try {
        await translateErrors(unfinished, () => mkdir(unfinished, PRIVATE));
        const info = await writeFileDurably(join(unfinished, BYTES), (file) =>
          receive((chunk) => translateErrors(unfinished, () => writeAll(file, chunk))),
        );
        await writeFileDurably(join(unfinished, META), (file) =>
          translateErrors(unfinished, () =>
            writeAll(file, Buffer.from(JSON.stringify({ ...info, digest: digestBlobInfo(info) }))),
          ),
        );
        await syncFolder(unfinished);
        return await this.#queue.run(sessionId, async () => {
          await confirmPut(options);
          return translateErrors(this.#folder, () => this.#publish(unfinished, info, options));
        });
      } finally {
        await rm(unfinished, { recursive: true, force: true });
      }
    });
  }

  /** Keeps the existing blob if another process has just stored the same bytes. Replaces a damaged one. */
  async #publish(unfinished: string, info: BlobInfo, { reserve }: PutBlobOptions): Promise<BlobInfo> {
    const { sessionId, blobId } = info;
    const known = await this.#findOrRemove(sessionId, blobId);
    if (known !== undefined) return known;
    const folder = this.#folderOf(sessionId);
    await mkdir(folder, PRIVATE);
    const { count, bytes, countedAt } = await this.#measureUsage(sessionId);
    assertRoom({ count, bytes }, info.bytes, this.#limits);
    await reserve?.({ blobs: count + 1, bytes: bytes + info.bytes });
    try {
      await rename(unfinished, join(folder, blobId));
    } catch (error) {
      // Renaming onto a folder that is not empty fails: another process has stored the blob.
      const other = await this.get(sessionId, blobId);
      if (other === undefined) throw error;
      return other;
    }
    // Counting again after each upload would make many uploads quadratic.
    const { mtimeNs: changedAt } = await stat(folder, { bigint: true });
    this.#usages.set(sessionId, { changedAt, countedAt, count: count + 1, bytes: bytes + info.bytes });
    await syncFolder(folder);
    await syncFolder(this.#folder);
    return info;
  }

  /** Returns a blob whose bytes are intact. Removes a damaged one, so that the same bytes can be stored again. */
  async #findOrRemove(sessionId: string, blobId: string): Promise<BlobInfo | undefined> {
    try {
      const info = await this.get(sessionId, blobId);
      if (info === undefined) return undefined;
      this.#checks.delete(join(this.#folderOf(sessionId), blobId, BYTES));
      await (await this.#openIntact(info)).close();
      return info;
    } catch (error) {
      if (isLoomError(error, "unknown_blob")) return undefined;
      if (!isLoomError(error, "blob_damaged")) throw error;
    }
    const removed = this.#nameUnfinished();
    // Another process may have removed it.
    await rename(join(this.#folderOf(sessionId), blobId), removed).catch(ignoreMissing);
    await rm(removed, { recursive: true, force: true });
    return undefined;
  }

  async get(sessionId: string, blobId: string): Promise<BlobInfo | undefined> {
    if (!isBlobId(blobId)) return undefined;
    const path = join(this.#folderOf(sessionId), blobId, META);
    const text = await translateErrors(path, () => readFile(path, "utf8").catch(ignoreMissing));
    if (text === undefined) {
      // Deleting a session moves all of its folder, so a blob without this file is damaged.
      if ((await stat(join(path, "..")).catch(ignoreMissing)) === undefined) return undefined;
      throw damagedBlob(sessionId, blobId);
    }
    const info = readBlobInfo(text, sessionId, blobId);
    if (info === undefined) throw damagedBlob(sessionId, blobId);
    return info;
  }

  async read(sessionId: string, blobId: string, range?: ByteRange): Promise<OpenedBlob> {
    const info = await this.get(sessionId, blobId);
    if (info === undefined) throw unknownBlob(sessionId, blobId);
    // Open the file before returning: a blob deleted from now on can still be read to the end.
    const file = await this.#openIntact(info);
    const { start, end } = range ?? { start: 0, end: info.bytes };
    if (end > start) {
      const stream = createReadStream("", { fd: file, start, end: end - 1 });
      return { info, bytes: Readable.toWeb(stream) as ReadableStream<Uint8Array> };
    }
    await file.close();
    return { info, bytes: new Blob([]).stream() };
  }

  /** Opens the bytes of a blob and checks them, also for a range: only the digest of the whole blob is known. */
  async #openIntact({ sessionId, blobId, bytes }: BlobInfo): Promise<FileHandle> {
    const path = join(this.#folderOf(sessionId), blobId, BYTES);
    return translateErrors(path, async () => {
      const file = await open(path).catch(ignoreMissing);
      if (file === undefined)
        throw (await this.get(sessionId, blobId)) === undefined
          ? unknownBlob(sessionId, blobId)
          : damagedBlob(sessionId, blobId);
      try {
        const { dev, ino, size, mtimeNs, ctimeNs } = await file.stat({ bigint: true });
        const version = [dev, ino, size, mtimeNs, ctimeNs].join(":");
        const known = this.#checks.get(path);
        const isKnown = known?.version === version && performance.now() - known.at < CHECK_VALID_MS;
        if (!isKnown) {
          const at = performance.now();
          if (Number(size) !== bytes || (await this.#digests.compute(file)) !== blobId)
            throw damagedBlob(sessionId, blobId);
          this.#checks.set(path, { version, at });
        }
        return file;
      } catch (error) {
        await file.close();
        throw error;
      }
    });
  }

  async list(sessionId: string, onDamaged?: (blobId: string) => void): Promise<readonly BlobInfo[]> {
    const names = (await readdir(this.#folderOf(sessionId)).catch(ignoreMissing)) ?? [];
    const infos: BlobInfo[] = [];
    // One at a time, to limit the number of open files.
    for (const name of names) {
      const info = await this.get(sessionId, name).catch((error: unknown) => {
        if (!isLoomError(error, "blob_damaged")) throw error;
        onDamaged?.(name);
      });
      if (info !== undefined) infos.push(info);
    }
    return infos.toSorted((a, b) => a.createdAt - b.createdAt || (a.blobId < b.blobId ? -1 : 1));
  }

  async deleteSession(sessionId: string): Promise<void> {
    await this.#queue.run(sessionId, async () => {
      const removed = this.#nameUnfinished();
      this.#usages.delete(sessionId);
      // Renaming makes the deletion atomic, however long it takes to remove the files.
      try {
        await rename(this.#folderOf(sessionId), removed);
      } catch (error) {
        ignoreMissing(error);
      }
      await rm(removed, { recursive: true, force: true });
    });
  }

  async close(): Promise<void> {
    await this.#queue.idle();
    await this.#digests.close();
  }

  /** Counts again only if another process has changed the folder, or after a minute. */
  async #measureUsage(sessionId: string): Promise<SessionUsage> {
    const folder = this.#folderOf(sessionId);
    const { mtimeNs: changedAt } = await stat(folder, { bigint: true });
    const known = this.#usages.get(sessionId);
    if (known?.changedAt === changedAt && performance.now() - known.countedAt < COUNT_VALID_MS) return known;
    const blobs = (await readdir(folder)).filter(isBlobId);
    let bytes = 0;
    for (const blobId of blobs) bytes += (await stat(join(folder, blobId, BYTES)).catch(ignoreMissing))?.size ?? 0;
    const usage = { changedAt, countedAt: performance.now(), count: blobs.length, bytes };
    this.#usages.set(sessionId, usage);
    return usage;
  }

  #folderOf(sessionId: string): string {
    return join(this.#folder, createHash("sha256").update(sessionId).digest("hex"));
  }

  #nameUnfinished(): string {
    return join(this.#folder, UNFINISHED, `${this.#holder}@${randomUUID()}`);
  }
}

async function removeUnfinished(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const holder = name.split("@", 1)[0]?.replaceAll("~", "/") ?? "";
    const path = join(folder, name);
    const changedAt = (await stat(path).catch(ignoreMissing))?.mtimeMs ?? 0;
    if (isHolderGone(holder) || Date.now() - changedAt > ABANDONED_MS) await rm(path, { recursive: true, force: true });
  }
}

async function writeFileDurably<T>(path: string, write: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await translateErrors(path, () => open(path, "wx", 0o600));
  try {
    const written = await write(file);
    await translateErrors(path, () => file.sync());
    return written;
  } finally {
    await file.close();
  }
}

async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let from = 0; from < bytes.length;) from += (await file.write(bytes, from)).bytesWritten;
}

/** Translates errors of the file system, such as a full disk, but not those of the sender. */
async function translateErrors<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw asStoreError(error, path);
  }
}

/** Makes new directory entries durable. Ignores systems that cannot sync folders. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r").catch(() => undefined);
  try {
    await folder?.sync().catch(() => undefined);
  } finally {
    await folder?.close();
  }
}

function ignoreMissing(error: unknown): undefined {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== "ENOENT" && code !== "ENOTDIR") throw error;
}
