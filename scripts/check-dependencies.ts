// Holds the packages of the lock file to the rules of `find-dependency-faults.ts`, and asks the registry what is known
// against them. Where the registry cannot be asked, it says so: that is no fault of the packages.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type DependencyFiles, findDependencyFaults } from "./find-dependency-faults.ts";

const root = join(import.meta.dirname, "..");
const ASK_MS = 30_000;

function readJson<T>(name: string): T {
  return JSON.parse(readFileSync(join(root, name), "utf8")) as T;
}

interface Audit {
  readonly vulnerabilities?: { readonly [name: string]: { readonly severity: string; readonly range: string } };
}

/** What is known against what is installed; undefined where nobody answers. */
function askAudit(): readonly string[] | undefined {
  const { stdout } = spawnSync("npm", ["audit", "--json"], {
    cwd: root,
    encoding: "utf8",
    timeout: ASK_MS,
    shell: process.platform === "win32",
  });
  try {
    const { vulnerabilities } = JSON.parse(stdout) as Audit;
    if (vulnerabilities === undefined) return undefined;
    return Object.entries(vulnerabilities).map(([name, { severity, range }]) => `${name} ${range} (${severity})`);
  } catch {
    return undefined;
  }
}

const files: DependencyFiles = {
  manifest: readJson("package.json"),
  lock: readJson("package-lock.json"),
};
const faults = findDependencyFaults(files).map(({ rule, name, detail }) => `${name} ${detail} (${rule})`);
const known = askAudit();
if (known === undefined) console.log("dependencies: the registry could not be asked what is known against them");
else faults.push(...known.map((text) => `known against ${text}`));
console.log(`dependencies: ${Object.keys(files.lock.packages).length} packages, ${faults.length} faults`);
for (const fault of faults) console.error(`  ${fault}`);
process.exitCode = faults.length === 0 ? 0 : 1;
