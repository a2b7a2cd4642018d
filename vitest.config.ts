// Test configuration. `vitest run --mode long` sets LOOM_LONG, which makes the long tests run in full.
import { globSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { createThreatTable } from "./scripts/threat-table.ts";

/** Shared by the hundreds of threads and processes that the tests start from source. */
const NODE_COMPILE_CACHE = join(tmpdir(), "loom-compile-cache");

const source = fileURLToPath(new URL("src", import.meta.url));

/** Tests that need a thread alone: they replace modules or globals, change the working folder, or count timers. */
const ISOLATED = [
  "src/tools/**/*.test.ts",
  "src/context/compression/missing-tokenizer.test.ts",
  ...globSync(["{src,web}/**/*.test.{ts,tsx}", "test/*/*.test.ts"], { cwd: import.meta.dirname }).filter((file) =>
    /getTimerCount|cli-run\.ts/.test(readFileSync(join(import.meta.dirname, file), "utf8")),
  ),
];

export default defineConfig(({ mode }) => ({
  // The page imports the package by name; resolve those imports to the source, not to dist.
  resolve: { alias: [{ find: /^loom-agent\/(\w+)$/, replacement: `${source}/$1/index.ts` }] },
  test: {
    setupFiles: ["test/seed.ts"],
    reporters: ["default", createThreatTable()],
    env: { NODE_COMPILE_CACHE, ...(mode === "long" ? { LOOM_LONG: "1" } : {}) },
    // Most files are short and CPU-bound: one thread per core, because threads start faster than processes.
    pool: "threads",
    maxWorkers: "100%",
    testTimeout: mode === "long" ? 600_000 : 30_000,
    hookTimeout: 120_000,
    projects: [
      {
        extends: true,
        // These tests leave no global state, so the files of a thread share their imports. This halves the time.
        test: {
          name: "unit",
          include: ["{src,web}/**/*.test.{ts,tsx}", "test/{client,agents,models,knowledge,observe}/**/*.test.ts"],
          exclude: ISOLATED,
          isolate: false,
        },
      },
      // The same, with a complete server, clients and browsers.
      {
        extends: true,
        test: {
          name: "server",
          include: ["test/{browser,page,security,server}/*.test.ts"],
          exclude: ISOLATED,
          isolate: false,
        },
      },
      // These replace modules or start processes.
      { extends: true, test: { name: "process", include: ["test/{,durability/}*.test.ts", ...ISOLATED] } },
    ],
  },
}));
