/** A Vitest reporter that says at the end of a run how many tests were not run because there is no Chromium. */
import { readFileSync } from "node:fs";
import type { Reporter, TestModule } from "vitest/node";
import { findChromium } from "../test/browser/find-chromium.ts";

export function createMissingBrowser(): Reporter {
  return {
    onTestRunEnd: (modules) => {
      const skipped = findChromium() === undefined ? countSkipped(modules) : 0;
      if (skipped > 0) console.error(`\n${describeMissing(skipped)}\n`);
    },
  };
}

/** Skipped tests of the files that use a browser. */
function countSkipped(modules: readonly TestModule[]): number {
  return modules
    .filter(({ moduleId }) => readFileSync(moduleId, "utf8").includes("hasChromium"))
    .reduce((sum, { children }) => sum + [...children.allTests("skipped")].length, 0);
}

export function describeMissing(skipped: number): string {
  return `WARNING: ${skipped} browser tests were not run, because there is no Chromium. Install one with \`apt-get install chromium\` or \`npx playwright install chromium\`, or set LOOM_CHROMIUM to its path.`;
}
