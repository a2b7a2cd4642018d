// What commands load at their start, which most of their CPU time depends on.
import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { expect, test } from "vitest";
import { packageRoot } from "../../test/source-files.ts";

/** Lists what a file imports statically, directly and through other files. Packages are listed by name. */
function listLoaded(path: string, loaded = new Set<string>()): ReadonlySet<string> {
  if (loaded.has(path)) return loaded;
  loaded.add(path);
  const text = readFileSync(join(packageRoot, path), "utf8");
  for (const [, name = ""] of text.matchAll(/^(?:import|export) (?!type )(?:[^;"]*? from )?"([^"]+)";/gm))
    if (name.startsWith(".")) listLoaded(posix.join(posix.dirname(path), name), loaded);
    else loaded.add(name);
  return loaded;
}

/** Packages and files that take long to load. */
const HEAVY =
  /^(?:hono|ws|marked)$|^src\/server\/(?:http|sockets|api\/operation)|^src\/client\/(?:connection|receiver|index)/;

test.each([
  ["a command on a store loads neither endpoints for HTTP nor the client", "sessions/local-service.ts"],
  ["a run in a pipe loads nothing that draws", "screen/session-screen.ts"],
])("%s", (_name, start) => {
  const loaded = [...listLoaded(`src/cli/${start}`)];
  expect(loaded.length).toBeGreaterThan(5);
  expect(loaded.filter((path) => HEAVY.test(path))).toEqual([]);
});

test("the imports of a file are found", () => {
  expect(listLoaded("src/cli/screen/live-turns.ts")).toContain("marked");
  expect(listLoaded("src/server/loom-handler.ts")).toContain("hono");
});
