/** What a page loads to read frames: the decoders alone, whatever the bundler leaves out. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const SOURCE = join(import.meta.dirname, "..");

/** The files that are loaded with this one. Imports of types alone are erased, and load nothing. */
function listLoaded(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  const imports = readFileSync(file, "utf8").matchAll(/^(?:import|export) (?!type )[^;"']*from "(\.[^"]+)";/gm);
  for (const [, specifier = ""] of imports) listLoaded(join(file, "..", specifier), seen);
  return seen;
}

describe("the decoders", () => {
  const loaded = [...listLoaded(join(import.meta.dirname, "decoders.ts"))];
  const names = loaded.map((file) => file.slice(SOURCE.length + 1).replaceAll("\\", "/"));

  test("load the five dialects", () => {
    for (const dialect of ["loom", "engine", "lumine", "stream-event", "export"])
      expect(names).toContain(`dialects/${dialect}/decode.ts`);
  });

  test("load no encoder, no declaration, and no index that would bring them all", () => {
    const unwanted = /encod|ledger|schema|\/(frames|rules|envelope|frame-rules|index)\.ts$|protocol\/events\//;
    expect(names.filter((name) => unwanted.test(name) && name !== "protocol/rules.ts")).toEqual([]);
  });

  test("load no sentence of the documentation", () => {
    for (const file of loaded) expect(readFileSync(file, "utf8"), file).not.toMatch(/\p{Script=Han}/u);
  });
});
