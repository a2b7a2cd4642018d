/**
 * Creates a SQLite file, and checks one that exists before SQLite opens it. A new file is created under a temporary name
 * and then moved into place, so that an incomplete file is never opened, and an empty file is known to have lost its
 * contents.
 */
import { randomUUID } from "node:crypto";
import { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { LoomError } from "../protocol/loom-error.ts";
import { removeCommitMark } from "./commit-mark.ts";
import { makeFolder } from "./make-folder.ts";
import { assertNoStrayWal, assertWalPresent, makeWalWritable } from "./write-ahead-log.ts";

export interface EnsureFileOptions {
  /** What the file is, for messages: `knowledge base`. */
  readonly name: string;
  /** Only the owner may read and write the file, and the folders that are created for it. Default: false. */
  readonly isPrivate?: boolean;
  /** Creates the database in the new, empty file at this path, and closes it. */
  readonly create: (draft: string) => void;
}

/**
 * Creates the file if it does not exist. Throws `store_corrupt` if it is empty, or if it or its write-ahead log is
 * missing but not both.
 */
export function ensureFile(path: string, { name, isPrivate = false, create }: EnsureFileOptions): void {
  const size = statSync(path, { throwIfNoEntry: false })?.size;
  if (size === undefined) {
    assertNoStrayWal(path, name);
    removeCommitMark(path);
    createFile(path, isPrivate, create);
  }
  if (size === 0)
    throw new LoomError(
      "store_corrupt",
      `The ${name} is an empty file: ${path}; restore it from a backup, or delete it to start a new one`,
      { path },
    );
  assertWalPresent(path, name);
  makeWalWritable(path);
}

function createFile(path: string, isPrivate: boolean, create: (draft: string) => void): void {
  const folder = dirname(path);
  const topmost = makeFolder(folder, isPrivate ? 0o700 : undefined);
  const draft = `${path}.new-${randomUUID()}`;
  try {
    closeSync(openSync(draft, "wx", isPrivate ? 0o600 : 0o644));
    create(draft);
    placeFile(draft, path);
    syncFolder(folder);
    if (topmost !== undefined) syncFolder(dirname(topmost));
  } finally {
    for (const suffix of ["", "-wal", "-shm"]) rmSync(draft + suffix, { force: true });
  }
}

/** Moves a complete file into place. If another process was faster, its file is kept. */
function placeFile(draft: string, path: string): void {
  try {
    linkSync(draft, path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return;
    // The file system does not support links.
    if (code !== "EPERM" && code !== "ENOTSUP" && code !== "ENOSYS") throw error;
    renameSync(draft, path);
  }
}

function syncFolder(folder: string): void {
  const handle = openSync(folder, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
