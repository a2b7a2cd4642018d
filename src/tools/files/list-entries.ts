/**
 * What is in a folder, and in the folders below it. Links are named and not followed, so the listing ends and stays
 * inside. Wide first, so that a limit leaves out what lies deep.
 */
import { opendir } from "node:fs/promises";
import type { Json } from "../../protocol/index.ts";
import { lookAt, type OpenFolder, type Workspace } from "./workspace.ts";

export type EntryKind = "file" | "folder" | "link" | "other";

export interface Entry {
  readonly [key: string]: Json;
  /** From the listed folder on. */
  readonly path: string;
  readonly kind: EntryKind;
  readonly bytes: number;
}

export interface ListLimits {
  readonly depth: number;
  readonly maxEntries: number;
  readonly signal?: AbortSignal | undefined;
}

export interface Listing {
  readonly entries: readonly Entry[];
  /** There is more, and it was left out. */
  readonly isCut: boolean;
}

export async function listEntries(workspace: Workspace, top: OpenFolder, limits: ListLimits): Promise<Listing> {
  const entries: Entry[] = [];
  let isCut = await listFolder(top, "", entries, limits);
  // Folders are opened name by name from the top, so that only one path is held open at a time.
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

/** Appends what is in one folder; true where there was too much. */
async function listFolder(folder: OpenFolder, prefix: string, entries: Entry[], limits: ListLimits): Promise<boolean> {
  const names: string[] = [];
  let isCut = false;
  for await (const { name } of await opendir(folder.at("."))) {
    isCut = entries.length + names.length >= limits.maxEntries;
    if (isCut) break;
    names.push(name);
  }
  for (const name of names.toSorted()) {
    limits.signal?.throwIfAborted();
    const stats = await lookAt(folder.at(name));
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
    // Gone, replaced by a link, or not ours to read: the listing goes on without it.
    return false;
  } finally {
    for (const each of held) await each.handle.close().catch(() => undefined);
  }
}
