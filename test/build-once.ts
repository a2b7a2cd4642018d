/** Builds something from the current source, once per version, into a cache in node_modules that all tests share. */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { threadId } from "node:worker_threads";
import { hashSources } from "../scripts/hash-sources.ts";
import { packageRoot } from "./source-files.ts";

/** Versions kept in the cache. */
const MAX_KEPT = 5;

export interface CachedBuild {
  /** Name of the folder in the cache. */
  readonly name: string;
  /** Files and folders of the package whose content the result depends on. */
  readonly sources: readonly string[];
  /** Writes the result to this folder, which does not exist yet. */
  readonly build: (folder: string) => Promise<void>;
}

/** Returns the folder of the result. Threads that need the same wait for the one that builds it. */
export function buildOnce(options: CachedBuild): Promise<string> {
  return navigator.locks.request(`loom-${options.name}`, () => findOrBuild(options));
}

async function findOrBuild({ name, sources, build }: CachedBuild): Promise<string> {
  const cache = join(packageRoot, "node_modules", ".cache", `loom-${name}`);
  const folder = join(cache, hashSources(sources));
  if (existsSync(folder)) {
    utimesSync(folder, new Date(), new Date());
    return folder;
  }
  mkdirSync(cache, { recursive: true });
  // Rename when complete, because other processes may build at the same time.
  const unfinished = `${folder}-${process.pid}-${threadId}`;
  await build(unfinished);
  try {
    renameSync(unfinished, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
    rmSync(unfinished, { recursive: true });
  }
  forgetOldest(cache);
  return folder;
}

function forgetOldest(cache: string): void {
  const folders = readdirSync(cache).map((name) => join(cache, name));
  const byAge = folders.toSorted((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
  for (const folder of byAge.slice(MAX_KEPT)) rmSync(folder, { recursive: true, force: true });
}
