/**
 * Creates a folder and its parents. A replacement for recursive `mkdir`, which loops forever on file systems such as
 * `/proc` that report ENOENT for an existing parent.
 */
import { mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

/** Returns the topmost folder that was created; undefined if all existed. `mode` applies to the created folders. */
export function makeFolder(folder: string, mode?: number): string | undefined {
  const missing: string[] = [];
  for (let path = resolve(folder); !isFolder(path); path = dirname(path)) {
    missing.push(path);
    if (dirname(path) === path) break;
  }
  for (const path of missing.toReversed()) {
    try {
      mkdirSync(path, mode);
    } catch (error) {
      // Another process may have created it first.
      if (!isFolder(path)) throw error;
    }
  }
  return missing.at(-1);
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
