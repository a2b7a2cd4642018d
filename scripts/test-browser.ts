/**
 * A Vitest reporter that installs a Chromium before tests that need one, if there is none, and says at the end of the run
 * how many tests were not run without it.
 */
import { readFileSync } from "node:fs";
import type { Reporter } from "vitest/node";
import {
  canInstallChromium,
  findChromium,
  findPackagedChromium,
  installChromium,
} from "../test/browser/find-chromium.ts";

export function createTestBrowser(): Reporter {
  let failure: string | undefined;
  return {
    onTestRunStart: async (files) => {
      failure = undefined;
      if (findPackagedChromium() !== undefined || !files.some(lacksChromium)) return;
      console.error("Installing a Chromium for the browser tests …");
      await installChromium().catch((error: unknown) => (failure = (error as Error).message));
    },
    onTestRunEnd: (files) => {
      if (failure === undefined) return;
      const skipped = files.filter(lacksChromium).flatMap(({ children }) => [...children.allTests("skipped")]).length;
      if (skipped > 0) console.error(`\n${describeMissing(skipped, failure)}\n`);
    },
  };
}

/** Whether the tests of a file are skipped as long as no Chromium is installed. Stored pictures need the packaged one. */
function lacksChromium({ moduleId }: { readonly moduleId: string }): boolean {
  const source = readFileSync(moduleId, "utf8");
  return (
    (source.includes("hasChromium") && findChromium() === undefined) ||
    (source.includes("findPackagedChromium") && canInstallChromium)
  );
}

function describeMissing(skipped: number, failure: string): string {
  return `WARNING: ${skipped} browser tests were not run, because there is no Chromium: ${failure}. Install one with \`apt-get install chromium\` or \`npx playwright install chromium\`, or set LOOM_CHROMIUM to its path.`;
}
