/** Puts a file that is whole into its place, unless another process was quicker: then its file is the one. */
import { linkSync, renameSync } from "node:fs";

export function placeFile(draft: string, path: string): void {
  try {
    linkSync(draft, path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return;
    // A file system without links.
    if (code !== "EPERM" && code !== "ENOTSUP" && code !== "ENOSYS") throw error;
    renameSync(draft, path);
  }
}
