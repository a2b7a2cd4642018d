/**
 * A Vitest reporter that prints the tests that passed only when repeated and, at the end of a run of many files, the ten
 * slowest test files, the number of skipped tests and the seed. It keeps the CPU time of a run of all files for `npm run size`.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { Reporter, TestModule } from "vitest/node";
import { LONG, SEED } from "../test/sampling.ts";

const SHOWN = 10;
/** A run of fewer files is not a run of all tests, and its output is short. */
const MIN_FILES = 50;
const ALL_FILES = 500;

/** Where the CPU time of the last run of all tests is kept, in seconds. */
export const TEST_TIMES = join(import.meta.dirname, "..", "node_modules", ".cache", "loom-test-times.json");

export interface FileTime {
  readonly path: string;
  readonly ms: number;
}

export function createSlowestFiles(root: string): Reporter {
  return {
    onTestRunEnd: (modules) => {
      if (modules.length >= ALL_FILES) keepCpuTime();
      const unstable = modules.flatMap((module) => findUnstable(module, root));
      if (unstable.length > 0) console.error(`\nWARNING: passed only when repeated:\n${unstable.join("\n")}\n`);
      if (modules.length < MIN_FILES) return;
      console.log(
        [
          "",
          formatSlowest(modules.map((module) => timeOf(module, root))),
          "",
          ...describeSkipped(modules.flatMap(({ children }) => [...children.allTests("skipped")]).length),
          `Seed of the sampled cases (TEST_SEED): ${SEED}`,
          "",
        ].join("\n"),
      );
    },
  };
}

/** Linux alone reports the CPU time of ended child processes. */
function keepCpuTime(): void {
  if (!existsSync("/proc/self/stat")) return;
  // The fields after the name of the program, which may contain spaces: 11 to 14 are the times, in 1/100 s.
  const fields = readFileSync("/proc/self/stat", "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  const cpu = fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) / 100, 0);
  mkdirSync(dirname(TEST_TIMES), { recursive: true });
  writeFileSync(TEST_TIMES, JSON.stringify({ cpu: Math.round(cpu) }));
}

function describeSkipped(count: number): readonly string[] {
  if (count === 0) return [];
  const others = "need a program, a platform or a version that is not there, such as zsh or PostgreSQL";
  return [
    LONG
      ? `Skipped tests: ${count}. They ${others}.`
      : `Skipped tests: ${count}. Most run only in \`npm run test:long\`; others ${others}.`,
  ];
}

function findUnstable({ children, moduleId }: TestModule, root: string): readonly string[] {
  return [...children.allTests("passed")]
    .filter((test) => test.diagnostic()?.flaky === true)
    .map(({ fullName }) => `${relative(root, moduleId)} › ${fullName}`);
}

function timeOf(module: TestModule, root: string): FileTime {
  const { collectDuration, duration } = module.diagnostic();
  return { path: relative(root, module.moduleId), ms: collectDuration + duration };
}

/** Formats the slowest files, slowest first, and their share of the total. */
export function formatSlowest(times: readonly FileTime[]): string {
  const total = times.reduce((sum, { ms }) => sum + ms, 0);
  const slowest = times.toSorted((a, b) => b.ms - a.ms).slice(0, SHOWN);
  const rows = slowest.map(({ path, ms }) => `${formatSeconds(ms)}  ${path}`);
  return [`Slowest files, of ${times.length} files and ${formatSeconds(total).trim()} in total:`, ...rows].join("\n");
}

function formatSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(1).padStart(6)} s`;
}
