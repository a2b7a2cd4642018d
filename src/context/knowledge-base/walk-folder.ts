/**
 * The documents of a folder, in the order of their names. Hidden files, `node_modules` and what no format is known for
 * are passed over. Links are followed where they stay within the folder: what lies elsewhere was not given to us.
 *
 * Invariant: a file is told once, however many links lead to it, by its own path if that is in the folder.
 */
import type { Dirent } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import type { ErrorCode } from "../../protocol/index.ts";
import { findFormat } from "./read-document.ts";

export interface WalkLimits {
  readonly maxFiles: number;
  readonly maxDepth: number;
}

export interface FoundFiles {
  readonly paths: readonly string[];
  /** Files that are no documents, and links that lead out of the folder or nowhere. */
  readonly skipped: number;
  /** Folders that could not be looked through: what is in them is unknown. */
  readonly missed: readonly { readonly path: string; readonly code: ErrorCode; readonly message: string }[];
}

interface Link {
  readonly path: string;
  readonly depth: number;
}

const PASSED_OVER: ReadonlySet<string> = new Set(["node_modules"]);

export async function walkFolder(
  root: string,
  { maxFiles, maxDepth }: WalkLimits,
  signal: AbortSignal | undefined,
): Promise<FoundFiles> {
  const paths: string[] = [];
  const missed: { path: string; code: ErrorCode; message: string }[] = [];
  /** Real paths of files and folders. */
  const seen = new Set<string>();
  /** Looked at last: what they lead to may have a path of its own. */
  const links: Link[] = [];
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
      missed.push({ path: root, code: "too_many_documents", message: `There are more than ${maxFiles} files.` });
    }
  };
  const enter = async (folder: string, depth: number): Promise<void> => {
    signal?.throwIfAborted();
    if (isFull) return;
    if (depth > maxDepth) {
      missed.push({ path: folder, code: "too_many_documents", message: `Folders nest deeper than ${maxDepth}.` });
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
      missed.push({ path: folder, code: "unreadable_document", message: `The folder cannot be read (${why}).` });
      return;
    }
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      if (isFull) return;
      if (entry.name.startsWith(".") || PASSED_OVER.has(entry.name)) continue;
      const path = join(folder, entry.name);
      if (entry.isSymbolicLink()) links.push({ path, depth });
      else if (entry.isDirectory()) await enter(path, depth + 1);
      else if (entry.isFile()) take(path, join(real, entry.name));
      else skipped += 1;
    }
  };
  await enter(root, 0);
  const home = links.length === 0 ? "" : await realpath(root);
  // Folders that links lead to may have links themselves.
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

/** The file or folder that a link leads to; undefined where it leads out of `home` or nowhere. */
async function followLink(
  path: string,
  home: string,
): Promise<{ readonly real: string; readonly isDirectory: boolean } | undefined> {
  try {
    const real = await realpath(path);
    if (!real.startsWith(home.endsWith(sep) ? home : home + sep) && real !== home) return undefined;
    const kind = await stat(real);
    return kind.isDirectory() || kind.isFile() ? { real, isDirectory: kind.isDirectory() } : undefined;
  } catch {
    return undefined;
  }
}
