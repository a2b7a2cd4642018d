/**
 * Makes a folder and those above it, level by level. Node's own way tries for ever where a file system says of a folder
 * that is there that nothing can be made in it because it is not, as `/proc` does.
 */
import { mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

/** The topmost folder that was made; undefined where all were there. `mode` is of those that are made. */
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
      // Somebody else may have been quicker.
      if (!isFolder(path)) throw error;
    }
  }
  return missing.at(-1);
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
