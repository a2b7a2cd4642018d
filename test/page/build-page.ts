/** Builds the page from the current source, once per version, into a cache in node_modules that all tests share. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { threadId } from "node:worker_threads";
import { packageRoot } from "../source-files.ts";

const CACHE = join(packageRoot, "node_modules", ".cache", "loom-page");
const SOURCES = ["src/protocol", "src/framing", "src/dialects", "src/client", "src/react", "web"];
/** Versions kept in the cache. */
const MAX_KEPT = 5;

/** Returns the folder of the built page. */
export async function buildPage(): Promise<string> {
  const folder = join(CACHE, hashSources());
  if (existsSync(folder)) {
    utimesSync(folder, new Date(), new Date());
    return folder;
  }
  mkdirSync(CACHE, { recursive: true });
  // Rename when complete, because other processes may build at the same time.
  const unfinished = `${folder}-${process.pid}-${threadId}`;
  await buildAsForUsers(unfinished);
  try {
    renameSync(unfinished, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
    rmSync(unfinished, { recursive: true });
  }
  forgetOldest();
  return folder;
}

/** In test mode, libraries would be bundled as development builds. */
async function buildAsForUsers(outDir: string): Promise<void> {
  const { NODE_ENV } = process.env;
  process.env["NODE_ENV"] = "production";
  try {
    // Loaded on demand: most tests use the cached build.
    const { build } = await import("vite");
    await build({
      configFile: join(packageRoot, "web", "vite.config.ts"),
      logLevel: "error",
      build: { outDir, emptyOutDir: true },
    });
  } finally {
    if (NODE_ENV === undefined) delete process.env["NODE_ENV"];
    else process.env["NODE_ENV"] = NODE_ENV;
  }
}

function hashSources(): string {
  const hash = createHash("sha256").update("production\n");
  for (const source of SOURCES) {
    for (const name of readdirSync(join(packageRoot, source), { recursive: true, encoding: "utf8" }).toSorted()) {
      const path = join(packageRoot, source, name);
      if (/\.test\.tsx?$/.test(name) || name.includes("node_modules") || !statSync(path).isFile()) continue;
      hash.update(`${source}/${name}\n`).update(readFileSync(path));
    }
  }
  return hash.digest("hex").slice(0, 16);
}

function forgetOldest(): void {
  const folders = readdirSync(CACHE).map((name) => join(CACHE, name));
  const byAge = folders.toSorted((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
  for (const folder of byAge.slice(MAX_KEPT)) rmSync(folder, { recursive: true, force: true });
}
