/**
 * Walks the files of a blob store: a folder per session, named by the digest of its ID, and in it a folder per blob,
 * named by the digest of its bytes.
 */
import { createHash } from "node:crypto";
import { copyFile, mkdir, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { parseObject } from "../../protocol/json.ts";
import { readBlobInfo } from "../../server/blobs/blob-info.ts";
import { digestFile } from "./manifest.ts";

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

/** A session or blob can be deleted meanwhile. A folder that cannot be read is an error: it may have files. */
async function readFolder(path: string): Promise<readonly string[]> {
  const names = await readdir(path).catch(ignoreMissing);
  return (names ?? []).filter((name) => DIGEST.test(name)).toSorted();
}

/** Name of a session's folder. */
export function digestOfSession(sessionId: string): string {
  return createHash("sha256").update(sessionId).digest("hex");
}

/**
 * Returns what is wrong with a blob; undefined if it is intact, or was deleted meanwhile. Without the ID of its session,
 * the ID in its description counts.
 */
export async function findBlobFault(folder: BlobFolder, sessionId?: string): Promise<string | undefined> {
  const fault = await compareBlob(folder, sessionId).catch((error: unknown) => {
    const { code } = error as NodeJS.ErrnoException;
    return code === "ENOENT" ? "its bytes are missing" : (code ?? String(error));
  });
  const isDeleted = fault !== undefined && (await stat(folder.path).catch(ignoreMissing)) === undefined;
  return isDeleted ? undefined : fault;
}

async function compareBlob({ session, blob, path }: BlobFolder, sessionId?: string): Promise<string | undefined> {
  const text = await readFile(join(path, "meta.json"), "utf8").catch(ignoreMissing);
  if (text === undefined) return "meta.json is missing";
  const owner = sessionId ?? parseObject(text)?.["sessionId"];
  const info =
    typeof owner === "string" && digestOfSession(owner) === session ? readBlobInfo(text, owner, blob) : undefined;
  if (info === undefined) return "meta.json is damaged";
  const { bytes, sha256 } = await digestFile(join(path, BYTES));
  return bytes === info.bytes && sha256 === blob ? undefined : "its bytes are damaged";
}

function ignoreMissing(error: unknown): undefined {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== "ENOENT" && code !== "ENOTDIR") throw error;
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
