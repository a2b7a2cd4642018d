/**
 * Installs the packages that only benchmarks use (`bench/package.json`), if they are missing or older than the lock
 * file. They are not part of the checkout's own packages, so that `npm ci` there stays small.
 */
import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";

const folder = import.meta.dirname;
/** npm writes this file at the end of an installation. */
const installed = join(folder, "node_modules", ".package-lock.json");

export function installPeers(): void {
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(join(folder, "package-lock.json")).mtimeMs)
    return;
  const { status } = spawnSync("npm", ["ci", "--no-audit", "--no-fund"], {
    cwd: folder,
    stdio: ["ignore", "ignore", "inherit"],
    shell: process.platform === "win32",
  });
  if (status !== 0) throw new Error(`npm ci in ${folder} failed with code ${status}.`);
}
