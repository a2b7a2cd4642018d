/**
 * The folder for temporary files of a test run, removed when the run ends. It is in memory if there is room, because
 * stores sync each transaction and the disk would be most of their time.
 */
import { chmodSync, mkdtempSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

const MEMORY = "/dev/shm";
const NEEDED_BYTES = 4 * 1024 ** 3;
const PREFIX = "loom-tests-";

/** Creates the folder for this process and those it starts. The configuration is read once per project; the first wins. */
export function useTemporaryFolder(): void {
  if (basename(tmpdir()).startsWith(PREFIX)) return;
  const folder = mkdtempSync(join(canUseMemory() ? MEMORY : tmpdir(), PREFIX));
  // Some tests start processes of another user.
  chmodSync(folder, 0o755);
  process.env["TMPDIR"] = folder;
  process.on("exit", () => removeFolder(folder));
}

function removeFolder(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch (error) {
    // After Ctrl-C, processes of tests may still write.
    process.stderr.write(`${String(error)}\n`);
  }
}

/** Containers often have little memory there, or forbid to execute files. */
function canUseMemory(): boolean {
  try {
    const mounts = readFileSync("/proc/mounts", "utf8").split("\n");
    const mount = mounts.findLast((line) => line.split(" ")[1] === MEMORY);
    const { bavail, bsize } = statfsSync(MEMORY);
    return mount !== undefined && !mount.includes("noexec") && bavail * bsize >= NEEDED_BYTES;
  } catch {
    // Not Linux.
    return false;
  }
}
