// Checks the packages of the lock file against the rules of `find-dependency-faults.ts` and asks `npm audit` for known
// vulnerabilities. If the registry cannot be reached, the audit is skipped with a notice.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type DependencyFiles, findDependencyFaults } from "./find-dependency-faults.ts";

const root = join(import.meta.dirname, "..");
const AUDIT_TIMEOUT_MS = 30_000;

function readJson<T>(name: string): T {
  return JSON.parse(readFileSync(join(root, name), "utf8")) as T;
}

interface Audit {
  readonly vulnerabilities?: { readonly [name: string]: { readonly severity: string; readonly range: string } };
}

/** Known vulnerabilities of the installed packages; undefined if the audit gave no result. */
function runAudit(): readonly string[] | undefined {
  const { stdout } = spawnSync("npm", ["audit", "--json"], {
    cwd: root,
    encoding: "utf8",
    timeout: AUDIT_TIMEOUT_MS,
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
const known = runAudit();
if (known === undefined) console.log("dependencies: npm audit gave no result; known vulnerabilities were not checked");
else faults.push(...known.map((text) => `vulnerable: ${text}`));
console.log(`dependencies: ${Object.keys(files.lock.packages).length} packages, ${faults.length} faults`);
for (const fault of faults) console.error(`  ${fault}`);
process.exitCode = faults.length === 0 ? 0 : 1;
