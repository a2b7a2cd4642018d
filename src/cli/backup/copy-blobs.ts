/**
 * Walks the files of a blob store: a folder per session, named by the digest of its ID, and in it a folder per blob,
 * named by the digest of its bytes.
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { copyFile, mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

const DIGEST = /^[0-9a-f]{64}$/;
const BYTES = "bytes";
const PRIVATE = { recursive: true, mode: 0o700 } as const;

export interface BlobFolder {
  /** Digests of the session's ID and of the blob's bytes. */
  readonly session: string;
  readonly blob: string;
  readonly path: string;
}

/** Lists the blobs below a folder, one at a time. */
export async function* listBlobs(folder: string): AsyncGenerator<BlobFolder> {
  for (const session of await readFolder(folder))
    for (const blob of await readFolder(join(folder, session)))
      yield { session, blob, path: join(folder, session, blob) };
}

/** A blob whose session is deleted meanwhile disappears. */
async function readFolder(path: string): Promise<readonly string[]> {
  const names = await readdir(path).catch(() => []);
  return names.filter((name) => DIGEST.test(name)).toSorted();
}

/** Name of a session's folder. */
export function digestOfSession(sessionId: string): string {
  return createHash("sha256").update(sessionId).digest("hex");
}

/** Returns what is wrong with a blob; undefined if it is intact. */
export async function findBlobFault({ blob, path }: BlobFolder): Promise<string | undefined> {
  try {
    const files = await readdir(path);
    if (!files.includes("meta.json")) return "meta.json is missing";
    const hash = createHash("sha256");
    for await (const chunk of createReadStream(join(path, BYTES)) as AsyncIterable<Buffer>) hash.update(chunk);
    return hash.digest("hex") === blob ? undefined : "its bytes are damaged";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}

/** Copies the files of one blob. Returns false if it was deleted meanwhile. */
export async function copyBlob({ session, blob, path }: BlobFolder, to: string): Promise<boolean> {
  const target = join(to, session, blob);
  await mkdir(target, PRIVATE);
  try {
    for (const name of await readdir(path)) await copyFile(join(path, name), join(target, name));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    await rm(target, { recursive: true, force: true });
    return false;
  }
}
