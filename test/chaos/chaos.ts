/**
 * `npm run test:chaos [minutes] [seed] [sessions]`: the long form of the chaos tests. Exits with 1 after a violation. A
 * machine that is busy with other work causes violations: clients then wait too long.
 */
import { runChaos } from "./run-chaos.ts";

const [minutes = "30", seed = String(Date.now() % 1_000_000), sessions = "24"] = process.argv.slice(2);
const print = (line: string): void => void process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);
print(`chaos for ${minutes} minutes, seed ${seed}, ${sessions} sessions`);
const report = await runChaos({
  seconds: Number(minutes) * 60,
  sessions: Number(sessions),
  seed: Number(seed),
  messages: 30,
  print,
});
for (const [name, count] of [...report.counts].toSorted(([one], [other]) => (one < other ? -1 : 1)))
  process.stdout.write(`${String(count).padStart(8)}  ${name}\n`);
for (const violation of report.violations) print(`violation: ${violation}`);
print(`${report.violations.length} violations`);
process.exitCode = report.violations.length === 0 ? 0 : 1;
