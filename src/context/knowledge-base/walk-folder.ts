/**
 * Lists the documents of a folder and its subfolders, sorted by path. Skips hidden files, `node_modules` and
 * unsupported formats. Follows links only if their target is inside the folder.
 *
 * Invariant: a file is listed once, however many links lead to it, and by its own path if that is in the folder.
 */
import type { Dirent } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import type { ErrorCode } from "../../protocol/index.ts";
import { findFormat } from "./document-format.ts";

export interface WalkLimits {
  readonly maxFiles: number;
  readonly maxDepth: number;
}

export interface FoundFiles {
  readonly paths: readonly string[];
  /** Files that are not documents, and links that are broken or lead out of the folder. */
  readonly skipped: number;
  /** Folders that could not be read completely. */
  readonly missed: readonly { readonly path: string; readonly code: ErrorCode; readonly message: string }[];
}

interface FoundLink {
  readonly path: string;
  readonly depth: number;
}

const SKIPPED_FOLDERS: ReadonlySet<string> = new Set(["node_modules"]);

export async function walkFolder(
  root: string,
  { maxFiles, maxDepth }: WalkLimits,
  signal: AbortSignal | undefined,
): Promise<FoundFiles> {
  const paths: string[] = [];
  const missed: { path: string; code: ErrorCode; message: string }[] = [];
  /** Real paths of files and folders. */
  const seen = new Set<string>();
  /** Processed last, because their targets may be found directly. */
  const links: FoundLink[] = [];
  let skipped = 0;
  let isFull = false;

  const take = (path: string, real: string): void => {
    if (findFormat(path) === undefined) skipped += 1;
    else if (seen.has(real)) return;
    else if (paths.length < maxFiles) {
      seen.add(real);
      paths.push(path);
    } else {
      isFull = true;
      missed.push({ path: root, code: "too_many_documents", message: `The folder has more than ${maxFiles} files` });
    }
  };
  const enter = async (folder: string, depth: number): Promise<void> => {
    signal?.throwIfAborted();
    if (isFull) return;
    if (depth > maxDepth) {
      missed.push({
        path: folder,
        code: "too_many_documents",
        message: `The folder is nested deeper than ${maxDepth} levels`,
      });
      return;
    }
    let real: string;
    let entries: Dirent[];
    try {
      real = await realpath(folder);
      if (seen.has(real)) return;
      seen.add(real);
      entries = await readdir(folder, { withFileTypes: true });
    } catch (error) {
      const why = (error as NodeJS.ErrnoException).code ?? "unknown";
      missed.push({ path: folder, code: "unreadable_document", message: `The folder cannot be read (${why})` });
      return;
    }
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      if (isFull) return;
      if (entry.name.startsWith(".") || SKIPPED_FOLDERS.has(entry.name)) continue;
      const path = join(folder, entry.name);
      if (entry.isSymbolicLink()) links.push({ path, depth });
      else if (entry.isDirectory()) await enter(path, depth + 1);
      else if (entry.isFile()) take(path, join(real, entry.name));
      else skipped += 1;
    }
  };
  await enter(root, 0);
  const home = links.length === 0 ? "" : await realpath(root);
  // Linked folders can contain further links.
  for (const { path, depth } of links) {
    if (isFull) break;
    signal?.throwIfAborted();
    const target = await followLink(path, home);
    if (target?.isDirectory === true) await enter(path, depth + 1);
    else if (target === undefined) skipped += 1;
    else take(path, target.real);
  }
  return { paths: paths.toSorted((a, b) => (a < b ? -1 : 1)), skipped, missed };
}

/** Returns the target of a link; undefined if it is broken or outside `home`. */
async function followLink(
  path: string,
  home: string,
): Promise<{ readonly real: string; readonly isDirectory: boolean } | undefined> {
  try {
    const real = await realpath(path);
    if (!isWithin(real, home)) return undefined;
    const kind = await stat(real);
    return kind.isDirectory() || kind.isFile() ? { real, isDirectory: kind.isDirectory() } : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a path is the folder or inside it. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}
