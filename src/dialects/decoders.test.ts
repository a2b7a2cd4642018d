/** Checks what a page loads to decode frames: only the decoders, before any tree shaking. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { DIALECT_NAMES } from "./dialect.ts";

const SOURCE = join(import.meta.dirname, "..");

/** Returns the files loaded with this one. Type-only imports load nothing. */
function listLoaded(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  const imports = readFileSync(file, "utf8").matchAll(/^(?:import|export) (?!type )[^;"']*from "(\.[^"]+)";/gm);
  for (const [, specifier = ""] of imports) listLoaded(join(file, "..", specifier), seen);
  return seen;
}

describe("decoders.ts", () => {
  const loaded = [...listLoaded(join(import.meta.dirname, "decoders.ts"))];
  const names = loaded.map((file) => file.slice(SOURCE.length + 1).replaceAll("\\", "/"));

  test("loads all dialects", () => {
    for (const dialect of DIALECT_NAMES) expect(names).toContain(`dialects/${dialect}/decode.ts`);
  });

  test("loads no encoder, no declaration and no index", () => {
    const unwanted = /encod|ledger|schema|\/(frames|envelope|index)\.ts$|protocol\/events\//;
    expect(names.filter((name) => unwanted.test(name))).toEqual([]);
  });

  test("loads no documentation", () => {
    for (const file of loaded) expect(readFileSync(file, "utf8"), file).not.toMatch(/\p{Script=Han}/u);
  });
});
