/**
 * The documents of a folder, in the order of their names. Hidden files, `node_modules` and what no format is known for
 * are passed over; links are followed, but no folder is entered twice.
 */
import type { Dirent } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import type { ErrorCode } from "../../protocol/index.ts";
import { findFormat } from "./read-document.ts";

export interface WalkLimits {
  readonly maxFiles: number;
  readonly maxDepth: number;
}

export interface FoundFiles {
  readonly paths: readonly string[];
  /** Files that are no documents. */
  readonly skipped: number;
  /** Folders that could not be looked through: what is in them is unknown. */
  readonly missed: readonly { readonly path: string; readonly code: ErrorCode; readonly message: string }[];
}

const PASSED_OVER: ReadonlySet<string> = new Set(["node_modules"]);

export async function walkFolder(
  root: string,
  { maxFiles, maxDepth }: WalkLimits,
  signal: AbortSignal | undefined,
): Promise<FoundFiles> {
  const paths: string[] = [];
  const missed: { path: string; code: ErrorCode; message: string }[] = [];
  const entered = new Set<string>();
  let skipped = 0;
  let isFull = false;

  const enter = async (folder: string, depth: number): Promise<void> => {
    signal?.throwIfAborted();
    if (isFull) return;
    if (depth > maxDepth) {
      missed.push({ path: folder, code: "too_many_documents", message: `Folders nest deeper than ${maxDepth}.` });
      return;
    }
    let entries: Dirent[];
    try {
      const real = await realpath(folder);
      if (entered.has(real)) return;
      entered.add(real);
      entries = await readdir(folder, { withFileTypes: true });
    } catch (error) {
      const why = (error as NodeJS.ErrnoException).code ?? "unknown";
      missed.push({ path: folder, code: "unreadable_document", message: `The folder cannot be read (${why}).` });
      return;
    }
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      if (isFull) return;
      if (entry.name.startsWith(".") || PASSED_OVER.has(entry.name)) continue;
      const path = join(folder, entry.name);
      const kind = entry.isSymbolicLink() ? await followLink(path) : entry;
      if (kind?.isDirectory() === true) await enter(path, depth + 1);
      else if (kind?.isFile() !== true || findFormat(path) === undefined) skipped += 1;
      else if (paths.length < maxFiles) paths.push(path);
      else {
        isFull = true;
        missed.push({ path: root, code: "too_many_documents", message: `There are more than ${maxFiles} files.` });
      }
    }
  };
  await enter(root, 0);
  return { paths, skipped, missed };
}

/** What a link leads to; undefined where it leads nowhere. */
async function followLink(path: string): Promise<{ isFile(): boolean; isDirectory(): boolean } | undefined> {
  try {
    return await stat(path);
  } catch {
    return undefined;
  }
}
