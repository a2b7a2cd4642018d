// Runs the npm scripts named on the command line one after another, prints how long each took, and stops at the first
// that fails.
import { spawnSync } from "node:child_process";

function runCheck(name: string): boolean {
  const started = performance.now();
  const { status } = spawnSync("npm", ["run", "--silent", name], {
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  if (status === 0) console.log(`check: ${name} passed (${seconds} s)`);
  else console.error(`check: "${name}" failed (${seconds} s); run it alone with: npm run ${name}`);
  return status === 0;
}

const checks = process.argv.slice(2);
if (checks.length === 0) {
  console.error("usage: node scripts/check.ts SCRIPT...");
  process.exitCode = 2;
} else {
  process.exitCode = checks.every(runCheck) ? 0 : 1;
}
