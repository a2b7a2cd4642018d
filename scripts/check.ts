// Runs the guards named on the command line (npm scripts of this package) one after another, says how long each took,
// and stops at the first that fails with a line that names it. Knows no guard itself: the list is in package.json.
import { spawnSync } from "node:child_process";

function runGuard(name: string): boolean {
  const started = performance.now();
  const { status } = spawnSync("npm", ["run", "--silent", name], {
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  if (status === 0) console.log(`check: ${name} passed (${seconds} s)`);
  else console.error(`check: FAILED at the guard "${name}" (${seconds} s); repeat it with: npm run ${name}`);
  return status === 0;
}

const guards = process.argv.slice(2);
if (guards.length === 0) {
  console.error("usage: node scripts/check.ts GUARD...");
  process.exitCode = 2;
} else {
  process.exitCode = guards.every(runGuard) ? 0 : 1;
}
