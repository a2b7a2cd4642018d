/**
 * The hash of source files, and whether `dist` was built from the current ones. `npm run build` notes the hash, so that tests
 * use what `npm ci` has built.
 *
 *   node scripts/hash-sources.ts    notes that `dist` and `dist-client` are built from the current source
 */
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const ROOT = join(import.meta.dirname, "..");
const NOTE = join(ROOT, "node_modules", ".cache", "loom-built.txt");
const BUILT = ["src", "web", "spec", "scripts/build.ts", "tsconfig.json", "tsconfig.build.json", "package-lock.json"];

export function hashSources(sources: readonly string[]): string {
  const hash = createHash("sha256");
  for (const path of sources.flatMap(listFiles))
    if (!/\.test\.tsx?$|(?:^|\/)node_modules\//.test(path))
      hash.update(`${path}\n`).update(readFileSync(join(ROOT, path)));
  return hash.digest("hex").slice(0, 16);
}

export function isBuilt(): boolean {
  try {
    return readFileSync(NOTE, "utf8") === hashSources(BUILT);
  } catch {
    return false;
  }
}

/** Lists the files in a folder; a file lists itself. */
function listFiles(path: string): readonly string[] {
  if (statSync(join(ROOT, path)).isFile()) return [path];
  const names = readdirSync(join(ROOT, path), { recursive: true, encoding: "utf8" }).toSorted();
  return names.map((name) => `${path}/${name}`).filter((name) => statSync(join(ROOT, name)).isFile());
}

if (import.meta.main) {
  mkdirSync(dirname(NOTE), { recursive: true });
  writeFileSync(NOTE, hashSources(BUILT));
}
