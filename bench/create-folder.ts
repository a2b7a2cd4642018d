import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Returns a new folder in the temporary folder of the contestant, which is deleted when its process has ended. */
export function createFolder(): string {
  return mkdtempSync(join(tmpdir(), "files-"));
}
