// The threat model of docs/security.md against the list and the tests: a threat without a row, or a row without a test, fails.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { THREATS } from "./threats.ts";

const ROOT = join(import.meta.dirname, "../..");
const rows = readFileSync(join(ROOT, "docs/security.md"), "utf8")
  .split("\n")
  .filter((line) => line.startsWith("| ") && line.includes(".test.ts"))
  .map((line) => line.split("|").map((cell) => cell.trim()));

/** The files of a row; those without a folder lie where the one before them does. */
function listFiles(cell: string): readonly string[] {
  let folder = "";
  return [...cell.matchAll(/`([\w./-]+\.test\.ts)`/g)].map(([, file = ""]) => {
    const at = file.lastIndexOf("/");
    if (at === -1) return folder + file;
    folder = file.slice(0, at + 1);
    return file;
  });
}

describe("the threat model", () => {
  it.for(Object.entries(THREATS))("has a row for %s, and its tests try it", ([threat, title]) => {
    const row = rows.find(([, name]) => name === title);
    const files = listFiles(row?.[3] ?? "");
    expect(files, `docs/security.md has no row "${title}" with tests`).not.toEqual([]);
    for (const file of files) {
      expect(existsSync(join(ROOT, file)), file).toBe(true);
      expect(readFileSync(join(ROOT, file), "utf8"), `${file} does not try it`).toContain(`"${threat}"`);
    }
  });

  it("has no row of a threat that is not in the list", () => {
    expect(new Set(rows.map(([, name]) => name))).toEqual(new Set<string | undefined>(Object.values(THREATS)));
  });
});
