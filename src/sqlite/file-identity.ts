/** Detects that a file was deleted or replaced while it is open. Its readers would not see writes to the new file. */
import { statSync } from "node:fs";
import { LoomError } from "../protocol/loom-error.ts";

/** Identifies a file on disk; undefined if it does not exist. */
export function identifyFile(path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? undefined : `${stats.dev}:${stats.ino}`;
}

/** Throws `store_failed` unless the path still names the file that `identifyFile` returned. */
export function assertFile(path: string, file: string): void {
  const found = identifyFile(path);
  if (found === file) return;
  const what = found === undefined ? "The store file was deleted" : "The store file was replaced by another file";
  throw new LoomError("store_failed", `${what}: ${path}`, { path });
}
