import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Returns a new folder for temporary files that is deleted when the process exits. */
export function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "loom-bench-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
