// Checks the packages of both lock files, of the project and of its benchmarks, against the rules of
// `find-dependency-faults.ts` and asks `npm audit` for known vulnerabilities. If the registry cannot be reached, the audit
// is skipped with a notice.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type DependencyFiles, findDependencyFaults } from "./find-dependency-faults.ts";

const root = join(import.meta.dirname, "..");
const AUDIT_TIMEOUT_MS = 30_000;

function readJson<T>(...path: readonly string[]): T {
  return JSON.parse(readFileSync(join(...path), "utf8")) as T;
}

interface Audit {
  readonly vulnerabilities?: { readonly [name: string]: { readonly severity: string; readonly range: string } };
}

/** Known vulnerabilities of the packages of a lock file; undefined if the audit gave no result. */
function runAudit(folder: string): readonly string[] | undefined {
  const { stdout } = spawnSync("npm", ["audit", "--json"], {
    cwd: folder,
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

for (const name of ["", "bench"]) {
  const folder = join(root, name);
  const files: DependencyFiles = {
    manifest: readJson(folder, "package.json"),
    lock: readJson(folder, "package-lock.json"),
  };
  const faults = findDependencyFaults(files).map((fault) => `${fault.name} ${fault.detail} (${fault.rule})`);
  const known = runAudit(folder);
  if (known === undefined)
    console.log("dependencies: npm audit gave no result; known vulnerabilities were not checked");
  else faults.push(...known.map((text) => `vulnerable: ${text}`));
  const title = name === "" ? "dependencies" : `dependencies of ${name}`;
  console.log(`${title}: ${Object.keys(files.lock.packages).length} packages, ${faults.length} faults`);
  for (const fault of faults) console.error(`  ${fault}`);
  if (faults.length > 0) process.exitCode = 1;
}
