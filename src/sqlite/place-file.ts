/** Moves a complete file into place. If another process was faster, its file is kept. */
import { linkSync, renameSync } from "node:fs";

export function placeFile(draft: string, path: string): void {
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
