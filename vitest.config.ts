// How the tests run. `vitest run --mode long` adds the exhaustive suites: tests read LOOM_LONG from the environment.
import { globSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { createThreatTable } from "./scripts/threat-table.ts";

/** The tests start hundreds of threads and programs from source: what one has compiled, the next need not. */
const NODE_COMPILE_CACHE = join(tmpdir(), "loom-compile-cache");

const source = fileURLToPath(new URL("src", import.meta.url));

/** They take things away from the whole thread, put others in their place, have a folder in it, or count what is there. */
const APART = [
  "src/tools/**/*.test.ts",
  "src/context/compression/missing-tokenizer.test.ts",
  ...globSync(["{src,web}/**/*.test.{ts,tsx}", "test/*/*.test.ts"], { cwd: import.meta.dirname }).filter((file) =>
    /getTimerCount|cli-run\.ts/.test(readFileSync(join(import.meta.dirname, file), "utf8")),
  ),
];

export default defineConfig(({ mode }) => ({
  // The page imports the package by its doors; what is tested is the source, not what was built last.
  resolve: { alias: [{ find: /^loom-agent\/(\w+)$/, replacement: `${source}/$1/index.ts` }] },
  test: {
    setupFiles: ["test/seed.ts"],
    reporters: ["default", createThreatTable()],
    env: { NODE_COMPILE_CACHE, ...(mode === "long" ? { LOOM_LONG: "1" } : {}) },
    // Most files are short and bound by the processor: threads start faster than processes, one per core.
    pool: "threads",
    maxWorkers: "100%",
    testTimeout: mode === "long" ? 600_000 : 30_000,
    hookTimeout: 120_000,
    projects: [
      {
        extends: true,
        // They leave nothing behind: those of one thread share what was imported, which takes half the time.
        test: {
          name: "unit",
          include: ["{src,web}/**/*.test.{ts,tsx}", "test/{client,agents,models,knowledge,observe}/**/*.test.ts"],
          exclude: APART,
          isolate: false,
        },
      },
      // The same of those before a whole server, with clients and browsers.
      {
        extends: true,
        test: {
          name: "server",
          include: ["test/{browser,page,security,server}/*.test.ts"],
          exclude: APART,
          isolate: false,
        },
      },
      // They replace what others import, or start processes.
      { extends: true, test: { name: "process", include: ["test/{,durability/}*.test.ts", ...APART] } },
    ],
  },
}));
