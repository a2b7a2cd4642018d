/**
 * Bundles the programs that tests start as child processes or threads: the command, the entry points of the package, its
 * threads, and the `…-child.ts` files. Loading hundreds of source files takes most of the CPU time of a short process, and a bundle
 * halves it. Watch mode starts the programs from source, which changes.
 */
import { globSync, writeFileSync } from "node:fs";
import { dirname, isAbsolute, join, matchesGlob, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { TestProject } from "vitest/node";
import { buildOnce } from "./build-once.ts";
import { packageRoot } from "./source-files.ts";

/** The variable with the folder of the bundles. The command reports unknown variables that start with `LOOM_`. */
const VARIABLE = "TEST_PROGRAMS";

const THREADS = "src/**/{writer,search,digest,read-pdf}-thread.ts";
const PROGRAMS = [
  "src/cli/main.ts",
  "src/index.ts",
  "src/*/index.ts",
  "src/models/testing.ts",
  "test/**/*-child.ts",
  THREADS,
];

/** Called by Vitest before the tests, in the main process. The threads inherit the variable. */
export async function setup({ config }: TestProject): Promise<void> {
  if (config.watch) return;
  const sources = ["src", "test", "package-lock.json"];
  process.env[VARIABLE] = await buildOnce({ name: "programs", sources, build });
}

/** Arguments for Node before a program, so that it runs the bundle. */
export function nodeArgs(): readonly string[] {
  const folder = process.env[VARIABLE];
  return folder === undefined ? [] : ["--import", pathToFileURL(join(folder, "hook.mjs")).href];
}

/** The bundle of a thread of the package, or the module itself if it has none. */
export function findBundle(module: URL): URL {
  const folder = process.env[VARIABLE];
  if (folder === undefined || module.protocol !== "file:") return module;
  const path = relative(packageRoot, fileURLToPath(module));
  return matchesGlob(path, THREADS) ? pathToFileURL(join(folder, `${withoutExtension(path)}.js`)) : module;
}

async function build(folder: string): Promise<void> {
  const { build: bundle } = await import("rolldown");
  const programs = globSync(PROGRAMS, { cwd: packageRoot });
  await bundle({
    input: Object.fromEntries(programs.map((path) => [withoutExtension(path), join(packageRoot, path)])),
    platform: "node",
    external: (id) => !id.startsWith(".") && !isAbsolute(id),
    logLevel: "warn",
    plugins: [{ name: "source-locations", transform: { filter: { code: /import\.meta\./ }, handler: fixLocations } }],
    output: { dir: folder, format: "esm", chunkFileNames: "chunks/[name].js" },
  });
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "hook.mjs"), createHook(programs));
}

const withoutExtension = (path: string): string => path.replace(/\.ts$/, "");

/** Modules find threads and files relative to their source. */
function fixLocations(code: string, id: string): string {
  return code
    .replaceAll("import.meta.url", JSON.stringify(pathToFileURL(id).href))
    .replaceAll("import.meta.dirname", JSON.stringify(dirname(id)));
}

/** A module that replaces the source of each program by its bundle, which is next to it. */
function createHook(programs: readonly string[]): string {
  const bundles = programs.map((path) => [
    pathToFileURL(join(packageRoot, path)).href,
    `./${withoutExtension(path).replaceAll("\\", "/")}.js`,
  ]);
  return `import { registerHooks } from "node:module";
const bundles = new Map(${JSON.stringify(bundles)}.map(([url, path]) => [url, new URL(path, import.meta.url).href]));
registerHooks({ resolve: (name, context, next) => {
  const found = next(name, context);
  const url = bundles.get(found.url);
  return url === undefined ? found : { ...found, url, format: "module" };
} });
`;
}
