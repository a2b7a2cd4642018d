// Test configuration. `vitest run --mode long` sets LOOM_LONG, which makes the long tests run in full.
import { globSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { SlowFilesFirst } from "./scripts/slow-files-first.ts";
import { createSlowestFiles } from "./scripts/slowest-files.ts";
import { createTestBrowser } from "./scripts/test-browser.ts";
import { createThreatTable } from "./scripts/threat-table.ts";
import { useTemporaryFolder } from "./test/temporary-folder.ts";

const root = import.meta.dirname;

/** Shared by the hundreds of threads and processes that the tests start from source. */
const NODE_COMPILE_CACHE = join(root, "node_modules", ".cache", "loom-compile-cache");

const source = fileURLToPath(new URL("src", import.meta.url));

/** All tests: those of one module next to it, others in `test`. */
const TESTS = ["{src,web}/**/*.test.{ts,tsx}", "test/**/*.test.ts"];

/**
 * Tests that need a thread alone: they replace modules or global variables, count timers, compute charts, which would
 * use the DOM of an earlier file, or use fake timers, which a `vi.waitFor` of an earlier file would advance.
 */
const ISOLATED = findTests(
  /getTimerCount|useFakeTimers|vi\.(?:do)?[mM]ock\(|resetModules|\bserve\b.*"@hono|\btoJson\b.*to-json|computeChart/,
);

/**
 * Tests of components: they import JSX, which only Vite reads, or leave the global variables of a DOM. They share threads
 * with each other only.
 */
const COMPONENTS = [...findTests(/\b(?:use|open)Dom\b/), "{src/react,web}/**/*.test.{ts,tsx}"];

function findTests(pattern: RegExp): string[] {
  return globSync(TESTS, { cwd: root }).filter((file) => pattern.test(readFileSync(join(root, file), "utf8")));
}

useTemporaryFolder();

export default defineConfig(({ mode }) => ({
  // The page imports the package by name; resolve those imports to the source, not to dist.
  resolve: { alias: [{ find: /^loom-agent\/([\w-]+)$/, replacement: `${source}/$1/index.ts` }] },
  test: {
    globalSetup: ["test/bundle-source.ts"],
    setupFiles: ["test/seed.ts", "test/patience.ts", "test/bundled-threads.ts"],
    reporters: ["default", createThreatTable(), createSlowestFiles(root), createTestBrowser()],
    env: { NODE_COMPILE_CACHE, ...(mode === "long" ? { LOOM_LONG: "1" } : {}) },
    // Threads start faster than processes. Many tests wait, so there are four threads for two cores.
    pool: "threads",
    maxWorkers: availableParallelism() * 2,
    sequence: { sequencer: SlowFilesFirst },
    // A machine that stalls must not block a merge. The reporter names the tests that passed only when repeated.
    retry: process.env["CI"] === undefined ? 0 : 1,
    testTimeout: mode === "long" ? 600_000 : 30_000,
    hookTimeout: 120_000,
    // The default of 1 s is too short for a browser on a busy machine.
    expect: { poll: { timeout: 10_000 } },
    projects: [
      // These leave no global state, so the files of a thread share their imports and a browser. This halves the time.
      // Node loads them as it loads the package: that takes a seventh less time than Vite's loader.
      {
        extends: true,
        test: {
          name: "shared",
          include: TESTS,
          exclude: [...ISOLATED, ...COMPONENTS],
          isolate: false,
          experimental: { viteModuleRunner: false },
        },
      },
      { extends: true, test: { name: "components", include: COMPONENTS, exclude: ISOLATED, isolate: false } },
      { extends: true, test: { name: "isolated", include: ISOLATED } },
    ],
  },
}));
