/** A Vitest reporter that prints the ten slowest test files and the seed at the end of a run of many files. */
import { relative } from "node:path";
import type { Reporter, TestModule } from "vitest/node";
import { SEED } from "../test/sampling.ts";

const SHOWN = 10;
/** A run of fewer files is not a run of all tests, and its output is short. */
const MIN_FILES = 50;

export interface FileTime {
  readonly path: string;
  readonly ms: number;
}

export function createSlowestFiles(root: string): Reporter {
  return {
    onTestRunEnd: (modules) => {
      if (modules.length >= MIN_FILES)
        console.log(
          `\n${formatSlowest(modules.map((module) => timeOf(module, root)))}\n\nSeed of the sampled cases (TEST_SEED): ${SEED}\n`,
        );
    },
  };
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
