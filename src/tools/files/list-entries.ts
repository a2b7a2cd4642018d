/**
 * Lists a folder and its subfolders. Links are listed but not followed, so the listing ends and stays inside the
 * folder. It goes breadth first, so that a limit leaves out the deepest entries.
 */
import { opendir } from "node:fs/promises";
import type { Json } from "../../protocol/index.ts";
import { lstatIfExists, type OpenFolder, type Workspace } from "./workspace.ts";

export type EntryKind = "file" | "folder" | "link" | "other";

export interface FileEntry {
  readonly [key: string]: Json;
  /** Relative to the listed folder. */
  readonly path: string;
  readonly kind: EntryKind;
  readonly bytes: number;
}

export interface ListLimits {
  readonly depth: number;
  readonly maxEntries: number;
  /** Leaves out entries with this name, and what they contain. */
  readonly isSkipped?: (name: string) => boolean;
  readonly signal?: AbortSignal | undefined;
}

export interface Listing {
  readonly entries: readonly FileEntry[];
  /** True if the listing stopped at the limit. */
  readonly isCut: boolean;
}

export async function listEntries(workspace: Workspace, top: OpenFolder, limits: ListLimits): Promise<Listing> {
  const entries: FileEntry[] = [];
  let isCut = await listFolder(top, "", entries, limits);
  // Folders are opened one path at a time, to limit the number of open handles.
  for (let next = 0; next < entries.length && !isCut; next += 1) {
    const entry = entries[next];
    if (entry?.kind !== "folder" || entry.path.split("/").length >= limits.depth) continue;
    limits.signal?.throwIfAborted();
    isCut = await enterFolder(workspace, top, entry.path, (folder) =>
      listFolder(folder, `${entry.path}/`, entries, limits),
    );
  }
  return { entries: entries.toSorted((a, b) => (a.path < b.path ? -1 : 1)), isCut };
}

/** Appends the entries of one folder. Returns true if the limit was reached. */
async function listFolder(
  folder: OpenFolder,
  prefix: string,
  entries: FileEntry[],
  limits: ListLimits,
): Promise<boolean> {
  const names: string[] = [];
  let isCut = false;
  for await (const { name } of await opendir(folder.at("."))) {
    if (limits.isSkipped?.(name) === true) continue;
    isCut = entries.length + names.length >= limits.maxEntries;
    if (isCut) break;
    names.push(name);
  }
  for (const name of names.toSorted()) {
    limits.signal?.throwIfAborted();
    const stats = await lstatIfExists(folder.at(name));
    if (stats === undefined) continue;
    let kind: EntryKind = "other";
    if (stats.isFile()) kind = "file";
    else if (stats.isDirectory()) kind = "folder";
    else if (stats.isSymbolicLink()) kind = "link";
    entries.push({ path: prefix + name, kind, bytes: kind === "file" ? stats.size : 0 });
  }
  return isCut;
}

async function enterFolder(
  workspace: Workspace,
  top: OpenFolder,
  path: string,
  use: (folder: OpenFolder) => Promise<boolean>,
): Promise<boolean> {
  const held: OpenFolder[] = [];
  try {
    let folder = top;
    for (const name of path.split("/")) {
      folder = await workspace.openFolder(folder.at(name), path);
      held.push(folder);
    }
    return await use(folder);
  } catch {
    // Deleted, replaced by a link, or not readable: the listing continues without it.
    return false;
  } finally {
    for (const each of held) await each.handle.close().catch(() => undefined);
  }
}
